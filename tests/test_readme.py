"""What the README and the docs say: commands that run, snippets that are valid, tests that exist, a picture that is true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import commit, git
from ruamel.yaml import YAML

from dtypelint.knowledge import Knowledge
from dtypelint.settings import Configuration, Flags

HERE = Path(__file__).parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")
COMPARISON = (HERE / "docs" / "comparison.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


COMMANDS = [
    line
    for block in blocks("console")
    for line in block.splitlines()
    if "dtypelint" in line and not line.startswith("python3")
]


@pytest.fixture
def project(work: Path) -> Path:
    shutil.copytree(HERE / "testdata" / "dropped_reduce" / "in", work, dirs_exist_ok=True)
    (work / "src").mkdir()
    (work / "train.py").write_text("import torch\n\n\ndef f(m):\n    for p in m.parameters():\n        p = p.half()\n")
    shutil.copy(work / "train.py", work / "src" / "train.py")
    (work / "dtypelint-baseline.json").write_text('{"version": 1, "findings": []}')
    git("init", "-q")
    commit()
    git("branch", "origin/main")
    bin_ = work.parent / "bin"
    bin_.mkdir(exist_ok=True)
    program = bin_ / "dtypelint"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dtypelint "$@"\n')
    program.chmod(0o755)
    return work


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_readme_runs(project: Path, line: str) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=project,
        capture_output=True,
        text=True,
        input="quit\n",
        env={
            **os.environ,
            "GITHUB_ACTIONS": "",
            "PYTHONPATH": str(HERE),
            "PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}",
        },
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "error:" not in done.stderr
    assert "Traceback" not in done.stderr


def test_the_workflow_of_the_readme_uses_inputs_that_exist() -> None:
    action = YAML(typ="safe").load((HERE / "action.yml").read_text(encoding="utf-8"))
    workflow, hooks = (YAML(typ="safe").load(block) for block in blocks("yaml"))
    *_, step = workflow["jobs"]["dtypelint"]["steps"]
    assert step["uses"].startswith("dtypelint/dtypelint@")
    assert set(step["with"]) <= set(action["inputs"])
    named = README.partition("Other inputs: ")[2].partition("\n\n")[0]
    assert set(action["inputs"]) - {"paths"} <= set(re.findall(r"`([\w-]+)`", named))
    assert set(action["outputs"]) <= set(re.findall(r"`([\w-]+)`", named))
    known = {hook["id"] for hook in YAML(typ="safe").load((HERE / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} <= known


def test_the_settings_of_the_readme_are_settings(work: Path) -> None:
    settings, apis = blocks("toml")
    (work / "pyproject.toml").write_text(settings)
    (work / "ours.toml").write_text(apis)
    found = Configuration(Knowledge().rules, Flags()).for_folder(work)
    assert found.apis == (work / "ours.toml",)
    assert found.severity("DTL103") == "error"
    assert {"ShardingPlan", "wire_format"} <= Knowledge(found.apis).own_names


def test_the_readme_names_every_option_that_matters() -> None:
    from dtypelint.cli.check import check

    minor = {
        "--device",
        "--python",
        "--smoke",
        "--timeout",
        "--no-configs",
        "--stdin-filename",
        "--fix",
        "--unsafe-fixes",
        "--format",
    }
    minor |= {"--no-prefilter", "--help"}
    options = {name for parameter in check.params for name in parameter.opts if name.startswith("--")}
    assert not {name for name in options - minor if f"`{name}" not in README and name not in README}


def test_the_picture_shows_what_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "tools" / "picture.py"), "--check"],
        cwd=HERE,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE), "COLUMNS": "80", "NO_COLOR": ""},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def rows() -> list[list[str]]:
    lines = [line for line in COMPARISON.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_cell_of_the_comparison_is_backed_by_a_test(row: list[str]) -> None:
    *_, ours, test = row
    if not test:
        assert ours == "not yet"
        return
    file, _, name = test.strip("`").partition("::")
    text = (HERE / "tests" / file).read_text(encoding="utf-8")
    assert not name or f"def {name}(" in text


def test_links_lead_somewhere() -> None:
    for text, folder in ((README, HERE), (COMPARISON, HERE / "docs")):
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (folder / link).exists(), link
