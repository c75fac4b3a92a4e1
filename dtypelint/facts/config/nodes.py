"""The content of a configuration file as frozen nodes; a YAML anchor that is used twice is one node that is held twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dtypelint.finding import Span


class Type(StrEnum):
    """What a loader makes of a scalar; `UNKNOWN` is what another tool fills in: `auto`, `${…}`, null."""

    STRING = "string"
    BOOL = "bool"
    NUMBER = "number"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf: `text` is what it says, `quoted` whether it is written in quotes or as a block."""

    span: Span
    text: str
    type: Type
    quoted: bool = False

    @property
    def on(self) -> bool:
        """Whether it is a true boolean."""
        return self.type is Type.BOOL and self.text.lower() in ("true", "yes", "on", "y")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping. `shared` is true where the value is an alias, or came in through a merge."""

    name: str
    span: Span
    value: Node
    shared: bool = False
    duplicate: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """Keys with their values; `flow` for `{a: b}`, which every JSON object is."""

    span: Span
    entries: tuple[Entry, ...]
    flow: bool = False

    def get(self, name: str) -> Entry | None:
        """The entry of a key; the last one where a key is repeated, as loaders do it."""
        return next((entry for entry in reversed(self.entries) if entry.name == name), None)

    def scalar(self, *names: str) -> Scalar | None:
        """The leaf below a path of keys."""
        node: Node = self
        for name in names:
            entry = node.get(name) if isinstance(node, Mapping) else None
            if entry is None:
                return None
            node = entry.value
        return node if isinstance(node, Scalar) else None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """The items of a list."""

    span: Span
    items: tuple[Node, ...]


Node = Scalar | Mapping | Sequence


def mappings(root: Node) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """Every mapping once, with the keys that lead to it, outer ones first."""
    seen: set[int] = set()
    stack: list[tuple[tuple[str, ...], Node]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, Scalar) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Mapping):
            yield path, node
            stack += [((*path, entry.name), entry.value) for entry in reversed(node.entries)]
        else:
            stack += [(path, item) for item in reversed(node.items)]
