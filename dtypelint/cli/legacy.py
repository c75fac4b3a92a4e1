"""Options for code that has findings already: a baseline, only what has changed, suppression comments for the rest."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dtypelint.cli.common import BROKEN, CLEAN, finish, stacked, write
from dtypelint.errors import UserError
from dtypelint.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dtypelint.engine import Options
    from dtypelint.finding import Finding, Report

ADD = "--add-ignore"
MOST = 10


class Command(click.Command):
    """A command whose `--add-ignore` takes a reason after a `=` only: the next word is a path."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(context, [f"{ADD}=" if word == ADD else word for word in args[:end]] + args[end:])


narrowing = stacked(
    click.option(
        "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Leave out the findings of a file."
    ),
    click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline and exit with 0."),
    click.option("--diff-base", metavar="REF", help="Only findings on lines changed since a commit (git)."),
    click.option(ADD, metavar="[=REASON]", help="Suppress all findings with comments in the code."),
)


def narrowed(values: dict[str, Any], options: Options) -> Options:
    """The options of a run, with the baseline and the changes that are asked for."""
    from dtypelint.baseline import Baseline
    from dtypelint.changes import Changes

    asked = [
        name for name in ("write_baseline", "diff_base", "add_ignore", "fix") if values.get(name) not in (None, False)
    ]
    if len(asked) > 1 or (values.get("fix") and values["baseline"]):
        one, other = (f"--{name.replace('_', '-')}" for name in [*asked, "baseline"][:2])
        raise click.UsageError(f"{one} does not go with {other}")
    baseline = values["baseline"] if not values["write_baseline"] else None
    return replace(
        options,
        baseline=Baseline.read(baseline) if baseline else None,
        changes=Changes(values["diff_base"]) if values["diff_base"] is not None else None,
    )


def write_baseline(report: Report, values: dict[str, Any]) -> NoReturn:
    """Write all findings of a report to the baseline, and end."""
    from dtypelint.baseline import NAME, Baseline

    file = values["baseline"] or Path(NAME)
    try:
        file.write_text(Baseline.of(report.findings, file).text(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror or error}") from None
    count = len(report.findings)
    write(f"dtypelint: {count} finding{'s'[: count != 1]} written to {visible(str(file))}\n", err=True)
    finish(report, traceback=values["traceback"], exit_zero=True)
    raise click.exceptions.Exit(CLEAN)


def tell_gone(report: Report, values: dict[str, Any]) -> None:
    """Name the entries of the baseline that nothing met."""
    if not report.gone or values["quiet"]:
        return
    count = len(report.gone)
    lines = [f"  {entry}" for entry in report.gone[:MOST]]
    if count > MOST:
        lines.append(f"  and {count - MOST} more")
    head = f"{count} entr{'y is' if count == 1 else 'ies are'} gone from {values['baseline']}; --write-baseline drops"
    lines.insert(0, f"dtypelint: {head} {'it' if count == 1 else 'them'}:")
    write("".join(f"{visible(line)}\n" for line in lines), err=True)


def add_ignores(report: Report, values: dict[str, Any], roots: Sequence[Path], options: Options) -> None:
    """Suppress the findings of a report in their files; what no comment can suppress stays for the next run."""
    from dtypelint.engine import reader
    from dtypelint.silence import silence
    from dtypelint.writer import Content, Unwritten
    from dtypelint.writer import write as write_files

    reason = " ".join(values["add_ignore"].split())
    read = reader(options)
    count = files = 0
    failed = False
    for path, findings in _by_file(report.findings).items():
        source = read(path)
        if source is None:
            continue
        new, left = silence(source, findings, reason)
        if new.text == source.text:
            continue
        try:
            write_files([Content(Path(os.path.abspath(path)), source.encoded(), new.encoded())], roots)
        except (Unwritten, UnicodeEncodeError) as error:
            write(f"dtypelint: error: not written: {visible(str(error))}\n", err=True)
            failed = True
            continue
        count += len(findings) - len(left)
        files += 1
    if not values["quiet"]:
        write(
            f"dtypelint: suppressed {count} finding{'s'[: count != 1]} in {files} file{'s'[: files != 1]}\n", err=True
        )
    if failed:
        raise click.exceptions.Exit(BROKEN)


def _by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        # the tool's own findings are about comments and unreadable files
        if not finding.code.startswith("DTL0"):
            found[finding.position.path].append(finding)
    return found
