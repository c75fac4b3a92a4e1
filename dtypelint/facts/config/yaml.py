"""YAML to nodes, as the loaders of YAML 1.1 see it: `no` is false, merges are merged, the last of two keys wins.

An alias becomes the very node of its anchor, so that a bomb of anchors stays as small as its text; what holds itself or stands
for a million values is refused.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from dtypelint.facts.config.nodes import Entry, Mapping, Node, Scalar, Sequence, Type
from dtypelint.finding import Span
from dtypelint.source import Unreadable

# PyYAML's resolver: what accelerate, transformers, OmegaConf and most loaders use
BOOL = re.compile(r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF")
NULL = re.compile(r"~|null|Null|NULL|")
NUMBER = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+][0-9]+)?)?|\.[0-9_]+|0x[0-9a-fA-F_]+|\.inf|\.nan)")
UNKNOWN = re.compile(r"auto|\s*|.*(?:\$\{|\{\{|\{%).*", re.DOTALL)
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[{\]}]')
DEEPEST = 100
LARGEST = 1_000_000


def read(text: str) -> tuple[Node, ...]:
    """The documents of a text; `Unreadable` when it is no YAML or nested too deeply."""
    refuse_depth(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            documents = list(YAML(typ="safe", pure=True).compose_all(io.StringIO(text)))
        make = _Maker(text)
        return tuple(make.node(document) for document in documents if document is not None)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(mark.line + 1 if mark else 1, f"does not parse as YAML: {error.problem}") from None
    except (YAMLError, ValueError) as error:
        raise Unreadable(1, f"does not parse as YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Unreadable(1, "nested too deeply") from None


def refuse_depth(text: str, *, blocks: bool = True) -> None:
    """Refuse what would take a parser down: brackets inside of brackets, and blocks inside of blocks."""
    depth = 0
    for match in BRACKET.finditer(text):
        if match[0][0] == '"':
            continue
        depth = max(0, depth + (1 if match[0] in "[{" else -1))
        if depth > DEEPEST:
            raise Unreadable(text.count("\n", 0, match.start()) + 1, "nested too deeply")
    indents = [-1]
    for number, line in enumerate(text.split("\n") if blocks else (), 1):
        content = line.lstrip(" ")
        if content and content[0] not in "#\r":
            indent = len(line) - len(content)
            while indent <= indents[-1]:
                indents.pop()
            indents.append(indent)
            if len(indents) > DEEPEST:
                raise Unreadable(number, "nested too deeply")


class _Maker:
    """Turns the nodes of one text; each node once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offsets = None if text.isascii() else [0, *accumulate(len(each.encode()) for each in text)]
        self._made: dict[int, Node] = {}
        self._open: set[int] = set()
        self._sizes: dict[int, int] = {}

    def _span(self, node: Any) -> Span:
        start, end = node.start_mark.index, node.end_mark.index
        if properties := PROPERTIES.match(self._text, start, end):
            start = properties.end()
        if not isinstance(node, ScalarNode):
            end = start + len(self._text[start:end].rstrip())
        if self._offsets is None:
            return Span(start, min(end, len(self._text)))
        return Span(self._offsets[start], self._offsets[min(end, len(self._text))])

    def node(self, node: Any) -> Node:
        key = id(node)
        if key in self._open:
            raise Unreadable(node.start_mark.line + 1, "not checked: an anchor holds itself")
        if key not in self._made:
            self._open.add(key)
            made = self._made[key] = self._make(node)
            self._open.discard(key)
            self._sizes[key] = 1 + sum(self._sizes.get(id(child), 1) for child in _children(node))
            if self._sizes[key] > LARGEST:
                raise Unreadable(node.start_mark.line + 1, f"not checked: its anchors stand for over {LARGEST} values")
            return made
        return self._made[key]

    def _make(self, node: Any) -> Node:
        if isinstance(node, MappingNode):
            return Mapping(self._span(node), tuple(self._entries(node)), bool(node.flow_style))
        if isinstance(node, SequenceNode):
            return Sequence(self._span(node), tuple(self.node(item) for item in node.value))
        return Scalar(self._span(node), node.value, _type(node), node.style is not None)

    def _entries(self, node: Any) -> list[Entry]:
        merged: list[Entry] = []
        own: list[Entry] = []
        names: set[str] = set()
        for key, value in node.value:
            # the node of an alias lies where its anchor is
            shared = value.start_mark.index < key.start_mark.index
            if isinstance(key, ScalarNode) and key.value == "<<" and key.style is None:
                merged += self._merged(value)
            elif isinstance(key, ScalarNode):
                quoted = key.style is not None
                own.append(Entry(key.value, self._span(key), self.node(value), shared, key.value in names, quoted))
                names.add(key.value)
        return [*(entry for entry in merged if entry.name not in names), *own]

    def _merged(self, value: Any) -> list[Entry]:
        several = value.value if isinstance(value, SequenceNode) else [value]
        found: dict[str, Entry] = {}
        for each in several:
            made = self.node(each)
            if isinstance(made, Mapping):
                for entry in made.entries:
                    found.setdefault(entry.name, Entry(entry.name, entry.span, entry.value, shared=True))
        return list(found.values())


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, MappingNode):
        yield from (child for _, child in node.value)
    elif isinstance(node, SequenceNode):
        yield from node.value


def _type(node: Any) -> Type:
    text = node.value
    if node.style is None and NULL.fullmatch(text):
        return Type.UNKNOWN
    if UNKNOWN.fullmatch(text):
        return Type.UNKNOWN
    if node.style is None and BOOL.fullmatch(text):
        return Type.BOOL
    if node.style is None and NUMBER.fullmatch(text):
        return Type.NUMBER
    return Type.STRING
