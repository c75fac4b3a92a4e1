"""`dtypelint fix` and `check --fix` on the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dtypelint import writer
from dtypelint.cli import main


def call(*args: str, stdin: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin, prog_name="dtypelint")


@pytest.fixture
def tree(house: Path, work: Path) -> Path:
    (work / "a.py").write_text("sink_fixed\nsink_unsafe\nsink_fixed\n")
    (work / "b.py").write_text("sink_held\n")
    (work / "c.py").write_text("x = 1\n")
    return work


def test_fix_applies_what_is_safe_and_says_what_is_left(tree: Path) -> None:
    result = call("fix")
    assert (tree / "a.py").read_text() == "new_sink_fixed\nsink_unsafe\nnew_sink_fixed\n"
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "a.py:1:1: fixed[DTL101] rename it (safe)",
        "a.py:3:1: fixed[DTL101] rename it (safe)",
        "",
    ]
    assert "a.py:2:1: error[DTL101] `sink_unsafe` is lost" in lines
    assert "   = fix withheld: too hard" in lines
    assert lines[-1] == "2 findings fixed in 1 file; 2 errors left in 3 files; 1 more with --unsafe-fixes"
    assert result.exit_code == 1


def test_unsafe_fixes_are_asked_for(tree: Path) -> None:
    result = call("fix", "--unsafe-fixes", "a.py")
    assert (tree / "a.py").read_text() == "new_sink_fixed\nnew_sink_unsafe\nnew_sink_fixed\n"
    assert result.stdout.splitlines()[-1] == "3 findings fixed in 1 file; nothing left in 1 file"
    assert result.exit_code == 0


def test_a_second_run_changes_nothing(tree: Path) -> None:
    call("fix", "--unsafe-fixes")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tree.iterdir()}
    result = call("fix", "--unsafe-fixes")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tree.iterdir()} == before
    assert result.stdout.splitlines()[-1] == "0 findings fixed in 0 files; 1 error left in 3 files"


def test_a_diff_changes_nothing_and_can_be_applied(tree: Path) -> None:
    (tree / "a.py").write_bytes(b"sink_fixed\r\nx = 1\r\nsink_fixed")
    before = (tree / "a.py").read_bytes()
    result = call("fix", "--diff")
    assert result.exit_code == 1
    assert (tree / "a.py").read_bytes() == before
    assert result.stderr == "2 findings would be fixed in 1 file; 1 error would remain in 3 files\n"
    subprocess.run(["git", "apply", "-p0"], input=result.stdout_bytes, cwd=tree, check=True)
    assert (tree / "a.py").read_bytes() == before.replace(b"sink", b"new_sink")
    result = call("fix", "--diff", "--quiet")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("answers", "text", "status"),
    [
        ("y\nn\n", "new_sink_fixed\nsink_unsafe\nsink_fixed\n", 1),
        ("n\ny\n", "sink_fixed\nsink_unsafe\nnew_sink_fixed\n", 1),
        ("all\n", "new_sink_fixed\nsink_unsafe\nnew_sink_fixed\n", 1),
        ("quit\n", "sink_fixed\nsink_unsafe\nsink_fixed\n", 1),
        ("y\nquit\n", "new_sink_fixed\nsink_unsafe\nsink_fixed\n", 1),
        ("what?\ny\ny\n", "new_sink_fixed\nsink_unsafe\nnew_sink_fixed\n", 1),
        ("y\n", "sink_fixed\nsink_unsafe\nsink_fixed\n", 130),
    ],
)
def test_interactive_asks_for_each_fix_once(tree: Path, answers: str, text: str, status: int) -> None:
    result = call("fix", "--interactive", "a.py", stdin=answers)
    assert (tree / "a.py").read_text() == text
    assert result.exit_code == status
    assert "-sink_fixed\n+new_sink_fixed\n" in result.stdout


def test_the_standard_input_is_fixed_on_the_standard_output(tree: Path) -> None:
    (tree / "a.py").write_text("untouched\n")
    result = call("fix", "-", "--stdin-filename", "a.py", stdin=b"\xef\xbb\xbfsink_fixed  # \xc3\xa9\r\n")
    assert result.stdout_bytes == b"\xef\xbb\xbfnew_sink_fixed  # \xc3\xa9\r\n"
    assert "1 finding fixed" in result.stderr
    assert (tree / "a.py").read_text() == "untouched\n"
    assert call("fix", "-", stdin=b"x = 1\n").stdout_bytes == b"x = 1\n"


@pytest.mark.parametrize(
    "args",
    [
        ("fix", "--interactive", "-"),
        ("check", "--fix", "-"),
        ("check", "--unsafe-fixes"),
        ("fix", "gone.py"),
        ("fix", "-", "a.py"),
    ],
)
def test_what_makes_no_sense_is_refused(tree: Path, args: tuple[str, ...]) -> None:
    assert call(*args, stdin=b"").exit_code == 2


def test_check_with_fix_reports_what_is_left(tree: Path) -> None:
    result = call("check", "--fix", "--format", "json")
    assert [finding["source"] for finding in json.loads(result.stdout)["findings"]] == ["sink_unsafe", "sink_held"]
    assert result.stderr.startswith("2 findings fixed in 1 file; ")
    assert result.exit_code == 1
    assert call("check", "--fix", "--unsafe-fixes", "--quiet", "a.py").output == ""


def test_selected_rules_only_are_fixed(tree: Path) -> None:
    call("fix", "--ignore", "DTL101")
    assert "new_" not in (tree / "a.py").read_text()


def test_the_gate_decides_about_the_status(tree: Path) -> None:
    assert call("fix", "--fail-on", "never").exit_code == 0
    assert call("fix", "--exit-zero").exit_code == 0


def test_a_file_that_cannot_be_written_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(contents: list[writer.Content], _roots: object) -> None:
        raise writer.Unwritten(contents[0].path, "No space left on device")

    monkeypatch.setattr(writer, "write", refuse)
    result = call("fix", "a.py")
    assert result.exit_code == 2
    assert result.stderr.endswith("a.py: No space left on device\n")
    assert result.stderr.startswith("dtypelint: error: not written: ")
    assert result.stdout.splitlines()[-1].startswith("0 findings fixed in 0 files; ")


def test_a_link_is_followed_and_stays_one(tree: Path) -> None:
    (tree / "link.py").symlink_to(tree / "a.py")
    call("fix", "link.py")
    assert (tree / "link.py").is_symlink()
    assert (tree / "a.py").read_text().startswith("new_")


def test_two_names_of_one_file(tree: Path) -> None:
    (tree / "link.py").symlink_to(tree / "a.py")
    result = call("fix")
    assert (tree / "a.py").read_text() == "new_sink_fixed\nsink_unsafe\nnew_sink_fixed\n"
    assert result.stderr == ""
    assert (tree / "link.py").is_symlink()


def test_python_names_with_control_characters_do_not_reach_the_terminal(tree: Path) -> None:
    (tree / "\x1b[2Ja.py").write_text("sink_fixed\n")
    assert "\x1b" not in call("fix", "--diff").output
    assert "\x1b" not in call("fix").output


def test_a_setting_that_a_fix_reads_is_unread_no_more(work: Path) -> None:
    folder = Path(__file__).parent.parent / "testdata" / "dropped_reduce" / "in"
    shutil.copytree(folder, work / "in")
    result = call("fix", "in")
    assert result.exit_code == 0, result.output
    assert "reduce_dtype=precision.reduce_dtype" in (work / "in" / "trainer" / "shard.py").read_text()
