"""A project's own configuration files: precision keys that its code, which loads them, never looks up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

from dtypelint.facts import Role
from dtypelint.facts.config.nodes import Entry, Mapping, Scalar, Type, mappings
from dtypelint.facts.configs import ConfigKey, Fate
from dtypelint.facts.roles import Roles
from dtypelint.finding import Location, Related

WORD = re.compile(r"[A-Za-z_]\w*")
ANY = frozenset({Role.GENERAL, Role.OTHER})


@dataclass(frozen=True, slots=True)
class Known:
    """A field of a class that the code fills from a configuration file."""

    name: str
    place: Location
    owner: str


@dataclass(frozen=True, slots=True)
class Readers:
    """Who loads a file: the module, the words that stand anywhere in the code, the fields that are filled."""

    module: str
    words: frozenset[str]
    fields: tuple[Known, ...]


class Loads(Protocol):
    """What is known of the code that loads configuration files: see `python/loading.Loading`."""

    def is_loaded(self, path: str) -> bool: ...

    def readers(self, path: str) -> Readers | None: ...


class Own:
    """Judges the documents of unknown kind of one project; `quoted` gives the words that its other documents refer to."""

    def __init__(self, roles: Roles, loads: Loads, quoted: Callable[[], frozenset[str]]) -> None:
        self._roles = roles
        self._loads = loads
        self._quoted = quoted

    def is_loaded(self, path: str) -> bool:
        """Whether some code loads a file of this name."""
        return self._loads.is_loaded(path)

    def keys(self, path: str, document: Mapping) -> Iterator[ConfigKey]:
        """The precision keys that nothing looks up."""
        candidates = [
            (where, entry) for where, mapping in mappings(document) for entry in mapping.entries if self._is_one(entry)
        ]
        readers = self._loads.readers(path) if candidates else None
        if readers is None:
            return
        for where, entry in candidates:
            if entry.name not in readers.words and entry.name not in self._quoted():
                yield self._key(where, entry, document, readers)

    def _is_one(self, entry: Entry) -> bool:
        """Whether an entry sets a precision: by its value, or by its name where it is a flag."""
        value = entry.value
        if not isinstance(value, Scalar) or not WORD.fullmatch(entry.name):
            return False
        role = self._roles.role(entry.name)
        if value.type is Type.BOOL:
            return role is not None and role is not Role.OTHER
        return value.type is Type.STRING and role is not Role.OTHER and self._roles.dtype(value.text) is not None

    def _key(self, where: tuple[str, ...], entry: Entry, document: Mapping, readers: Readers) -> ConfigKey:
        assert isinstance(entry.value, Scalar)
        field = self._meant(entry.name, document, readers)
        related = (Related(field.place, f"`{field.name}` of `{field.owner}` is declared here"),) if field else ()
        return ConfigKey(
            path=".".join((*where, entry.name)),
            span=entry.span,
            value=entry.value.text,
            type=entry.value.type,
            value_span=entry.value.span,
            fate=Fate.UNREAD,
            kind="project",
            why="is read by nothing in this project",
            says=f"`{readers.module}` loads the file and drops the key",
            near=field.name if field else "",
            editable=False,
            sure=False,
            related=related,
        )

    def _meant(self, name: str, document: Mapping, readers: Readers) -> Known | None:
        """The field that was meant: nearly the same name, or the only one of the same role that the file does not set."""
        given = {entry.name for _, mapping in mappings(document) for entry in mapping.entries}
        free = {field.name: field for field in readers.fields if field.name not in given}
        close = get_close_matches(name, list(free), 1, 0.8)
        role = self._roles.role(name)
        same = [field for field in free.values() if role not in ANY and self._roles.role(field.name) is role]
        if close:
            return free[close[0]]
        return same[0] if len(same) == 1 else None
