"""`dtypelint check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dtypelint.cli.common import checking, finish, guarded, inputs, options
from dtypelint.cli.reporting import emit, reporting


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@checking
@reporting
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
def check(paths: tuple[Path, ...], exit_zero: bool, **values: Any) -> None:
    """Check files and folders (`.` by default; `-` reads the standard input).

    Exit status: 0 no findings at or above --fail-on, 1 findings, 2 usage or internal error.
    """
    traceback: bool = values["traceback"]
    with guarded(traceback=traceback):
        from dtypelint.engine import run

        chosen, stdin = inputs(paths)
        asked = options(values, stdin=stdin)
        report = run(chosen, asked)
        emit(report, values, asked)
        finish(report, traceback=traceback, exit_zero=exit_zero)
