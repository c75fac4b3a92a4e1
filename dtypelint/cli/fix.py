"""`dtypelint fix`, and what `check --fix` shares with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dtypelint.cli import common
from dtypelint.cli.common import checking, examples, finish, guarded, inputs, options, write
from dtypelint.cli.smoke import proof, smoke_option, transcript
from dtypelint.finding import Safety, Severity
from dtypelint.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dtypelint.engine import Options
    from dtypelint.finding import Finding, Report
    from dtypelint.fixer import Change, Result, Wanted
    from dtypelint.source import Source
    from dtypelint.workspace import Workspace

unsafe_option = click.option("--unsafe-fixes", is_flag=True, help="Apply the fixes that are not safe, too.")


@click.command(
    epilog=examples(
        "dtypelint fix --diff",
        "dtypelint fix src train.py",
        "dtypelint fix --select DTL502 --interactive",
        "dtypelint fix - --stdin-filename src/train.py < train.py",
    )
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@checking
@unsafe_option
@smoke_option
@click.option("--allow-unconfirmed", is_flag=True, help="With --smoke, apply what cannot be confirmed here too.")
@click.option("--diff", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--interactive", is_flag=True, help="Show each fix and ask.")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
def fix(
    paths: tuple[Path, ...],
    unsafe_fixes: bool,
    smoke: bool,
    allow_unconfirmed: bool,
    diff: bool,
    interactive: bool,
    quiet: bool,
    no_color: bool,
    exit_zero: bool,
    **values: Any,
) -> None:
    """Apply the safe fixes in files and folders (`.` by default; `-` reads the standard input and prints the result).

    Exit status: 0 no findings at or above --fail-on remain, 1 findings remain (with --diff: something would change),
    2 usage or internal error, or a file that could not be written. With --smoke only what was confirmed is applied, and
    a fix that was refuted is status 1.
    """
    traceback: bool = values["traceback"]
    colored = common.color(no_color)
    with guarded(traceback=traceback):
        chosen, piped = inputs(paths)
        if piped and chosen:
            raise click.UsageError("`-` stands alone: its text goes to the standard output")
        if interactive and piped:
            raise click.UsageError("--interactive needs the standard input for its answers")
        wanted: Wanted = (
            _Asking(unsafe=unsafe_fixes, colored=colored) if interactive else _Taking(unsafe=unsafe_fixes)
        ).wanted
        if smoke and piped:
            raise click.UsageError("--smoke reads files, not the standard input")
        if allow_unconfirmed and not smoke:
            raise click.UsageError("--allow-unconfirmed goes with --smoke")
        asked = options(values, stdin=piped)
        refuted = False
        if smoke:
            driven, wanted = proof(chosen, asked, wanted, values, unsafe=unsafe_fixes, unconfirmed=allow_unconfirmed)
            refuted = driven.failed(strict=False)
            if not quiet:
                write(transcript(driven), err=True)
        workspace, result = repaired(chosen, asked, wanted)
        report = workspace.report(result.withheld)
        if diff:
            for change in result.changes:
                write(_diff(change.path, change.before, change.after, colored=colored))
            if not quiet:
                write(_summary(report, result.fixed, result.changes, unsafe=unsafe_fixes, would=True), err=True)
            finish(report, traceback=traceback, exit_zero=True)
            failed = (result.changes or refuted) and not exit_zero
            raise click.exceptions.Exit(common.FINDINGS if failed else common.CLEAN)
        unwritten = {} if asked.stdin else save(workspace, result, chosen)
        if asked.stdin:
            click.echo(workspace.source(str(asked.stdin[0])).encoded(), nl=False)
        if not quiet:
            write(_outcome(report, result, unwritten, unsafe=unsafe_fixes, colored=colored and not piped), err=piped)
        complain(unwritten)
        finish(report, traceback=traceback, exit_zero=exit_zero)
        if refuted and not exit_zero:
            raise click.exceptions.Exit(common.FINDINGS)


def repaired(chosen: Sequence[Path], asked: Options, wanted: Wanted) -> tuple[Workspace, Result]:
    """Fix in memory."""
    from dtypelint.fixer import Fixer
    from dtypelint.workspace import Workspace

    workspace = Workspace(chosen, asked)
    return workspace, Fixer(workspace, wanted).run()


def taking(*, unsafe: bool) -> Wanted:
    """Every fix of the wanted safety."""
    return _Taking(unsafe=unsafe).wanted


def save(workspace: Workspace, result: Result, roots: Sequence[Path]) -> dict[str, str]:
    """Write the changed files; those of one fix together. What could not be written comes back with the reason."""
    from dtypelint.writer import Content, Unwritten
    from dtypelint.writer import write as write_files

    unwritten: dict[str, str] = {}
    for group in result.groups():
        contents = [
            Content(workspace.absolute(change.path), change.before.encoded(), change.after.encoded())
            for change in group
        ]
        try:
            write_files(contents, roots)
        except Unwritten as error:
            unwritten.update(dict.fromkeys((change.path for change in group), str(error)))
    return unwritten


def complain(unwritten: Mapping[str, str]) -> None:
    """End with an error where a file could not be written."""
    for reason in dict.fromkeys(unwritten.values()):
        write(f"dtypelint: error: not written: {visible(reason)}\n", err=True)
    if unwritten:
        raise click.exceptions.Exit(common.BROKEN)


class _Taking:
    """Takes every fix of the wanted safety."""

    def __init__(self, *, unsafe: bool) -> None:
        self._unsafe = unsafe

    def wanted(self, finding: Finding, _texts: Mapping[str, tuple[Source, Source]]) -> bool:
        return self._unsafe or (finding.fix is not None and finding.fix.safety is Safety.SAFE)


class _Asking(_Taking):
    """Shows each fix of the wanted safety and asks."""

    def __init__(self, *, unsafe: bool, colored: bool) -> None:
        super().__init__(unsafe=unsafe)
        self._colored = colored
        self._rest: bool | None = None

    def wanted(self, finding: Finding, texts: Mapping[str, tuple[Source, Source]]) -> bool:
        if not super().wanted(finding, texts):
            return False
        if self._rest is not None:
            return self._rest
        write(f"{_line(finding, finding.code)}\n  {visible(finding.message)}\n")
        for path, (before, after) in texts.items():
            write(_diff(path, before, after, colored=self._colored))
        answer = click.prompt("apply this fix?", type=click.Choice(["y", "n", "all", "quit"]), default="y")
        if answer in ("all", "quit"):
            self._rest = answer == "all"
        return answer in ("y", "all")


def _diff(path: str, before: Source, after: Source, *, colored: bool) -> str:
    from dtypelint.reports import changes

    return changes.painted(path, before, after) if colored else changes.unified(path, before, after)


def _line(finding: Finding, word: str) -> str:
    assert finding.fix
    place = finding.position
    where = f"{visible(place.path)}:{place.line}:{place.column}"
    return f"{where}: {word} {visible(finding.fix.description)} ({finding.fix.safety})"


def _outcome(report: Report, result: Result, unwritten: Mapping[str, str], *, unsafe: bool, colored: bool) -> str:
    from dtypelint.reports import text

    fixed = [finding for finding in result.fixed if finding.position.path not in unwritten]
    changes = [change for change in result.changes if change.path not in unwritten]
    lines = "".join(f"{_line(finding, f'fixed[{finding.code}]')}\n" for finding in fixed)
    remaining = text.render(report, color=colored, summary=False, width=common.width())
    gap = "\n" if lines and remaining else ""
    return lines + gap + remaining + _summary(report, fixed, changes, unsafe=unsafe)


def summary(report: Report, result: Result, unwritten: Mapping[str, str], *, unsafe: bool) -> str:
    """What was done and what is left, in one line."""
    fixed = [finding for finding in result.fixed if finding.position.path not in unwritten]
    changes = [change for change in result.changes if change.path not in unwritten]
    return _summary(report, fixed, changes, unsafe=unsafe)


def _summary(
    report: Report, fixed: Sequence[Finding], changes: Sequence[Change], *, unsafe: bool, would: bool = False
) -> str:
    from dtypelint.reports.text import number

    counts = [(severity, report.count(severity)) for severity in Severity]
    left = ", ".join(number(count, severity.value) for severity, count in counts if count) or "nothing"
    verb = "would be fixed" if would else "fixed"
    parts = [f"{number(len(fixed), 'finding')} {verb} in {number(len(changes), 'file')}"]
    parts.append(f"{left} {'would remain' if would else 'left'} in {number(report.files, 'file')}")
    more = 0 if unsafe else report.fixable(Safety.UNSAFE)
    if more:
        parts.append(f"{more} more with --unsafe-fixes")
    if report.hidden:
        parts.append(f"{number(report.hidden, 'pedantic finding')} hidden (--pedantic)")
    return "; ".join(parts) + "\n"
