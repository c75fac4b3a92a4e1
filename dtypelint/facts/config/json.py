"""JSON to nodes with positions: a scanner that keeps its own stack, so that no depth can take it down."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import accumulate

from dtypelint.facts.config.nodes import Entry, Mapping, Node, Scalar, Sequence, Type
from dtypelint.facts.config.yaml import UNKNOWN
from dtypelint.finding import Span
from dtypelint.source import Unreadable

TOKEN = re.compile(
    r"""[ \t\r\n]*(?:(?P<mark>[\[\]{},:])|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<word>[-+.\w]+)|(?P<end>\Z))"""
)
WORDS = {"true": Type.BOOL, "false": Type.BOOL, "null": Type.UNKNOWN}
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|-?Infinity|NaN")
DEEPEST = 100


@dataclass(slots=True)
class _Open:
    """An object or array that is being read; `key` waits for its value, `comma` for the next item."""

    start: int
    is_object: bool
    entries: list[Entry] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    key: Scalar | None = None
    colon: bool = False
    comma: bool = False


def read(text: str) -> Node:
    """The value of a text; `Unreadable` when it is no JSON or nested too deeply."""
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offsets = None if text.isascii() else [0, *accumulate(len(each.encode()) for each in text)]
        self._place = 0
        self._stack: list[_Open] = []

    def _span(self, start: int, end: int) -> Span:
        return Span(start, end) if self._offsets is None else Span(self._offsets[start], self._offsets[end])

    def _fail(self, reason: str) -> Unreadable:
        return Unreadable(self._text.count("\n", 0, self._place) + 1, reason)

    def run(self) -> Node:
        result: Node | None = None
        while True:
            match = TOKEN.match(self._text, self._place)
            if match is None or (match["end"] is not None and (self._stack or result is None)):
                raise self._fail("does not parse as JSON")
            if match["end"] is not None:
                assert result is not None
                return result
            node = self._token(match)
            self._place = match.end()
            if node is not None and not self._stack:
                if result is not None:
                    raise self._fail("does not parse as JSON: more than one value")
                result = node
            elif node is not None:
                self._add(node)

    def _token(self, match: re.Match[str]) -> Node | None:
        """The node that a token completes, if any."""
        start = match.end() - len(match[0].lstrip(" \t\r\n"))
        if match["string"] is not None:
            try:
                text = json.loads(match["string"])
            except ValueError:
                raise self._fail("does not parse as JSON: a bad escape") from None
            kind = Type.UNKNOWN if UNKNOWN.fullmatch(text) else Type.STRING
            return Scalar(self._span(start, match.end()), text, kind, quoted=True)
        if match["word"] is not None:
            word = match["word"]
            if word not in WORDS and not NUMBER.fullmatch(word):
                raise self._fail(f"does not parse as JSON: `{word[:40]}`")
            return Scalar(self._span(start, match.end()), word, WORDS.get(word, Type.NUMBER))
        mark = match["mark"]
        if mark in "[{":
            if len(self._stack) >= DEEPEST:
                raise self._fail("nested too deeply")
            self._stack.append(_Open(start, mark == "{"))
            return None
        top = self._stack[-1] if self._stack else None
        if top is None:
            raise self._fail("does not parse as JSON")
        if mark in "]}":
            return self._close(top, mark, match.end())
        if mark == ":" and top.key is not None and not top.colon:
            top.colon = True
        elif mark == "," and top.comma and top.key is None:
            top.comma = False
        else:
            raise self._fail(f"does not parse as JSON: an unexpected `{mark}`")
        return None

    def _close(self, top: _Open, mark: str, end: int) -> Node:
        trailing = bool(top.entries or top.items) and not top.comma
        if (mark == "}") is not top.is_object or top.key is not None or trailing:
            raise self._fail(f"does not parse as JSON: an unexpected `{mark}`")
        self._stack.pop()
        span = self._span(top.start, end)
        return Mapping(span, tuple(top.entries), flow=True) if top.is_object else Sequence(span, tuple(top.items))

    def _add(self, node: Node) -> None:
        top = self._stack[-1]
        if top.comma:
            raise self._fail("does not parse as JSON: a comma is missing")
        if not top.is_object:
            top.items.append(node)
            top.comma = True
        elif top.key is None:
            if not isinstance(node, Scalar) or not node.quoted:
                raise self._fail("does not parse as JSON: a key is no string")
            top.key = node
        elif not top.colon:
            raise self._fail("does not parse as JSON: a colon is missing")
        else:
            name = top.key.text
            top.entries.append(Entry(name, top.key.span, node, duplicate=name in top.names, quoted=True))
            top.names.add(name)
            top.key, top.colon, top.comma = None, False, True
