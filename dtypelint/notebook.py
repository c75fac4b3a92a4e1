"""Jupyter notebooks: their code cells as one Python text, and the way back to cells and to the lines of the file."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NamedTuple

from dtypelint.source import Skipped, Source, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Position

SUFFIX = ".ipynb"
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|\n|[^\s\[\]{}:,"]+')
# cell magics whose body is Python
PYTHON_CELL = re.compile(r"%%(?:time|timeit|capture|prun|python3?)\b")
MAGIC = re.compile(r"\s*(?:[%!?]|[^#'\"=(\[]*[\w*]\?{1,2}\s*$)")
# IPython takes these for magics without their sign
AUTOMAGIC = re.compile(r"\s*(?:pip3?|conda|mamba|uv) +[a-z]")
ASSIGNED = re.compile(r"(?P<target>\s*[A-Za-z_][\w.,\s\[\]]*=\s*)(?:!|%[A-Za-z])")
CODE = re.compile(
    r"""(?P<long>\"{3}|'{3})|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\#.*|(?P<open>[\[({])|(?P<close>[\])}])"""
)


class Cell(NamedTuple):
    """A code cell: its number among all cells, its first line in the text, and its text as the file holds it, in pieces."""

    number: int
    first: int
    pieces: tuple[str, ...]


class Place(NamedTuple):
    """A line of the text: its cell, its line there, and its line in the file."""

    cell: int
    line: int
    stored: int


@dataclass(frozen=True)
class Notebook(Source):
    """The code cells of a notebook as one text, in which magics are made harmless; `stored` is the text of the file."""

    cells: tuple[Cell, ...] = ()
    stored: str = ""

    def start(self, position: Position) -> int:
        """The offset at which a position begins."""
        first = next((cell.first for cell in self.cells if cell.number == position.cell), 1)
        return self.offset(first + position.line - 1, position.column)

    def place(self, line: int) -> Place:
        """Where a line of the text is found."""
        index = bisect_right([cell.first for cell in self.cells], line) - 1
        if index < 0:
            return Place(1, 1, 1)
        cell, stored = self.cells[index], self.stored_lines[index]
        inner = min(line - cell.first, len(stored) - 1)
        return Place(cell.number, inner + 1, stored[inner])

    @cached_property
    def stored_lines(self) -> tuple[tuple[int, ...], ...]:
        """The line in the file for each line of each code cell."""
        strings = _sources(self.stored)
        return tuple(_stored(cell.pieces, strings[cell.number - 1]) for cell in self.cells)


def is_notebook(name: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return name.lower().endswith(SUFFIX)


def decode_notebook(data: bytes, path: str) -> Notebook:
    """The source of a notebook; `Unreadable` where it is none, `Skipped` where it is too old."""
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8-sig")
        document = json.loads(text)
    except UnicodeDecodeError as error:
        raise Unreadable(data.count(b"\n", 0, error.start) + 1, f"not in UTF-8: {error.reason}") from None
    except JSONDecodeError as error:
        raise Unreadable(error.lineno, f"not valid JSON: {error.msg}") from None
    except RecursionError:
        raise Unreadable(1, "nested too deeply") from None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        if isinstance(document, dict) and "worksheets" in document:
            raise Skipped(1, "not checked: a notebook in a format older than 4")
        raise Unreadable(1, "not a notebook: it has no cells")
    if _language(document) not in ("", "python", "ipython"):
        return Notebook(path, "", bom=bom, stored=text)
    return _joined(path, text, cells, bom)


def _language(document: dict[str, Any]) -> str:
    metadata = document.get("metadata")
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(part, dict) and isinstance(part.get(name), str):
            return str(part[name]).lower()
    return ""


def _joined(path: str, text: str, cells: list[Any], bom: bool) -> Notebook:
    lines: list[str] = []
    found = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            pieces = _pieces(cell.get("source"))
            found.append(Cell(number, len(lines) + 1, pieces))
            lines += harmless("".join(pieces).split("\n"))
    return Notebook(path, "".join(f"{line}\n" for line in lines), bom=bom, cells=tuple(found), stored=text)


def _pieces(source: Any) -> tuple[str, ...]:
    """The pieces of a cell's text, with Python's newlines; the surrogates that JSON can spell are no text."""
    pieces = source if isinstance(source, list) else [source]
    return tuple(
        re.sub(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", piece).encode("utf-8", "replace").decode()
        for piece in pieces
        if isinstance(piece, str)
    )


def _stored(source: tuple[str, ...], stored: list[int]) -> tuple[int, ...]:
    """The line in the file for each line of a cell."""
    starts: list[int] = []
    fresh = True
    for piece, line in zip(source, stored, strict=False):
        for part in piece.splitlines(keepends=True):
            if fresh:
                starts.append(line)
            fresh = part.endswith("\n")
    return (*starts, stored[-1] if stored else 1) if fresh else tuple(starts)


def _sources(text: str) -> defaultdict[int, list[int]]:
    """The lines on which the strings of each cell's `source` stand. The text is valid JSON."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for path, line in _strings(text):
        if path[0] == "cells" and path[2:3] == ["source"] and len(path) <= 4:
            found[int(path[1])].append(line)
    return found


def _strings(text: str) -> Iterator[tuple[list[str | int], int]]:
    """Where each string of a JSON text stands: the keys and numbers that lead to it, and its line."""
    line = 1
    path: list[str | int] = []
    named = False
    for match in TOKEN.finditer(text):
        word = match[0]
        if word == "\n":
            line += 1
        elif word in "[{":
            path.append(0 if word == "[" else "")
            named = False
        elif word in "]}":
            path.pop()
        elif word == ",":
            number = path[-1]
            path[-1] = number + 1 if isinstance(number, int) else ""
            named = False
        elif word == ":":
            named = True
        elif word[0] == '"' and path:
            if isinstance(path[-1], int) or named:
                yield path, line
            else:
                path[-1] = json.loads(word)


def harmless(lines: list[str]) -> list[str]:
    """The lines of a cell with magics and shell commands replaced by code that does nothing; their number stays."""
    if lines and lines[0].lstrip().startswith("%%"):
        if not PYTHON_CELL.match(lines[0].lstrip()):
            return [""] * len(lines)
        lines = ["", *lines[1:]]
    shown = []
    depth, quote, continued, magic = 0, "", False, False
    for line in lines:
        begins = not (depth or quote or continued)
        if magic or (begins and (MAGIC.match(line) or AUTOMAGIC.match(line))):
            indent = line[: len(line) - len(line.lstrip())]
            shown.append("" if magic else f"{indent}pass")
            magic = line.endswith("\\")
            continue
        assigned = ASSIGNED.match(line) if begins else None
        if assigned:
            shown.append(f"{assigned['target']}None")
            magic = line.endswith("\\")
            continue
        shown.append(line)
        depth, quote = _scan(line, depth, quote)
        continued = not quote and line.endswith("\\")
    return shown


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How deep in brackets and in which long string a line ends."""
    place = 0
    while place < len(line):
        if quote:
            end = re.compile(rf"(?:[^\\]|\\.)*?{quote}").match(line, place)
            if not end:
                return depth, quote
            place, quote = end.end(), ""
            continue
        match = CODE.search(line, place)
        if not match:
            break
        place = match.end()
        if match["long"]:
            quote = match["long"]
        depth = max(0, depth + bool(match["open"]) - bool(match["close"]))
    return depth, quote
