"""One file: bytes to text by its encoding declaration, and spans to lines and columns."""

from __future__ import annotations

import codecs
import io
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from tokenize import detect_encoding
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Position, Span

NEWLINE = re.compile(rb"\r\n|\n|\r")
WIDE_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unreadable(Exception):
    """A file that cannot be analysed: the line where it shows, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


@dataclass(frozen=True)
class Source:
    """Decoded text. Offsets count the UTF-8 bytes of `text`, which has no byte order mark and keeps its newlines."""

    path: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False

    @cached_property
    def data(self) -> bytes:
        """The text in UTF-8."""
        return self.text.encode()

    def encoded(self) -> bytes:
        """The content of the file: in its encoding, with its byte order mark."""
        return (codecs.BOM_UTF8 if self.bom else b"") + self.text.encode(self.encoding)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of the first byte of each line."""
        return (0, *(match.end() for match in NEWLINE.finditer(self.data)))

    @property
    def newline(self) -> str:
        """The first newline of the file, or the usual one where there is none."""
        match = NEWLINE.search(self.data)
        return match[0].decode() if match else "\n"

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line, and column in code points."""
        if not 0 <= offset <= len(self.data):
            raise ValueError(f"offset {offset} is outside of {self.path}")
        line = bisect_right(self.starts, offset)
        return line, len(self.data[self.starts[line - 1] : offset].decode()) + 1

    def offset(self, line: int, column: int) -> int:
        """The inverse of `position`."""
        end = self.starts[line] if line < len(self.starts) else len(self.data)
        text = self.data[self.starts[line - 1] : end].decode()
        if not 1 <= column <= len(text) + 1:
            raise ValueError(f"{self.path} has no column {column} in line {line}")
        return self.starts[line - 1] + len(text[: column - 1].encode())

    def start(self, position: Position) -> int:
        """The offset at which a position begins."""
        return self.offset(position.line, position.column)

    def line(self, number: int) -> str:
        """A line without its newline."""
        end = self.starts[number] if number < len(self.starts) else len(self.data)
        return self.data[self.starts[number - 1] : end].decode().rstrip("\r\n")

    def slice(self, span: Span) -> str:
        """The text of a span."""
        return self.data[span.start : span.end].decode()


class Skipped(Unreadable):
    """A file that is left out on purpose: worth a note."""


def decode(data: bytes, path: str) -> Source:
    """The source of a Python file, or `Unreadable`."""
    if data.startswith(WIDE_BOMS):
        raise Unreadable(1, "encoded in UTF-16 or UTF-32, which Python does not read")
    if b"\0" in data:
        raise Unreadable(_line(data, data.index(b"\0")), "holds a NUL byte")
    encoding = _encoding(data)
    bom = encoding == "utf-8-sig"
    try:
        text = data.decode(encoding)
        text.encode()
    except UnicodeDecodeError as error:
        raise Unreadable(_line(data, error.start), f"not in its encoding {encoding}: {error.reason}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise Unreadable(line, f"decoded as {encoding}, it holds half a surrogate pair") from None
    except LookupError:
        raise Unreadable(1, f"{encoding} is not an encoding of text") from None
    return Source(path, text, "utf-8" if bom else encoding, bom)


def decode_config(data: bytes, path: str, most: int) -> Source:
    """The source of a configuration file, which is UTF-8 and not larger than `most` bytes."""
    if len(data) > most:
        raise Skipped(1, f"not checked: larger than {most // 1000} kB")
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        return Source(path, data.decode("utf-8-sig"), bom=bom)
    except UnicodeDecodeError as error:
        raise Skipped(_line(data, error.start), f"not checked: not in UTF-8: {error.reason}") from None


def _encoding(data: bytes) -> str:
    try:
        return detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if "missing" in str(error.msg):
            return "utf-8"
        raise Unreadable(1, str(error.msg).partition(" for ")[0]) from None


def _line(data: bytes, offset: int) -> int:
    return len(NEWLINE.findall(data, 0, offset)) + 1
