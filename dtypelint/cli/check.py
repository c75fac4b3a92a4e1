"""`dtypelint check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dtypelint.cli import common
from dtypelint.cli.common import checking, finish, guarded, inputs, options, render, write


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@checking
@click.option(
    "--format", "output", type=click.Choice(["text", "concise", "json", "github"]), default="text", show_default=True
)
@click.option("--statistics", "counts", is_flag=True, help="Count the findings of each rule (text and concise).")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only.")
@click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even with findings.")
def check(
    paths: tuple[Path, ...], output: str, counts: bool, quiet: bool, no_color: bool, exit_zero: bool, **values: Any
) -> None:
    """Check files and folders (`.` by default; `-` reads the standard input).

    Exit status: 0 no findings at or above --fail-on, 1 findings, 2 usage or internal error.
    """
    traceback: bool = values["traceback"]
    with guarded(traceback=traceback):
        from dtypelint.engine import run

        chosen, stdin = inputs(paths)
        report = run(chosen, options(values, stdin=stdin))
        if not report.files and not quiet:
            write("dtypelint: no files to check\n", err=True)
        if report.files or output == "json":
            write(render(report, output, colored=common.color(no_color), quiet=quiet, counts=counts))
        finish(report, traceback=traceback, exit_zero=exit_zero)
