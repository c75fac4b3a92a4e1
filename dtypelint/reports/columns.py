"""Columns as other tools count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.source import Source


def _before(source: Source | None, line: int, column: int) -> str:
    if source is None or line > len(source.starts):
        return " " * (column - 1)
    return source.line(line)[: column - 1].ljust(column - 1)


def in_utf16(source: Source | None, line: int, column: int) -> int:
    """A column of code points in UTF-16 units; as it is where the text cannot be had."""
    return len(_before(source, line, column).encode("utf-16-le", "surrogatepass")) // 2 + 1


def in_utf8(source: Source | None, line: int, column: int) -> int:
    """A column of code points in UTF-8 bytes; as it is where the text cannot be had."""
    return len(_before(source, line, column).encode("utf-8", "surrogatepass")) + 1
