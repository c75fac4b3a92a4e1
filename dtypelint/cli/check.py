"""`dtypelint check`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dtypelint.cli.common import FINDINGS, checking, examples, finish, guarded, inputs, options, write
from dtypelint.cli.fix import complain, repaired, save, summary, taking, unsafe_option
from dtypelint.cli.legacy import Command, add_ignores, narrowed, narrowing, tell_gone, write_baseline
from dtypelint.cli.progress import progress
from dtypelint.cli.reporting import emit, reporting
from dtypelint.cli.smoke import prove, smoke_option, transcript


@click.command(
    cls=Command,
    epilog=examples(
        "dtypelint check",
        "dtypelint check src train.py --pedantic",
        "dtypelint check --select DTL1,hardcoded-autocast-dtype",
        "dtypelint check --output sarif=dtypelint.sarif --output markdown=summary.md",
        "dtypelint check --diff-base origin/main",
        "dtypelint check --write-baseline",
        "dtypelint check --add-ignore='known, since March' src",
        "dtypelint check - --stdin-filename src/train.py < train.py",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@checking
@reporting
@narrowing
@click.option("--fix", is_flag=True, help="Apply the safe fixes first, as `dtypelint fix` does.")
@unsafe_option
@smoke_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
def check(paths: tuple[Path, ...], fix: bool, unsafe_fixes: bool, smoke: bool, exit_zero: bool, **values: Any) -> None:
    """Check files and folders (`.` by default; `-` reads the standard input).

    Exit status: 0 no findings at or above --fail-on, 1 findings, 2 usage or internal error.
    """
    traceback: bool = values["traceback"]
    with guarded(traceback=traceback):
        if unsafe_fixes and not fix:
            raise click.UsageError("--unsafe-fixes goes with --fix")
        chosen, stdin = inputs(paths)
        if fix and stdin:
            raise click.UsageError("--fix has no file to write to: use `dtypelint fix -`")
        if smoke and (stdin or fix):
            raise click.UsageError("--smoke reads files: with fixes it is `dtypelint fix --smoke`")
        if stdin and values["add_ignore"] is not None:
            raise click.UsageError("--add-ignore has no file to write to")
        asked = narrowed({**values, "fix": fix}, options(values, stdin=stdin))
        unwritten: dict[str, str] = {}
        if fix:
            workspace, result = repaired(chosen, asked, taking(unsafe=unsafe_fixes))
            unwritten = save(workspace, result, chosen)
            report = workspace.report(result.withheld)
            if not values["quiet"]:
                write(summary(report, result, unwritten, unsafe=unsafe_fixes), err=True)
        else:
            from dtypelint.engine import run

            with progress(quiet=values["quiet"]) as told:
                report = run(chosen, replace(asked, progress=told))
            if values["write_baseline"]:
                write_baseline(report, values)
            if values["add_ignore"] is not None:
                add_ignores(report, values, chosen, asked)
                report = run(chosen, asked)
        emit(report, values, asked)
        tell_gone(report, values)
        complain(unwritten)
        refuted = False
        if smoke:
            driven = prove(report.findings, chosen, asked.flags, values)
            refuted = driven.failed(strict=False)
            write(transcript(driven), err=values["output"] != "text")
        finish(report, traceback=traceback, exit_zero=exit_zero)
        if refuted and not exit_zero:
            raise click.exceptions.Exit(FINDINGS)
