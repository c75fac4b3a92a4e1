"""Markdown for a job summary or a comment: a table of the findings, then each with its code and its fix as a diff."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

from dtypelint.reports import text
from dtypelint.reports.escape import columns, visible
from dtypelint.reports.patch import diff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Finding, Position, Report
    from dtypelint.reports.surroundings import Surroundings

# GitHub drops a job summary of more than 1,024 kB as a whole
LIMIT = 900_000
TABLE = 300_000
SPECIAL = re.compile(r"([\\*_\[\]#~|!$@])")
# a line of a log that GitHub Actions would run
COMMAND = re.compile(r"^\s*::|##\[")
LANGUAGES = {"py": "python", "pyi": "python", "ipynb": "python", "yaml": "yaml", "yml": "yaml", "json": "json"}
HEAD = "| | where | rule | what |\n| --- | --- | --- | --- |\n"


def render(report: Report, around: Surroundings) -> str:
    """The whole report, cut with a count where a job summary would be too long."""
    title = f"## dtypelint: {text.totals(report)}\n\n"
    if not report.findings:
        return title
    rows = [_row(finding, around) for finding in report.findings]
    kept = _fitting(rows, TABLE)
    more = [_more(len(rows) - len(kept), "in this table")] if len(kept) < len(rows) else []
    head = "".join([title, HEAD, *kept, "\n", *more])
    details = _fitting((_details(finding, around) for finding in report.findings), LIMIT - len(head.encode()) - 200)
    left = len(report.findings) - len(details)
    tail = [_more(left, "in detail")] if left else []
    return "".join([head, *details, *tail])


def _more(count: int, where: str) -> str:
    return f"{text.number(count, 'more finding')} not shown {where}: see the log.\n\n"


def _fitting(parts: Iterator[str] | list[str], limit: int) -> list[str]:
    kept: list[str] = []
    for part in parts:
        limit -= len(part.encode())
        if limit < 0:
            break
        kept.append(part)
    return kept


def inline(words: str) -> str:
    """Text for a line or a cell: what stands in backticks stays code, all else is plain."""
    parts = visible(words).split("`")
    code = len(parts) % 2 == 1
    shown = [
        part.replace("|", "\\|")
        if code and number % 2
        else SPECIAL.sub(r"\\\1", part).replace("&", "&amp;").replace("<", "&lt;")
        for number, part in enumerate(parts)
    ]
    return ("`" if code else "\\`").join(shown)


def fenced(code: str, language: str) -> str:
    """A block of code; its fence is longer than any in it."""
    lines = [COMMAND.sub(r"\\\g<0>", columns(line.rstrip("\r"))[0]) for line in code.split("\n")]
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence]) + "\n\n"


def _place(position: Position, around: Surroundings) -> str:
    cell = "" if position.cell is None else f"cell {position.cell}:"
    where = inline(f"{around.path(position.path)}:{cell}{position.line}")
    link = around.link(position.path, position.lines[0])
    return f"[{where}]({link})" if link else where


def _language(path: str) -> str:
    return LANGUAGES.get(path.rpartition(".")[2], "")


def _rule(finding: Finding) -> str:
    return f"[{finding.code}]({finding.url})" if finding.url else finding.code


def _row(finding: Finding, around: Surroundings) -> str:
    cells = (finding.severity.value, _place(finding.position, around), _rule(finding), inline(finding.message))
    return f"| {' | '.join(cells)} |\n"


def _details(finding: Finding, around: Surroundings) -> str:
    place = finding.position
    what = f"**{finding.severity}** {_rule(finding)} `{finding.name}`: {inline(finding.message)}"
    parts = [f"### {_place(place, around)}\n\n{what}\n\n"]
    if finding.source:
        parts.append(fenced(dedent(finding.source), _language(place.path)))
    for note in finding.related:
        parts.append(f"{_place(note.position, around)}: {inline(note.message)}\n\n")
        if note.source:
            parts.append(fenced(dedent(note.source), _language(note.position.path)))
    if finding.fix:
        parts.append(f"Fix ({finding.fix.safety}): {inline(finding.fix.description)}\n\n")
        if changes := diff(finding.fix, around):
            parts.append(fenced(changes, "diff"))
    if finding.fix_withheld:
        parts.append(f"Fix withheld: {inline(finding.fix_withheld)}\n\n")
    return "".join(parts)
