"""Styled lines, broken between words where a terminal is too narrow for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dtypelint.reports.escape import width as columns
from dtypelint.reports.snippet import FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.reports.snippet import Line

WORD = re.compile(r"\s*\S+|\s+$")
HANG = 2


def wrapped(line: Line, width: int) -> Iterator[Line]:
    """A line in pieces; the following ones hang below its first word. Code stays whole: it was cut for the width before."""
    framed = bool(line) and line[0][1] == FRAME
    if framed and not line[0][0].endswith("="):
        yield line
        return
    hang = size(line[0][0]) + 1 if framed else HANG
    piece: Line = []
    used = 0
    for text, style in line:
        for match in WORD.finditer(text):
            word = match[0]
            if used + size(word) > width and used > hang and word[0] == " ":
                yield piece
                word = word.lstrip()
                piece, used = [(" " * hang, "")], hang
            piece.append((word, style))
            used += size(word)
    yield piece


def size(text: str) -> int:
    """The terminal columns of a text that is visible."""
    return sum(map(columns, text))
