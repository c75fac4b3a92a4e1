"""The command line: options, exit statuses, streams."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import dtypelint
from dtypelint import engine
from dtypelint.cli import common, main
from dtypelint.cli.reporting import FORMATS

HERE = Path(__file__).parent.parent


def call(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin, prog_name="dtypelint")


@pytest.fixture
def tree(house: Path, work: Path) -> Path:
    (work / "a.py").write_text("sink\ngrade_warning grade_note\n")
    (work / "b.py").write_text("x = 1\n")
    (work / "low.py").write_text("sink_low\n")
    return work


def codes(result: Result) -> list[str]:
    return [finding["code"] for finding in json.loads(result.stdout)["findings"]]


def as_json(*args: str, stdin: bytes | None = None) -> list[str]:
    return codes(call("check", "--format", "json", *args, stdin=stdin))


def test_check_takes_the_working_folder(tree: Path) -> None:
    result = call("check")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert result.stdout.splitlines()[0] == "a.py:1:1: error[DTL101] `sink` is lost"
    assert result.stdout.splitlines()[-1] == (
        "1 error, 1 warning, 1 note in 3 files; 1 pedantic finding hidden (--pedantic)"
    )


def test_check_without_findings(tree: Path) -> None:
    result = call("check", "b.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "no findings in 1 file\n", "")


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize(
    ("args", "status"),
    [(["a.py"], 1), (["b.py"], 0), (["--fail-on", "never", "a.py"], 0), (["--exit-zero", "a.py"], 0), (["low.py"], 0)],
)
def test_the_format_never_changes_the_exit_status(tree: Path, output: str, args: list[str], status: int) -> None:
    assert call("check", "--format", output, *args).exit_code == status


@pytest.mark.parametrize(
    ("gate", "select", "status"),
    [
        ("error", "DTL101", 1),
        ("error", "DTL102", 0),
        ("warning", "DTL102", 1),
        ("note", "DTL102", 1),
        ("never", "DTL101", 0),
    ],
)
def test_fail_on(tree: Path, gate: str, select: str, status: int) -> None:
    assert call("check", "--fail-on", gate, "--select", select).exit_code == status


def test_selection(tree: Path) -> None:
    assert as_json() == ["DTL101", "DTL102", "DTL102"]
    assert as_json("--select", "DTL102,DTL6", "--select", "lost-sink") == ["DTL101", "DTL102", "DTL102"]
    assert as_json("--select", "DTL1", "--ignore", "many-grades") == ["DTL101"]
    assert as_json("--ignore", "DTL1") == []
    assert as_json("--select", "DTL6", "--extend-select", "DTL101") == ["DTL101"]
    assert as_json("--pedantic", "low.py") == ["DTL101"]
    assert as_json("--pedantic", "--no-pedantic", "low.py") == []


def test_excludes(tree: Path) -> None:
    assert as_json("--exclude", "a.py") == []
    assert as_json("--exclude", "a.py", "a.py") == ["DTL101", "DTL102", "DTL102"]
    result = call("check", "--exclude", "a.py,b.py", "--force-exclude", "a.py", "b.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "dtypelint: no files to check\n")


def test_one_run_writes_several_reports(tree: Path) -> None:
    result = call("check", "--output", "sarif=out.sarif", "--output=markdown=out.md", "--output", "text=out=1.txt")
    assert result.exit_code == 1
    assert result.stdout == (tree / "out=1.txt").read_text()
    assert len(json.loads((tree / "out.sarif").read_text())["runs"][0]["results"]) == 3
    assert (tree / "out.md").read_text().startswith("## dtypelint: 1 error, 1 warning, 1 note in 3 files")


def test_a_report_without_files_is_a_report(house: Path, work: Path) -> None:
    assert call("check", "--output", "junit=out.xml", "--quiet", "--format", "concise").exit_code == 0
    assert 'name="0 files without findings"' in (work / "out.xml").read_text()


@pytest.mark.parametrize("value", ["xml=a", "json", "json=", "=a", ""])
def test_an_output_is_a_format_and_a_file(tree: Path, value: str) -> None:
    result = call("check", "--output", value)
    assert result.exit_code == 2
    assert f"`{value}` is not FORMAT=FILE; the formats are text, concise, json" in " ".join(result.stderr.split())


def test_an_output_that_cannot_be_written(tree: Path) -> None:
    result = call("check", "--output", "json=no/where.json")
    assert result.exit_code == 2
    assert "--output json=no/where.json: cannot be written: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("args", "environment", "count"),
    [
        ([], "true", 3),
        (["--format", "concise"], "true", 3),
        ([], "", 0),
        (["--annotate"], "", 3),
        (["--no-annotate"], "true", 0),
        (["--format", "json"], "true", 0),
        (["b.py"], "true", 0),
    ],
)
def test_annotations_follow_the_text_in_github_actions(
    tree: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], environment: str, count: int
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", environment)
    lines = call("check", *args).stdout.splitlines()
    assert sum(line.startswith(("::error", "::warning", "::notice")) for line in lines) == count
    assert (lines[-1] == "::endgroup::") is bool(count)


def test_no_files_is_no_failure(house: Path, work: Path) -> None:
    result = call("check")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "dtypelint: no files to check\n")
    assert call("check", "--quiet").stderr == ""
    result = call("check", "--format", "json")
    assert json.loads(result.stdout)["findings"] == []
    assert result.stderr == "dtypelint: no files to check\n"


def test_configuration(tree: Path) -> None:
    (tree / "pyproject.toml").write_text('[tool.dtypelint]\nselect = ["DTL102"]\n')
    (tree / "other.toml").write_text('select = ["DTL101"]\n')
    assert as_json() == ["DTL102", "DTL102"]
    assert as_json("--isolated") == ["DTL101", "DTL102", "DTL102"]
    assert as_json("--config", "other.toml") == ["DTL101"]


def test_comments(tree: Path) -> None:
    (tree / "a.py").write_text("sink  # dtypelint: ignore[DTL101] known\n")
    assert as_json() == []
    assert as_json("--no-ignores") == ["DTL101"]


def test_statistics(tree: Path) -> None:
    assert call("check", "--statistics", "--quiet").stdout == (
        "1  DTL101  lost-sink  error\n1  DTL102  many-grades  note\n1  DTL102  many-grades  warning\n"
    )
    assert call("check", "--statistics").stdout.splitlines()[-1].startswith("1 error, 1 warning, 1 note in 3 files")


def test_quiet_leaves_the_findings(tree: Path) -> None:
    assert call("check", "--quiet", "--format", "concise").stdout.count("\n") == 3
    assert call("check", "--quiet", "b.py").stdout == ""


def test_the_standard_input(tree: Path) -> None:
    result = call("check", "--format", "concise", "--quiet", "-", "--stdin-filename", "pkg/new.py", stdin=b"\nsink")
    assert (result.exit_code, result.stdout) == (1, "pkg/new.py:2:1: error[DTL101] `sink` is lost\n")
    result = call("check", "--format", "concise", "--quiet", "-", stdin=b"sink \xff")
    assert result.stdout.startswith("stdin.py:1:1: error[DTL000] not in its encoding utf-8")
    assert as_json("-", "a.py", stdin=b"sink") == ["DTL101", "DTL102", "DTL102", "DTL101"]


def test_annotations_are_relative_to_the_workspace(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tree.parent))
    assert f"file={tree.name}/a.py,line=1" in call("check", "--format", "github").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check", "nowhere.py"], "dtypelint: error: no such file or folder: nowhere.py\n"),
        (
            ["check", "--select", "DTL1011"],
            "dtypelint: error: unknown rule `DTL1011` in `select`: did you mean `DTL101`?\n",
        ),
        (["check", "--target", "torch"], "dtypelint: error: `torch` is no target: write"),
        (["check", "--config", "no.toml"], "dtypelint: error: no.toml: cannot be read"),
        (["check", "--format", "xml"], "Invalid value for '--format'"),
        (["check", "--jobs", "0"], "Invalid value for '--jobs'"),
        (["check", "--fail-on", "x"], "Invalid value for '--fail-on'"),
        (["check", "--nonsense"], "No such option"),
        (["explain", "DTL7"], "dtypelint: error: unknown rule `DTL7`"),
        (["explain"], "Missing argument"),
        (["nonsense"], "No such command"),
    ],
)
def test_usage_errors_end_with_2(tree: Path, args: list[str], message: str) -> None:
    result = call(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_broken_settings_file_ends_with_2(tree: Path) -> None:
    (tree / "dtypelint.toml").write_text("pedantik = true")
    result = call("check")
    assert result.exit_code == 2
    assert (
        result.stderr
        == f"dtypelint: error: {tree}/dtypelint.toml:1: unknown key `pedantik`: did you mean `pedantic`?\n"
    )


def test_a_message_does_not_move_the_cursor(tree: Path) -> None:
    assert (
        call("check", "no\x1b[31m\nwhere.py").stderr
        == "dtypelint: error: no such file or folder: no\\x1b[31m\\nwhere.py\n"
    )


def test_a_defect_of_a_check_ends_with_2_and_keeps_the_rest(tree: Path) -> None:
    (tree / "c.py").write_text("crash_here")
    result = call("check", "--format", "json", "--fail-on", "never")
    assert result.exit_code == 2
    assert codes(result) == ["DTL101", "DTL102", "DTL102", "DTL000"]
    assert json.loads(result.stdout)["summary"]["internal_errors"] == 1
    assert result.stderr == ""
    result = call("check", "--traceback")
    assert "ValueError: no such dtype" in result.stderr
    assert result.stderr.startswith("Traceback")


def test_a_defect_of_the_engine_is_one_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(engine, "run", broken)
    result = call("check")
    assert result.exit_code == 2
    assert (
        result.stderr
        == "dtypelint: error: internal error: ZeroDivisionError: oh\\nno; please report it with --traceback\n"
    )
    result = call("check", "--traceback")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")


def test_an_interrupt_ends_with_130(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "run", interrupted)
    assert call("check").exit_code == 130


@pytest.mark.parametrize("error", [click.UsageError("usage"), BrokenPipeError()])
def test_what_click_handles_is_left_to_it(error: Exception) -> None:
    with pytest.raises(type(error)), common.guarded():
        raise error


def test_explain(tree: Path, house: Path) -> None:
    page = (house / "lost-sink.md").read_text()
    assert call("explain", "DTL101").stdout == page
    assert call("explain", "lost-sink", "--format", "markdown").stdout == page
    document = json.loads(call("explain", "lost-sink", "--format", "json").stdout)
    assert (document["code"], document["page"]) == ("DTL101", page)


def test_explain_on_a_terminal(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "color", lambda no_color: not no_color)
    assert "\x1b[" in call("explain", "DTL101").stdout
    assert "\x1b[" not in call("explain", "DTL101", "--format", "markdown").stdout
    assert "\x1b[" not in call("explain", "DTL101", "--no-color").stdout
    assert "\x1b[" in call("check").stdout
    assert "\x1b[" not in call("check", "--no-color").stdout


def test_colours_need_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert not common.color(False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert common.color(False)
    assert not common.color(True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not common.color(False)
    monkeypatch.setenv("NO_COLOR", "")
    assert common.color(False)


def test_rules(tree: Path) -> None:
    assert [line.split()[0] for line in call("rules").stdout.splitlines()] == [
        "DTL000", "DTL001", "DTL002", "DTL101", "DTL102", "DTL203", "DTL601",
    ]  # fmt: skip
    assert [rule["name"] for rule in json.loads(call("rules", "--format", "json").stdout)][3] == "lost-sink"


def test_version_and_help() -> None:
    assert call("--version").stdout == f"dtypelint {dtypelint.__version__}\n"
    for args in (["--help"], ["check", "-h"], ["explain", "--help"], ["rules", "--help"]):
        result = call(*args)
        assert result.exit_code == 0
        assert "Usage: dtypelint" in result.stdout
    assert "prefilter" not in call("check", "--help").stdout


def process(*args: str, cwd: Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *args],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env={**os.environ, "GITHUB_ACTIONS": "", "PYTHONPATH": str(HERE), **env},
    )


def test_it_is_a_module(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    result = process("-m", "dtypelint", "check", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"no findings in 1 file\n", b"")


HEAVY = """
import sys
from dtypelint.cli import common, main
from dtypelint.cli.reporting import FORMATS
try:
    main(sys.argv[1:], prog_name="dtypelint")
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "libcst", "rich", "numpy", "pathspec"}))
"""


@pytest.mark.parametrize(
    "args", [["--version"], ["check", "a.py"], ["check", "."], ["check", "--format", "json", "a.py"], ["rules"]]
)
def test_what_is_not_needed_is_not_imported(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x):\n    return x + 1\n")
    result = process("-c", HEAVY, *args, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == b""


def test_the_shipped_project_has_its_bug() -> None:
    result = process("-m", "dtypelint", "check", "--format", "json", "testdata/dropped_reduce/in", cwd=HERE)
    assert result.returncode == 1
    assert b"torch" not in result.stderr
    assert "DTL101" in [finding["code"] for finding in json.loads(result.stdout)["findings"]]


def test_output_fits_every_encoding(tmp_path: Path) -> None:
    (tmp_path / "é.py").write_bytes(b"# dtypelint: ignore[\xe9]\n")
    result = process("-m", "dtypelint", "check", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.returncode == 1
    assert result.stdout.startswith(b"\\xe9.py:1:1: error[DTL000]")
    result = process("-m", "dtypelint", "check", os.fsdecode(b"\xff.py"), cwd=tmp_path)
    assert result.returncode == 2
    assert b"no such file or folder: \\udcff.py" in result.stderr


def test_nothing_of_the_checked_project_is_run(tmp_path: Path) -> None:
    for name in ("conftest.py", "sitecustomize.py", "setup.py", "torch.py", "libcst.py"):
        (tmp_path / name).write_text("raise SystemExit('ran')  # autocast MixedPrecision .half()\n")
    result = process("-P", "-m", "dtypelint", "check", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert b"ran" not in result.stderr


def example_lines(command: click.Command) -> list[str]:
    return [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]


EXAMPLES = [line for command in (main, *main.commands.values()) for line in example_lines(command)]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_can_be_run(line: str) -> None:
    program, *args = shlex.split(line.partition(" <")[0].partition(" >")[0])
    assert program == "dtypelint"
    name, command, rest = main.resolve_command(click.Context(main), args)
    assert command
    command.make_context(name, rest)


def test_every_command_has_examples() -> None:
    for command in (main, *main.commands.values()):
        assert example_lines(command)
        assert "Examples:" in call(*([] if command is main else [command.name or ""]), "--help").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell: str) -> None:
    result = call("completion", shell)
    assert result.exit_code == 0
    assert "_DTYPELINT_COMPLETE" in result.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dtypelint expl", ["explain"]),
        ("dtypelint explain lost", ["lost-sink"]),
        ("dtypelint check --select DTL10", ["DTL101", "DTL102"]),
        ("dtypelint check --select DTL203,DTL10", ["DTL203,DTL101", "DTL203,DTL102"]),
        ("dtypelint check --format sar", ["sarif"]),
    ],
)
def test_words_are_completed(house: Path, work: Path, words: str, offered: list[str]) -> None:
    environment = {
        "_DTYPELINT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = CliRunner().invoke(main, [], prog_name="dtypelint", env=environment)
    assert [line.partition(",")[2] for line in result.stdout.splitlines()] == offered


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    from dtypelint.cli import progress

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress.progress(quiet=True) as told:
        assert told is None
    with progress.progress(quiet=False) as told:
        assert told
        told(1, 50)
    assert shown.getvalue() == ""
    monkeypatch.setattr(progress, "SOON", 0.0)
    with progress.progress(quiet=False) as told:
        assert told
        told(1, 50)
        told(49, 50)
    assert "checking" in shown.getvalue()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_tells_how_far_it_is(tree: Path, jobs: int) -> None:
    for number in range(30):
        (tree / f"many{number}.py").write_text("sink\n")
    told: list[tuple[int, int]] = []
    engine.run([tree], engine.Options(jobs=jobs, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (32, 32)
    assert told == sorted(told)
