"""Lines that have changed since a commit, in real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repository import commit, git

from dtypelint.changes import Changes
from dtypelint.errors import UserError
from dtypelint.finding import Confidence, Finding, Note, Position, Severity

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def repository(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git("init", "-q")
    (work / "a.py").write_text(LINES)
    (work / "same.py").write_text(LINES)
    commit()
    return work


def found(path: str, first: int, last: int | None = None, *related: Note) -> Finding:
    position = Position(path, first, 1, last or first, 2)
    return Finding("DTL101", "n", Severity.ERROR, Confidence.HIGH, "m", position, "s", related)


def touched(path: str, reference: str = "HEAD") -> list[int]:
    changes = Changes(reference)
    return [line for line in range(1, 25) if changes.touch(found(path, line))]


def test_lines_that_were_changed_or_added(repository: Path) -> None:
    text = LINES.replace("line 4\n", "line four\n").replace("line 9\n", "line 9\nnew\nnew\n")
    (repository / "a.py").write_text(text)
    assert touched("a.py") == [4, 10, 11]
    assert touched("same.py") == []


def test_lines_that_met_where_others_were_taken_away(repository: Path) -> None:
    (repository / "a.py").write_text(LINES.replace("line 4\nline 5\n", ""))
    assert touched("a.py") == [3, 4]
    changes = Changes("HEAD")
    assert changes.touch(found("a.py", 1, 9))
    assert not changes.touch(found("a.py", 6, 9))


def test_files_that_are_new(repository: Path) -> None:
    (repository / ".gitignore").write_text("ignored.py\n")
    for name in ("untracked.py", "ignored.py", "staged.py"):
        (repository / name).write_text(LINES)
    git("add", "staged.py")
    for name in ("untracked.py", "ignored.py", "staged.py"):
        assert len(touched(name)) == 24


def test_a_file_that_was_moved(repository: Path) -> None:
    git("mv", "a.py", "b -é\n.py")
    (repository / "b -é\n.py").write_text(LINES.replace("line 7\n", "line seven\n"))
    assert touched("b -é\n.py") == [7]


def test_a_file_that_became_empty_or_lost_its_end(repository: Path) -> None:
    (repository / "a.py").write_text("")
    assert touched("a.py") == [1]
    (repository / "a.py").write_text(LINES.removesuffix("line 20\n"))
    assert touched("a.py") == [19, 20]


def test_a_changed_declaration_makes_a_finding_new(repository: Path) -> None:
    (repository / "a.py").write_text(LINES.replace("line 4\n", "line four\n"))
    changes = Changes("HEAD")
    assert changes.touch(found("same.py", 1, 1, Note(Position("a.py", 4, 1, 4, 2), "declared here")))
    assert not changes.touch(found("same.py", 1, 1, Note(Position("a.py", 5, 1, 5, 2), "declared here")))


def test_the_branch_is_compared_with_the_place_where_it_began(repository: Path) -> None:
    git("branch", "topic")
    (repository / "a.py").write_text(LINES.replace("line 4\n", "line four\n"))
    commit()
    git("checkout", "-q", "topic")
    (repository / "a.py").write_text(LINES.replace("line 9\n", "line nine\n"))
    commit()
    assert touched("a.py", "main") == [9]


def test_histories_without_a_common_commit(repository: Path) -> None:
    git("checkout", "-q", "--orphan", "other")
    (repository / "a.py").write_text(LINES.replace("line 9\n", "line nine\n"))
    commit()
    assert touched("a.py", "main") == [9]


def test_from_a_folder_and_for_a_file_outside(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "pkg").mkdir()
    (repository / "pkg" / "a.py").write_text(LINES)
    commit()
    (repository / "pkg" / "a.py").write_text(LINES.replace("line 4\n", "line four\n"))
    monkeypatch.chdir(repository / "pkg")
    assert touched("a.py") == [4]
    assert touched("../same.py") == []
    assert len(touched("/outside/b.py")) == 24


def test_a_submodule_is_taken_for_new(repository: Path) -> None:
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    commit()
    assert len(touched("inner/a.py")) == 24


def test_nothing_of_the_repository_is_run(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.py diff=evil\n")
    ran = repository / "ran"
    script = f"touch '{ran}'; cat"
    for key in ("diff.external", "diff.evil.textconv", "diff.evil.command", "core.pager", "core.fsmonitor"):
        git("config", key, f'sh -c "{script}"')
    (repository / "a.py").write_text(LINES.replace("line 4\n", "line four\n"))
    assert touched("a.py") == [4]
    assert not ran.exists()


@pytest.mark.parametrize("reference", ["nowhere", "--output=x", "HEAD:a.py", ""])
def test_what_is_no_commit(repository: Path, reference: str) -> None:
    with pytest.raises(UserError, match=f"--diff-base: `{reference}` is no commit of this repository; a shallow clone"):
        Changes(reference)
    assert not (repository / "x").exists()


def test_a_folder_that_is_no_repository(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(work.parent))
    with pytest.raises(UserError, match="--diff-base: this is no git repository: fatal"):
        Changes("HEAD")


def test_a_machine_without_git(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="--diff-base: git cannot be run: No such file or directory"):
        Changes("HEAD")
