"""How a report leaves the tool: the formats on the standard output and in files."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dtypelint import __version__
from dtypelint.cli import common
from dtypelint.cli.common import stacked, write
from dtypelint.errors import UserError

if TYPE_CHECKING:
    from dtypelint.engine import Options
    from dtypelint.finding import Report
    from dtypelint.reports.surroundings import Surroundings

HUMAN = ("text", "concise")
# the formats for other programs, and the modules that write them
MACHINE = {
    "json": "data",
    "jsonl": "jsonl",
    "github": "github",
    "sarif": "sarif",
    "gitlab": "gitlab",
    "junit": "junit",
    "rdjson": "rdjson",
    "markdown": "markdown",
}
FORMATS = (*HUMAN, *MACHINE)
# empty documents that a reader of the format still expects when there was nothing to check
ALWAYS = frozenset(MACHINE) - {"jsonl", "github"}


def _files(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, Path]]:
    """The pairs of `--output FORMAT=FILE`."""
    found = []
    for value in values:
        name, equals, file = value.partition("=")
        if name not in FORMATS or not equals or not file:
            raise click.BadParameter(f"`{value}` is not FORMAT=FILE; the formats are {', '.join(FORMATS)}")
        found.append((name, Path(file)))
    return found


reporting = stacked(
    click.option(
        "--format", "output", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print."
    ),
    click.option(
        "--output",
        "files",
        multiple=True,
        metavar="FORMAT=FILE",
        callback=_files,
        help="Write a report to a file too; may be repeated.",
    ),
    click.option(
        "--annotate/--no-annotate",
        default=None,
        help="Add the annotations of GitHub to the text; the default in GitHub Actions.",
    ),
    click.option("--statistics", "counts", is_flag=True, help="Count the findings of each rule (text and concise)."),
    click.option("--quiet", "-q", is_flag=True, help="Print findings only."),
    click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same."),
)


def emit(report: Report, values: dict[str, Any], options: Options) -> None:
    """Print a report and write its files, as the options of `reporting` say."""
    output: str = values["output"]
    quiet: bool = values["quiet"]
    around = surroundings(options) if values["files"] or output in MACHINE or annotates(values) else None
    if not report.files and not quiet:
        write("dtypelint: no files to check\n", err=True)
    if report.files or output in ALWAYS:
        text = _printed(report, values, around)
        if annotates(values):
            from dtypelint.reports import github

            text = github.protected(text)
        write(text)
    for name, path in values["files"]:
        text = rendered(report, name, around) if around and name in MACHINE else _human(report, name, summary=True)
        try:
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise UserError(f"--output {name}={path}: cannot be written: {error.strerror or error}") from None
    if around and annotates(values):
        from dtypelint.reports import github

        write(github.group(report, around))


def annotates(values: dict[str, Any]) -> bool:
    """Whether annotations follow the text."""
    wanted: bool | None = values["annotate"]
    return values["output"] in HUMAN and (os.environ.get("GITHUB_ACTIONS") == "true" if wanted is None else wanted)


def surroundings(options: Options) -> Surroundings:
    """What the formats can know besides the findings."""
    from dtypelint.engine import reader
    from dtypelint.knowledge import Knowledge
    from dtypelint.reports.surroundings import Surroundings, base, blob

    return Surroundings(base(os.environ), Knowledge().rules, reader(options), blob(os.environ), __version__)


def rendered(report: Report, name: str, around: Surroundings) -> str:
    """The report in a format for other programs."""
    text: str = import_module(f"dtypelint.reports.{MACHINE[name]}").render(report, around)
    return text


def _printed(report: Report, values: dict[str, Any], around: Surroundings | None) -> str:
    if around and values["output"] in MACHINE:
        return rendered(report, values["output"], around)
    colored = common.color(values["no_color"])
    if values["counts"]:
        from dtypelint.reports import text

        return text.statistics(report, color=colored, summary=not values["quiet"])
    return _human(report, values["output"], colored=colored, summary=not values["quiet"], width=common.width())


def _human(report: Report, name: str, *, summary: bool, colored: bool = False, width: int | None = None) -> str:
    from dtypelint.reports import text

    render = text.concise if name == "concise" else text.render
    return render(report, color=colored, summary=summary, width=width)
