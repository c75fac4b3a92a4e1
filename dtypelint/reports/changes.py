"""What a run of the fixer changes, as a unified diff."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from dtypelint.reports.escape import visible
from dtypelint.reports.text import paint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.source import Source

NO_NEWLINE = "\\ No newline at end of file\n"
COLORS = {"+": "related", "-": "error", "@": "frame"}


def unified(path: str, before: Source, after: Source) -> str:
    """The diff of one file, as `patch` and `git apply -p0` take it."""
    return "".join(_lines(path, before, after))


def painted(path: str, before: Source, after: Source) -> str:
    """The diff for a terminal: in colours, without what could move its cursor."""
    lines = (line.rstrip("\r\n").replace("\t", "    ") for line in _lines(path, before, after))
    return paint([[(visible(line), COLORS.get(line[:1], ""))] for line in lines])


def _lines(path: str, before: Source, after: Source) -> Iterator[str]:
    name = visible(path)
    for line in difflib.unified_diff(_split(before.text), _split(after.text), name, name):
        yield line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:][: bool(lines[-1])]
