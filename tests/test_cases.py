"""The small projects of `testdata/`: what is found in each is written down beside it (`pytest --bless` writes it anew)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import dtypelint

FOLDER = Path(__file__).parent.parent / "testdata"
PROJECTS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


def found(project: str, folder: Path) -> str:
    """Everything that is found in a copy of a project, the pedantic findings included, one line each."""
    shutil.copytree(FOLDER / project / "in", folder, dirs_exist_ok=True)
    lines = []
    for finding in dtypelint.check([folder], pedantic=True):
        position = finding.position
        fix = f"fix: {finding.fix.safety}" if finding.fix else f"no fix: {finding.fix_withheld or 'by hand'}"
        lines.append(
            f"{position.path}:{position.line}:{position.column}: {finding.severity} {finding.code} "
            f"({finding.confidence}) {finding.message} [{fix}]"
        )
        lines += [f"    {note.position.path}:{note.position.line}: {note.message}" for note in finding.related]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("project", PROJECTS)
def test_a_project_gives_its_findings(
    project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    text = found(project, tmp_path)
    expected = FOLDER / project / "findings.txt"
    if request.config.getoption("--bless"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("project", PROJECTS)
def test_one_file_gives_the_same_as_the_tree(project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FOLDER / project / "in", tmp_path, dirs_exist_ok=True)
    whole = dtypelint.check([tmp_path], pedantic=True)
    for path in sorted(tmp_path.rglob("*.py")):
        name = path.relative_to(tmp_path).as_posix().replace(os.sep, "/")
        # whether a sink elsewhere already names an unread setting is known only when that sink is checked too
        alone = [f for f in dtypelint.check([path], pedantic=True) if f.name != "unread-precision-setting"]
        assert alone == [f for f in whole if f.position.path == name]
