"""Source lines with numbers and carets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtypelint.reports.escape import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Position

Line = list[tuple[str, str]]

FRAME = "frame"
CODE = "code"
MOST = 6
LONG = 200
BEFORE = 40


def gutter(size: int, text: str = "", sign: str = "|") -> Line:
    """The left edge of a line: its number, and the frame."""
    return [(f"{text:>{size}} {sign}", FRAME)]


def snippet(source: str, position: Position, size: int, mark: str, style: str, room: int = LONG) -> Iterator[Line]:
    """The lines of a span, each underlined where the span covers it; a long span loses its middle, a long line its ends."""
    lines = source.split("\n")
    last = position.end_line - position.line
    kept = range(last + 1) if last < MOST else [*range(MOST - 2), last]
    before = -1
    for index in kept:
        if index >= len(lines):
            break
        if index > before + 1:
            yield [(f"{'...':>{size}}", FRAME)]
        before = index
        text = lines[index]
        indent = len(text) - len(text.lstrip())
        start = position.column - 1 if index == 0 else indent
        stop = position.end_column - 1 if index == last else len(text.rstrip())
        if last == 0:
            stop = max(stop, start + 1)
        yield from _marked(text, start, stop, size, str(position.line + index), mark, style, room)
    if before != last:
        yield [(f"{'...':>{size}}", FRAME)]


def _marked(
    text: str, start: int, stop: int, size: int, number: str, mark: str, style: str, room: int
) -> Iterator[Line]:
    first = max(0, start - min(BEFORE, room // 4)) if len(text) > room else 0
    cut = text[first : first + room]
    shown, starts = columns(cut)
    left = "..." if first else ""
    right = "..." if first + room < len(text) else ""
    yield [*gutter(size, number), (f" {left}{shown}{right}".rstrip(), CODE)]
    begin = starts[min(max(start - first, 0), len(cut))]
    end = starts[min(max(stop - first, 0), len(cut))]
    if stop > start:
        yield [*gutter(size), (" " * (1 + len(left) + begin), CODE), (mark * max(1, end - begin), style)]
