"""A baseline, changed lines and written suppressions, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from repository import commit, git

from dtypelint.cli import main


def call(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["check", *args], input=stdin, prog_name="dtypelint")


def lines(result: Result) -> list[str]:
    return [line.split(" ")[0] for line in result.stdout.splitlines()]


def shown(*args: str) -> list[str]:
    return lines(call("--format", "concise", "--quiet", *args))


@pytest.fixture
def tree(house: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (work / "a.py").write_text("sink\nsink\n\nsink_low\n")
    (work / "b.py").write_text("sink_fixed()\n")
    return work


def test_a_baseline_is_written_and_left_out(tree: Path) -> None:
    result = call("--write-baseline")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "dtypelint: 3 findings written to dtypelint-baseline.json\n"
    result = call("--baseline", "dtypelint-baseline.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == ("no findings in 3 files; 1 pedantic finding hidden (--pedantic); 3 in the baseline\n")
    (tree / "a.py").write_text("\n\nsink\n  sink\nsink  # other\nsink\n")
    assert shown("--baseline", "dtypelint-baseline.json") == ["a.py:5:1:", "a.py:6:1:"]
    assert call("--baseline", "dtypelint-baseline.json").exit_code == 1
    summary = json.loads(call("--baseline", "dtypelint-baseline.json", "--format", "json").stdout)["summary"]
    assert (summary["known"], summary["errors"]) == (3, 2)


def test_a_baseline_has_a_name_and_a_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("--write-baseline", "--baseline", "known.json", "b.py").exit_code == 0
    (tree / "sub").mkdir()
    monkeypatch.chdir(tree / "sub")
    assert shown("--baseline", "../known.json", "../b.py", "../a.py") == ["../a.py:1:1:", "../a.py:2:1:"]


def test_what_is_gone_is_named(tree: Path) -> None:
    call("--write-baseline", "--pedantic")
    (tree / "a.py").write_text("sink\nsink_low\n")
    result = call("--baseline", "dtypelint-baseline.json")
    assert result.exit_code == 0
    assert result.stderr == (
        "dtypelint: 1 entry is gone from dtypelint-baseline.json; --write-baseline drops it:\n  a.py: DTL101 `sink`\n"
    )
    (tree / "a.py").unlink()
    gone = call("--baseline", "dtypelint-baseline.json").stderr.splitlines()
    assert gone == [
        "dtypelint: 2 entries are gone from dtypelint-baseline.json; --write-baseline drops them:",
        "  a.py: DTL101 `sink`",
        "  a.py: DTL101 `sink_low`",
    ]
    assert call("--baseline", "dtypelint-baseline.json", "--quiet").stderr == ""


def test_what_was_not_checked_is_not_gone(tree: Path) -> None:
    call("--write-baseline", "--pedantic")
    (tree / "b.py").write_text("")
    assert call("--baseline", "dtypelint-baseline.json", "a.py").stderr == ""
    assert call("--baseline", "dtypelint-baseline.json", "--select", "DTL102").stderr == ""
    assert "b.py: DTL101 `sink_fixed()`" in call("--baseline", "dtypelint-baseline.json").stderr


def test_many_entries_are_cut(tree: Path) -> None:
    (tree / "a.py").write_text("".join(f"sink({number})\n" for number in range(15)))
    call("--write-baseline")
    (tree / "a.py").write_text("")
    result = call("--baseline", "dtypelint-baseline.json")
    assert result.stderr.count("\n") == 12
    assert result.stderr.endswith("  and 5 more\n")


def test_only_changed_lines(tree: Path) -> None:
    git("init", "-q")
    commit()
    assert shown("--diff-base", "HEAD") == []
    (tree / "a.py").write_text("sink\nsink\n\nsink_low\nsink\n")
    (tree / "new.py").write_text("sink\n")
    assert shown("--diff-base", "HEAD") == ["a.py:5:1:", "new.py:1:1:"]
    result = call("--diff-base", "HEAD")
    assert result.stdout.splitlines()[-1] == "2 errors in 3 files; 3 on unchanged lines"
    assert call("--diff-base", "HEAD", "b.py").exit_code == 0


def test_a_new_declaration_shows_the_finding_that_names_it(tree: Path) -> None:
    (tree / "a.py").write_text("x = 1\n\nsink\n")
    git("init", "-q")
    commit()
    (tree / "a.py").write_text("setting\n\nsink\n")
    assert shown("--diff-base", "HEAD", "--select", "DTL101") == ["a.py:3:1:"]


def test_suppressions_are_written(tree: Path) -> None:
    result = call("--add-ignore", "a.py")
    assert (result.exit_code, result.stderr) == (0, "dtypelint: suppressed 2 findings in 1 file\n")
    assert (tree / "a.py").read_text() == (
        "sink  # dtypelint: ignore[DTL101]\nsink  # dtypelint: ignore[DTL101]\n\nsink_low\n"
    )
    assert (tree / "b.py").read_text() == "sink_fixed()\n"
    result = call("--add-ignore= known,  since 2024", "--pedantic", "--quiet")
    assert (result.exit_code, result.stderr, result.stdout) == (0, "", "")
    assert (tree / "a.py").read_text().splitlines()[-1] == "sink_low  # dtypelint: ignore[DTL101] known, since 2024"
    assert (tree / "b.py").read_text() == "sink_fixed()  # dtypelint: ignore[DTL101] known, since 2024\n"


def test_a_word_behind_the_end_of_the_options_is_a_path(tree: Path) -> None:
    result = call("--add-ignore", "--", "--add-ignore")
    assert "no such file or folder: --add-ignore" in result.stderr


def test_what_no_comment_suppresses_stays(tree: Path) -> None:
    (tree / "a.py").write_text("x = sink(\n# dtypelint: ignore[DTL102] nothing\n")
    result = call("--add-ignore", "--format", "concise", "a.py")
    assert result.exit_code == 1
    assert result.stderr == "dtypelint: suppressed 0 findings in 0 files\n"
    assert [line.split(" ")[1] for line in result.stdout.splitlines()[:2]] == ["error[DTL101]", "warning[DTL001]"]


def test_a_file_that_cannot_be_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dtypelint import writer

    def refuse(*_: object) -> None:
        raise writer.Unwritten(Path("a.py"), "read only")

    monkeypatch.setattr(writer, "write", refuse)
    result = call("--add-ignore", "a.py")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == "dtypelint: error: not written: a.py: read only"


def test_the_standard_input_cannot_be_written(tree: Path) -> None:
    result = call("--add-ignore", "-", stdin=b"sink")
    assert result.exit_code == 2
    assert "--add-ignore has no file to write to" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--write-baseline", "--diff-base", "HEAD"], "--write-baseline does not go with --diff-base"),
        (["--add-ignore", "--write-baseline"], "--write-baseline does not go with --add-ignore"),
        (["--fix", "--add-ignore"], "--add-ignore does not go with --fix"),
        (["--fix", "--baseline", "x.json"], "--fix does not go with --baseline"),
        (["--baseline", "no.json"], "no.json: cannot be read: No such file or directory; --write-baseline makes"),
        (["--write-baseline", "--baseline", "no/where.json"], "no/where.json: cannot be written: No such file"),
        (["--diff-base", "nowhere"], "--diff-base: "),
        (["--diff-base", ""], "--diff-base: "),
    ],
)
def test_what_does_not_go(tree: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], message: str) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tree.parent))
    result = call(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
