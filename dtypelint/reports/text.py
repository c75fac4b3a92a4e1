"""Findings for people: header, source, related places, help."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dtypelint.finding import Safety, Severity
from dtypelint.reports.escape import visible
from dtypelint.reports.snippet import LONG, Line, gutter, snippet
from dtypelint.reports.wrap import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dtypelint.finding import Finding, Report

LINK = "link "
NARROW = 20
# what stands left and right of a line that is cut, besides its number
FRAMED = " | ......"
STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "path": "bold",
    "frame": "blue",
    "related": "green",
    "help": "bold cyan",
    "quiet": "dim",
}


def render(report: Report, *, color: bool, summary: bool, width: int | None = None) -> str:
    """Every finding with its source lines, and the summary; for a terminal of a width."""
    lines: list[Line] = []
    for item in report.findings:
        lines += [*_finding(item, width), []]
    if summary:
        lines.append([(totals(report), "path")])
    return _shown(lines, color, width)


def finding(item: Finding) -> str:
    """One finding with its source lines, without colours."""
    return plain(_finding(item))


def concise(report: Report, *, color: bool, summary: bool, width: int | None = None) -> str:
    """One line for each finding, and the summary; for a terminal of a width."""
    lines = [_header(item) for item in report.findings]
    if summary:
        lines.append([(totals(report), "path")])
    return _shown(lines, color, width)


def statistics(report: Report, *, color: bool, summary: bool) -> str:
    """How often each rule was reported, and the summary."""
    found: dict[tuple[str, str, Severity], int] = {}
    for item in report.findings:
        key = (item.code, item.name, item.severity)
        found[key] = found.get(key, 0) + 1
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    size = max((len(str(count)) for count in found.values()), default=0)
    lines: list[Line] = [
        [(f"{count:>{size}}  ", "path"), (f"{code}  {name}  ", ""), (severity.value, severity.value)]
        for (code, name, severity), count in ordered
    ]
    if summary:
        lines.append([(totals(report), "path")])
    return paint(lines) if color else plain(lines)


def _shown(lines: list[Line], color: bool, width: int | None) -> str:
    if width is not None:
        lines = [piece for line in lines for piece in wrapped(line, width)]
    return paint(lines) if color else plain(lines)


def plain(lines: Iterable[Line]) -> str:
    """The lines without styles."""
    return "".join("".join(text for text, _ in line) + "\n" for line in lines)


def paint(lines: Iterable[Line]) -> str:
    """The lines in the colours of the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=True, highlight=False, soft_wrap=True)
    with console.capture() as capture:
        for line in lines:
            console.print(Text.assemble(*((text, _style(style)) for text, style in line)))
    return capture.get()


def _style(name: str) -> str:
    return name if name.startswith(LINK) else STYLES.get(name, "")


def page(text: str) -> str:
    """A rule page, rendered for the terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=io.StringIO(), force_terminal=True)
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get()


def _header(item: Finding) -> Line:
    place = item.position
    return [
        (f"{visible(place.file)}:{place.line}:{place.column}", "path"),
        (": ", ""),
        (f"{item.severity}[{item.code}]", item.severity.value),
        (f" {visible(item.message)}", ""),
    ]


def _finding(item: Finding, width: int | None = None) -> Iterator[Line]:
    yield _header(item)
    numbers = [item.position.end_line, *(note.position.line for note in item.related)]
    size = max(len(str(number)) for number in numbers) + 1
    room = LONG if width is None else max(NARROW, width - size - len(FRAMED))
    if item.source:
        yield gutter(size)
        yield from snippet(item.source, item.position, size, "^", item.severity.value, room)
    yield gutter(size)
    for note in item.related:
        place = note.position
        where = f"{visible(place.file)}:{place.line}:{place.column}"
        yield [*gutter(size, sign="="), (f" {where}", "path"), (f": {visible(note.message)}", "")]
        if note.source:
            yield from snippet(note.source, place, size, "-", "related", room)
            yield gutter(size)
    for word, text, style in _help(item, terminal=width is not None):
        yield [*gutter(size, sign="="), (f" {word}: ", "help"), (visible(text), style)]


def _help(item: Finding, *, terminal: bool) -> Iterator[tuple[str, str, str]]:
    """Words, text and style of each line of help; a terminal gets the address of the rule as a link."""
    if item.fix:
        yield "help", f"{item.fix.description} ({item.fix.safety} fix)", ""
    if item.fix_withheld:
        yield "fix withheld", item.fix_withheld, ""
    if terminal:
        yield "rule", f"{item.name}, dtypelint explain {item.code}", f"{LINK}{item.url}" if item.url else ""
    else:
        yield "rule", f"{item.name}, {item.url}" if item.url else item.name, ""


def number(count: int, word: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def totals(report: Report) -> str:
    """The counts of a report."""
    counts = [(severity, report.count(severity)) for severity in Severity]
    found = ", ".join(number(count, severity.value) for severity, count in counts if count) or "no findings"
    parts = [f"{found} in {number(report.files, 'file')}"]
    fixable = [(safety, report.fixable(safety)) for safety in Safety]
    if any(count for _, count in fixable):
        parts.append("fixable: " + ", ".join(f"{count} {safety}" for safety, count in fixable if count))
    if report.hidden:
        parts.append(f"{number(report.hidden, 'pedantic finding')} hidden (--pedantic)")
    if report.known:
        parts.append(f"{report.known} in the baseline")
    if report.unchanged:
        parts.append(f"{report.unchanged} on unchanged lines")
    return "; ".join(parts)
