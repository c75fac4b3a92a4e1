"""Python text to a syntax tree with exact spans.

The tree is the standard library's: its positions are UTF-8 columns of the text itself and cost nothing. It never leaves this
package; what a fix edits is laid out from libcst (`layout`).
"""

from __future__ import annotations

import ast
import re
import warnings

from dtypelint.finding import Span
from dtypelint.source import Unreadable

_LINE_END = re.compile(rb"\r\n|\r|\n")


class Tree:
    """The parsed text of one file; `path` is posix and relative to the project root."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.data = text.encode("utf-8")
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(self.data))]
        self.root = parse(text)

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a 1-based line and a UTF-8 column, as `ast` gives them."""
        return self.starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler | ast.alias) -> Span:
        return Span(
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
        )

    def source(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
        """The text of a node as it was written."""
        span = self.span(node)
        return self.data[span.start : span.end].decode("utf-8")


def parse(text: str) -> ast.Module:
    """The syntax tree of a text without its byte order mark; `Unreadable` when Python refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unreadable(error.lineno or 1, f"does not parse: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise Unreadable(1, "nested too deeply") from error
    except ValueError as error:
        raise Unreadable(1, f"does not parse: {error}") from error
