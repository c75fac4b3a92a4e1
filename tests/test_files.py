"""The walk, the excludes, the project roots and the triggers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dtypelint import files
from dtypelint.errors import UserError
from dtypelint.files import Triggers, Walk, listing, read_bytes
from dtypelint.knowledge import Knowledge
from dtypelint.settings import Configuration, Flags

pytestmark = pytest.mark.usefixtures("house")


def plant(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def walk(**flags: Any) -> Walk:
    return Walk(Configuration(Knowledge().rules, Flags(**flags)))


def found(*paths: str, **flags: Any) -> list[str]:
    return [file.path.relative_to(Path.cwd()).as_posix() for file in walk(**flags).files(map(Path, paths))]


def roots(*paths: str) -> dict[str, str]:
    return {file.path.name: file.root.relative_to(Path.cwd()).as_posix() for file in walk().files(map(Path, paths))}


def test_python_files_are_found_in_order(work: Path) -> None:
    plant(work, "b.py", "a.py", "a/z.py", "a/b/c.py", "stub.pyi", "notes.txt", "py", "a b.py")
    assert found(".") == ["a/b/c.py", "a/z.py", "a b.py", "a.py", "b.py"]
    assert found("a", "b.py", "a", "a/z.py") == ["a/b/c.py", "a/z.py", "b.py"]


def test_the_usual_folders_are_left_out(work: Path) -> None:
    plant(
        work, ".git/a.py", ".venv/b.py", "x/node_modules/c.py", "__pycache__/d.py", "build/e.py", "site-packages/f.py"
    )
    plant(work, "builder/g.py", ".hidden/h.py")
    assert found(".") == [".hidden/h.py", "builder/g.py"]
    assert found("build", "site-packages") == ["build/e.py", "site-packages/f.py"]


def test_excludes_of_the_command_line_come_on_top(work: Path) -> None:
    plant(work, "a.py", "tests/a.py", "src/tests/b.py", "src/gen_c.py", "src/d.py", "build/e.py")
    assert found(".", exclude=("tests", "gen_*.py")) == ["a.py", "src/d.py"]
    assert found(".", exclude=("/tests", "src/*.py")) == ["a.py", "src/tests/b.py"]
    assert found(".", exclude=("./src/",)) == ["a.py", "tests/a.py"]


def test_exclude_takes_the_place_of_the_usual_folders(work: Path) -> None:
    plant(work, "a.py", "old/b.py", "build/c.py", "new/d.py")
    (work / "dtypelint.toml").write_text('exclude = ["old"]')
    assert found(".") == ["a.py", "build/c.py", "new/d.py"]
    (work / "dtypelint.toml").write_text('extend-exclude = ["old"]')
    assert found(".") == ["a.py", "new/d.py"]


def test_patterns_hold_below_the_file_that_has_them(work: Path) -> None:
    plant(work, "pkg/gen/a.py", "pkg/b.py", "gen/c.py")
    (work / "pkg" / "dtypelint.toml").write_text('extend-exclude = ["/gen"]')
    assert found(".") == ["gen/c.py", "pkg/b.py"]


def test_a_named_file_is_always_checked(work: Path) -> None:
    plant(work, "build/a.py", "gen/b.py", "c.txt", "script")
    (work / ".gitignore").write_text("script\n")
    named = ("build/a.py", "gen/b.py", "c.txt", "script")
    assert found(*named, exclude=("gen",)) == ["build/a.py", "c.txt", "gen/b.py", "script"]
    assert found(*named, exclude=("gen",), force_exclude=True) == ["c.txt", "script"]


def test_notebooks_are_taken(work: Path) -> None:
    plant(work, "a.ipynb", "b.py")
    assert found("a.ipynb", "b.py") == ["a.ipynb", "b.py"]


CONFIGS = [
    "a.yaml",
    "a.yml",
    "a.json",
    "run.sh",
    "Dockerfile",
    "Dockerfile.gpu",
    "requirements-dev.txt",
    "pyproject.toml",
]


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_files_are_found_and_can_be_left_out(work: Path, name: str) -> None:
    plant(work, name, "b.py")
    assert found(".") == found(name, "b.py") == sorted([name, "b.py"])
    assert found(".", configs=False) == found(name, "b.py", configs=False) == ["b.py"]


def test_configuration_files_can_be_left_out_by_the_settings(work: Path) -> None:
    plant(work, "a.yaml", "b.py")
    (work / "dtypelint.toml").write_text("configs = false\n")
    assert found(".") == ["b.py"]
    assert found(".", configs=True) == ["a.yaml", "b.py"]


def test_gitignore_is_respected(work: Path) -> None:
    plant(work, "a.py", "gen/b.py", "src/gen/c.py", "src/d.py", "src/keep_e.py", "src/deep/f_tmp.py", "src/deep/g.py")
    (work / ".gitignore").write_text("/gen\nkeep_*.py\n*_tmp.py\n")
    (work / "src" / ".gitignore").write_text("!keep_*.py\ndeep/g.py\n")
    assert found(".") == ["a.py", "src/d.py", "src/gen/c.py", "src/keep_e.py"]


def test_gitignore_above_counts_inside_a_repository(work: Path) -> None:
    plant(work, "repo/src/a.py", "repo/src/gen.py", "loose/src/a.py", "loose/src/gen.py")
    (work / ".gitignore").write_text("a.py\n")
    (work / "repo" / ".gitignore").write_text("gen.py\n")
    (work / "repo" / ".git").mkdir()
    assert found("repo/src", "loose/src") == ["loose/src/a.py", "loose/src/gen.py", "repo/src/a.py"]
    assert found("repo") == ["repo/src/a.py"]


def test_a_named_folder_is_checked_although_it_is_ignored(work: Path) -> None:
    plant(work, "out/pkg/a.py", "out/pkg/b_tmp.py")
    (work / ".git").mkdir()
    (work / ".gitignore").write_text("out\n*_tmp.py\n")
    assert found("out/pkg") == ["out/pkg/a.py", "out/pkg/b_tmp.py"]
    assert found(".") == []


def test_a_gitignore_that_cannot_be_read_loses_no_run(work: Path) -> None:
    plant(work, "a.py", "b.py", "sub/c.py")
    (work / ".gitignore").write_bytes(b"!\n\xff\xfe\nb.py\n")
    (work / "sub" / ".gitignore").mkdir()
    assert found(".") == ["a.py", "sub/c.py"]


def test_links_do_not_loop(work: Path) -> None:
    plant(work, "a/b.py")
    (work / "a" / "up").symlink_to(work)
    (work / "a" / "self.py").symlink_to("self.py")
    (work / "a" / "gone.py").symlink_to("nowhere.py")
    (work / "a" / "link.py").symlink_to("b.py")
    (work / "a" / "zero.py").symlink_to("/dev/zero")
    assert found(".") == ["a/b.py", "a/link.py"]


def test_a_linked_folder_is_walked_when_it_is_named(work: Path) -> None:
    plant(work, "a/b.py")
    (work / "link").symlink_to("a")
    assert found("link") == ["link/b.py"]


def test_pipes_are_never_opened(work: Path) -> None:
    os.mkfifo(work / "pipe.py")
    assert found(".") == []
    assert found("pipe.py") == ["pipe.py"]
    with pytest.raises(OSError, match="not a regular file"):
        read_bytes(work / "pipe.py")
    with pytest.raises(OSError, match="not a regular file"):
        read_bytes(Path("/dev/zero"))


def test_a_folder_that_cannot_be_opened_is_passed_by(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(work, "a/b.py", "c.py")
    scandir = os.scandir

    def guarded(path: Path) -> Any:
        if path.name == "a":
            raise PermissionError
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert found(".") == ["c.py"]


def test_an_entry_that_vanishes_is_passed_by() -> None:
    class Entry:
        def is_file(self) -> bool:
            raise PermissionError

    assert files._regular(Entry()) is False  # type: ignore[arg-type]


def test_paths_that_do_not_exist_are_named(work: Path) -> None:
    plant(work, "a.py")
    with pytest.raises(UserError, match="no such file or folder: b.py, ../c"):
        found("a.py", "b.py", "../c")


def test_odd_names_are_names(work: Path) -> None:
    plant(work, "-x.py", "new\nline.py", "sp ace/é.py", os.fsdecode(b"raw\xff.py"))
    assert len(found(".")) == 4


def test_the_root_is_the_nearest_project(work: Path) -> None:
    plant(work, "one/pyproject.toml", "one/src/a.py", "one/sub/setup.cfg", "one/sub/b.py", "two/c.py", "three/d.py")
    (work / "three" / ".git").mkdir()
    expected = {"a.py": "one", "b.py": "one/sub", "c.py": ".", "d.py": "three"}
    assert roots(".") == {**expected, "pyproject.toml": "one", "setup.cfg": "one/sub"}
    assert roots("one/src/a.py", "one/sub/b.py") == {"a.py": "one", "b.py": "one/sub"}


def test_the_root_is_never_above_the_working_folder(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(work, "pyproject.toml", "src/pkg/__init__.py", "src/pkg/a.py")
    monkeypatch.chdir(work / "src" / "pkg")
    assert roots("a.py") == {"a.py": "."}
    monkeypatch.chdir(work / "src")
    assert roots("pkg/a.py") == {"a.py": "."}
    assert walk().files([work / "src" / "pkg" / "a.py"])[0].root == work / "src"


def test_without_a_project_the_root_is_above_the_top_package(work: Path) -> None:
    plant(work, "lib/pkg/__init__.py", "lib/pkg/sub/__init__.py", "lib/pkg/sub/a.py", "lib/b.py")
    assert roots("lib/pkg/sub/a.py") == {"a.py": "lib"}
    assert roots("lib/pkg") == {"a.py": "lib", "__init__.py": "lib"}
    assert roots("lib")["a.py"] == "lib"
    assert roots("lib/b.py") == {"b.py": "lib"}
    assert set(roots(".").values()) == {"."}


def test_outside_of_the_working_folder_projects_are_found_too(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(work, "one/pyproject.toml", "one/src/a.py", "two/b.py", "here/c.py")
    monkeypatch.chdir(work / "here")
    assert [file.root for file in walk().files([Path("../one/src"), Path("../two")])] == [work / "one", work / "two"]


def test_a_listing_is_what_a_project_holds(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(work, "b.py", "a/c.py", "build/d.py", "gen/e.py", "f.txt", "tests/g.py")
    (work / ".gitignore").write_text("gen\n")
    (work / "dtypelint.toml").write_text('extend-exclude = ["tests"]')
    assert listing(work) == ["a/c.py", "b.py", "tests/g.py"]
    monkeypatch.setattr(files, "MOST", 1)
    assert len(listing(work)) == 2


def test_only_rules_with_a_trigger_are_asked() -> None:
    rules = [rule for rule in Knowledge().rules if not rule.own]
    triggers = Triggers(rules)
    assert triggers.rules(b"nothing") == ()
    assert not triggers.any(b"nothing")
    assert triggers.any(b"a sink")
    assert [rule.code for rule in triggers.rules(b"a sink and grade_x")] == ["DTL101", "DTL102"]
    assert [rule.code for rule in triggers.rules(b"a setting")] == []
    assert [rule.code for rule in triggers.rules(b"a\nsetting")] == ["DTL601"]
    assert list(Triggers(rules, everything=True).rules(b"")) == rules
    assert Triggers(rules, everything=True).any(b"")
    assert Triggers([]).rules(b"sink") == ()
    assert not Triggers([]).any(b"sink")


def test_patterns_do_not_disturb_each_other(house: Path) -> None:
    for name, word, trigger in (("lost-sink", "sink", r"(a|b)\\1"), ("many-grades", "grade_", r"^(\\w)\\1$")):
        page = (house / f"{name}.md").read_text()
        (house / f"{name}.md").write_text(page.replace(f'["{word}"]', f'["{trigger}"]'))
    triggers = Triggers([rule for rule in Knowledge().rules if rule.code.startswith("DTL1")])
    assert [rule.code for rule in triggers.rules(b"cc")] == ["DTL102"]
    assert [rule.code for rule in triggers.rules(b"x bb")] == ["DTL101"]
    assert [rule.code for rule in triggers.rules(b"aa\nx")] == ["DTL101", "DTL102"]
    assert triggers.rules(b"ab") == ()


def test_a_rule_without_triggers_is_always_asked(house: Path) -> None:
    page = (house / "lost-sink.md").read_text()
    (house / "lost-sink.md").write_text(page.replace('triggers = ["sink"]', ""))
    triggers = Triggers([rule for rule in Knowledge().rules if not rule.own])
    assert [rule.code for rule in triggers.rules(b"grade_x")] == ["DTL101", "DTL102"]
    assert [rule.code for rule in triggers.rules(b"")] == ["DTL101"]
