"""The files of a project: their texts, and its parsed configuration files, each parsed once and only when something can be said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from dtypelint.facts.config import json, yaml
from dtypelint.facts.config.nodes import Mapping, Node
from dtypelint.languages import Language, language
from dtypelint.schemas import Config
from dtypelint.source import Skipped, Unreadable

TEMPLATE = re.compile(r"\{\{|\{%|<%|\$\{\{")
ALIAS = re.compile(r"(?:^|[\s\[,:])\*[A-Za-z_]\w*\s*(?:$|[\],#])", re.MULTILINE)


class Documents:
    """Reads the files; `code` are the Python files and `files` the others, `read` gives the text of either."""

    def __init__(
        self,
        files: Iterable[str],
        code: Iterable[str],
        configs: tuple[Config, ...],
        read: Callable[[str], str | None],
    ) -> None:
        self.files = tuple(sorted(files))
        self.code = tuple(sorted(code))
        self._configs = configs
        self._read = read
        self._found: dict[str, tuple[Node, ...] | Skipped] = {}

    def text(self, path: str) -> str:
        """The text of a file; empty where it cannot be read."""
        return self._read(path) or ""

    def of(self, path: str) -> tuple[Node, ...]:
        """The documents of a file; `Skipped` when it does not parse or cannot be checked."""
        if path not in self._found:
            try:
                self._found[path] = parse(path, self.text(path))
            except Skipped as error:
                self._found[path] = error
        found = self._found[path]
        if isinstance(found, Skipped):
            raise Skipped(found.line, found.reason)
        return found

    def first(self, path: str) -> Mapping | None:
        """The first document of a file, where it is a mapping."""
        try:
            found = self.of(path)
        except Skipped:
            return None
        return found[0] if found and isinstance(found[0], Mapping) else None

    def kind(self, document: Node) -> Config | None:
        """The kind of a document by its keys."""
        if not isinstance(document, Mapping):
            return None
        names = document.names
        return next((each for each in self._configs if any(names.issuperset(mark) for mark in each.marks)), None)

    def kind_of(self, path: str) -> Config | None:
        """The kind of the first document of a file."""
        document = self.first(path) if self.may_have_kind(self.text(path)) else None
        return self.kind(document) if document is not None else None

    def may_have_kind(self, text: str) -> bool:
        """Whether all keys of some kind occur in a text."""
        return any(all(word in text for word in mark) for config in self._configs for mark in config.marks)

    def worth_parsing(self, path: str) -> bool:
        """Whether a file may be of a kind, or holds aliases, which can make it impossible to check."""
        text = self.text(path)
        refuse_depth(path, text)
        return self.may_have_kind(text) or (language(path) is Language.YAML and ALIAS.search(text) is not None)


def parse(path: str, text: str) -> tuple[Node, ...]:
    """The documents of a YAML or JSON text; none for a template and for lines of JSON."""
    try:
        if language(path) is Language.JSON:
            return (json.read(text),) if text.strip() else ()
        return yaml.read(text)
    except Unreadable as error:
        if TEMPLATE.search(text) or "more than one value" in error.reason:
            return ()
        raise Skipped(error.line, error.reason) from None


def refuse_depth(path: str, text: str) -> None:
    """`Skipped` where a text is nested more deeply than any configuration."""
    try:
        yaml.refuse_depth(text, blocks=language(path) is Language.YAML)
    except Unreadable as error:
        raise Skipped(error.line, error.reason) from None
