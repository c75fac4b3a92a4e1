"""The files of a project beside its Python code, and what they say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from dtypelint.facts import Facts
from dtypelint.facts.config.reader import Reader
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.languages import Language, language
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from dtypelint.knowledge import Knowledge

IMPORTS = {
    "AO": re.compile(r"^\s*(?:import|from)\s+torchao\b", re.MULTILINE),
    "TE": re.compile(r"^\s*(?:import|from)\s+transformer_engine\b", re.MULTILINE),
    "MSAMP": re.compile(r"^\s*(?:import|from)\s+msamp\b", re.MULTILINE),
}


class Tree:
    """The configuration files of a project root; `code` are its Python files, `read` gives the text of either."""

    def __init__(
        self,
        files: Iterable[str],
        code: Iterable[str],
        knowledge: Knowledge,
        targets: Targets,
        read: Callable[[str], str | None],
    ) -> None:
        self.files = tuple(sorted(files))
        self.code = tuple(sorted(code))
        self.knowledge = knowledge
        self.read = read
        self._reader = Reader(knowledge.configs, targets, Roles(knowledge.roles), lambda: self.evident)

    def facts(self, path: str) -> Facts:
        """What the checks see of a configuration file; `Unreadable` when it cannot be parsed."""
        text = self.read(path)
        if text is None:
            raise Unreadable(1, "cannot be read")
        if language(path.rpartition("/")[2]) in (Language.YAML, Language.JSON):
            keys, requests = self._reader.facts(path, text, {})
            return Facts(path, keys=keys, requests=requests)
        return Facts(path)

    @cached_property
    def evident(self) -> tuple[str, ...]:
        """The fp8 backends that the code of the project imports."""
        found = set()
        for path in self.code:
            text = self.read(path) or ""
            found |= {name for name, pattern in IMPORTS.items() if name not in found and pattern.search(text)}
        return tuple(sorted(found))
