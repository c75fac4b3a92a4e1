"""Which role a name carries, and which dtype a spelling means (`rules/roles.toml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dtypelint.facts import Role

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.\s]+")


@lru_cache(maxsize=65_536)
def tokens(name: str) -> tuple[str, ...]:
    """The lower-case words of a name: cut at underscores, dashes, dots and camel-case humps."""
    return tuple(t.lower() for t in _HUMP.split(name) if t)


class Roles:
    """The names and spellings of `roles.toml`."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._dtype_words = frozenset(table["dtype_words"])
        self._owner_words = frozenset(table["owner_words"])
        self._neutral = frozenset(table["neutral_words"])
        self._derived = frozenset(table["derived_words"])
        self._roles = [
            (
                Role(entry["name"]),
                tuple(tuple(w.split("_")) for w in entry.get("words", ())),
            )
            for entry in table["role"]
        ]
        self._spellings = {s.lower(): dtype for dtype, several in table["spellings"].items() for s in several}
        self._flags = {s: dtype for dtype, several in table["flags"].items() for s in several}
        self._hardware = {w: dtype for dtype, several in table["hardware"].items() for w in several}
        self._exact = {
            name: Role(entry["name"]) for entry in reversed(table["role"]) for name in entry.get("names", ())
        }
        self._exact |= {name: Role(role) for name, role in table.get("own", {}).items()}
        self._known: dict[tuple[str, str], Role | None] = {}

    def dtype(self, spelling: str) -> str | None:
        """The canonical dtype that a string spells."""
        return self._spellings.get(spelling.lower())

    def named_dtypes(self, name: str) -> frozenset[str]:
        """The dtypes that the words of a name or text speak of: `is_bf16_supported`, `amp_bf16`, `float16`."""
        whole = self.dtype(name)
        if whole is not None:
            return frozenset({whole})
        words = tokens(name)
        found = {d for w in words if len(w) > 2 and (d := self._spellings.get(w)) is not None}
        return frozenset(found | {d for w in words if (d := self._hardware.get(w)) is not None})

    def flag(self, name: str) -> str | None:
        """The dtype that a flag of this name turns on."""
        return self._flags.get(name.lower().lstrip("-").replace("-", "_"))

    def role(self, name: str, owner: str = "") -> Role | None:
        """The role of a setting's name; `owner` is the name of the class or key that holds it. None: not about precision."""
        key = (name, owner)
        if key not in self._known:
            self._known[key] = self._role(tokens(name), name, owner)
        return self._known[key]

    def alike(self, one: str, other: str) -> bool:
        """Whether two names of fp8 settings say the same: `use_fp8_comm` and `fp8_communication`."""
        first, second = ([w for w in tokens(name) if w not in self._neutral] for name in (one, other))
        if len(first) != len(second) or len(first) < 2 or not {"fp8", "float8"}.intersection(first):
            return False
        return all(any(_abbreviates(a, b) for b in second) for a in first)

    def names_policy(self, name: str) -> bool:
        """Whether a name is that of a whole policy, or of the precision of a run."""
        words = [w for w in tokens(name) if w not in self._neutral and w not in ("plugin", "recipe")]
        return name == "mp_policy" or words == ["precision"]

    def _role(self, words: tuple[str, ...], name: str, owner: str) -> Role | None:
        exact = self._exact.get(name)
        if exact is not None:
            return exact
        named = any(w in self._dtype_words for w in words)
        owned = bool(owner) and any(t in self._owner_words for t in tokens(owner))
        if not named and not owned and "mp" not in words[:1]:
            return None
        if any(w in self._derived for w in words):
            return None
        for role, runs in self._roles:
            if any(_has(words, run) for run in runs):
                return role
        if not named:
            return None
        rest = [w for w in words if w not in self._dtype_words and w not in self._neutral]
        return Role.OTHER if rest else Role.GENERAL


def _has(words: tuple[str, ...], run: tuple[str, ...]) -> bool:
    if len(run) == 1:
        return run[0] in words
    return any(words[i : i + len(run)] == run for i in range(len(words) - len(run) + 1))


def _abbreviates(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) > 3 and long.startswith(short))
