"""TOML with a fixed vocabulary: every key that is unknown or has another type is an error that names file and line."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, NoReturn

from dtypelint.errors import UserError, near

if TYPE_CHECKING:
    from collections.abc import Iterator


class Table:
    """One table of a TOML file; the getters take keys, `done` refuses what is left."""

    def __init__(self, values: dict[str, Any], file: str, text: str, where: str = "", first: int = 0) -> None:
        self.values = values
        self.file = file
        self.where = where
        self._text = text
        self._first = first
        self._asked: set[str] = set()

    def fail(self, message: str, key: str = "") -> NoReturn:
        """Refuse the file; the line is that of the key where it is written plainly."""
        pattern = re.compile(
            rf"""^\s*(\[+[^\]\n]*|[^#\n]*[.{{,]\s*)?["']?\b{re.escape(key)}\b["']?\s*[=.\]]""", re.MULTILINE
        )
        found = pattern.search(self._text) if key else None
        line = f":{self._first + self._text.count(chr(10), 0, found.end()) + 1}" if found else ""
        raise UserError(f"{self.file}{line}: {message}")

    def _take(self, key: str, kind: type, word: str) -> Any:
        self._asked.add(key)
        value = self.values.get(key)
        if value is not None and type(value) is not kind:
            self.fail(f"`{self.where}{key}` must be {word}", key)
        return value

    def string(self, key: str) -> str | None:
        """A string, or None where the key is missing."""
        value: str | None = self._take(key, str, "a string")
        return value

    def needed(self, key: str) -> str:
        """A string that may not be missing."""
        value = self.string(key)
        if not value:
            self.fail(f"`{self.where}{key}` is missing")
        return value

    def versions(self, key: str = "versions") -> str:
        """A range of versions; an empty one stands for every release."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        word = self.string(key) or ""
        try:
            SpecifierSet(word)
        except InvalidSpecifier:
            self.fail(f"`{word}` is no range of versions", key)
        return word

    def flag(self, key: str) -> bool | None:
        """A boolean, or None where the key is missing."""
        value: bool | None = self._take(key, bool, "true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings, or None where the key is missing."""
        value: list[Any] | None = self._take(key, list, "a list of strings")
        if value is None:
            return None
        if not all(isinstance(item, str) for item in value):
            self.fail(f"`{self.where}{key}` must be a list of strings", key)
        return tuple(value)

    def one_or_more(self, key: str) -> tuple[str, ...]:
        """A string or a list of strings."""
        if isinstance(self.values.get(key), list):
            return self.strings(key) or ()
        value = self.string(key)
        return () if value is None else (value,)

    def table(self, key: str) -> Table:
        """A table; an empty one where the key is missing."""
        value: dict[str, Any] | None = self._take(key, dict, "a table")
        return Table(value or {}, self.file, self._text, f"{self.where}{key}.", self._first)

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of an array of tables."""
        value: list[Any] = self._take(key, list, "a list of tables") or []
        for item in value:
            if not isinstance(item, dict):
                self.fail(f"`{self.where}{key}` must be a list of tables", key)
            yield Table(item, self.file, self._text, f"{key}.", self._first)

    def free(self, known: frozenset[str]) -> dict[str, Any]:
        """The values of further keys, whatever their type."""
        self._asked |= known
        return {key: value for key, value in self.values.items() if key in known}

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.values:
            if key not in self._asked:
                self.fail(f"unknown key `{self.where}{key}`{near(key, sorted(self._asked))}", key)


def parse(text: str, file: str, first: int = 0) -> Table:
    """Parse TOML; `first` is the number of lines before it in the file."""
    try:
        return Table(tomllib.loads(text), file, text, first=first)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        written = re.match(r"line (\d+)", place)
        line = int(written[1]) if written else text.count("\n") + 1
        raise UserError(f"{file}:{line + first}: not valid TOML: {reason.lower()}") from None
