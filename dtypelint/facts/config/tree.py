"""The files of a project beside its Python code, and what they say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from dtypelint.facts import Facts
from dtypelint.facts.config import shell
from dtypelint.facts.config.commands import Commands
from dtypelint.facts.config.documents import Documents
from dtypelint.facts.config.environment import Environment, Write, reads
from dtypelint.facts.config.features import Features
from dtypelint.facts.config.launches import PRECISION, Launches, Run
from dtypelint.facts.config.own import WORD, Loads, Own
from dtypelint.facts.config.pins import Advisories, pins
from dtypelint.facts.config.reader import Reader
from dtypelint.facts.configs import ConfigKey, Fp8Request, Variable
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location, Span
from dtypelint.languages import Language, language
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from dtypelint.knowledge import Knowledge

QUOTED = re.compile(r"\$\{[^}\n]*\}")
ACCELERATE = re.compile(r"\baccelerate\b|\btransformers\b")
RECIPE = " | ".join(f"accelerate.{name}RecipeKwargs()" for name in ("AO", "TE", "MSAMP", "FP8"))
DISTRIBUTIONS = {"AO": "torchao", "TE": "transformer_engine", "MSAMP": "ms_amp"}
IMPORTS = {
    "AO": re.compile(r"^\s*(?:import|from)\s+torchao\b", re.MULTILINE),
    "TE": re.compile(r"^\s*(?:import|from)\s+transformer_engine\b", re.MULTILINE),
    "MSAMP": re.compile(r"^\s*(?:import|from)\s+msamp\b", re.MULTILINE),
}


class Written(TypedDict):
    """The facts of a file's environment variables, as `Facts` takes them."""

    keys: tuple[ConfigKey, ...]
    requests: tuple[Fp8Request, ...]
    variables: tuple[Variable, ...]


class Tree:
    """The configuration files of a project root.

    `code` are its Python files, `read` gives the text of either; `trains` says whether one of `code` fills the arguments of
    a trainer, `does` where the code fits patterns (`python/usage.py`).
    """

    def __init__(
        self,
        files: Iterable[str],
        code: Iterable[str],
        knowledge: Knowledge,
        targets: Targets,
        read: Callable[[str], str | None],
        loads: Loads,
        trains: Callable[[str], bool],
        does: Callable[[tuple[str, ...], str], Location | None],
    ) -> None:
        self._own = Own(Roles(knowledge.roles), loads, lambda: self._quoted)
        self._documents = Documents(files, code, knowledge.configs, read)
        self._read = read
        self._does = does
        self._looked_up: dict[str, bool] = {}
        self._reader = Reader(self._documents, targets, Roles(knowledge.roles), lambda: self.evident)
        self.variables = Environment(knowledge, targets, self._is_read)
        self.launches = Launches(self._documents)
        self._features = Features(self._documents, does)
        newest = {name: each.newest for name, each in knowledge.libraries.items()}
        self._advisories = Advisories(knowledge.advisories, newest, targets.given, self._features.used)
        self._commands = Commands(
            knowledge.configs, targets, self.launches, self._documents, lambda: self.evident, trains
        )

    def facts(self, path: str) -> Facts:
        """What the checks see of a configuration file; `Unreadable` when it cannot be parsed."""
        text = self._read(path)
        if text is None:
            raise Unreadable(1, "cannot be read")
        read_as = language(path)
        if read_as in (Language.YAML, Language.JSON):
            return self._config(path, text)
        if read_as is Language.SHELL:
            return self._script(path, text)
        return Facts(path, affected=lambda: self._advisories.affected(path, text))

    def _config(self, path: str, text: str) -> Facts:
        recipe = tuple(self._commands.recipe(path))
        if self._documents.worth_parsing(path):
            keys, requests = self._reader.facts(path, text, self.launches.given(path))
            if self._documents.kind_of(path) is not None:
                return Facts(path, keys=lambda: (*keys, *recipe), requests=lambda: self.open(requests))
        document = self._documents.first(path) if self._own.is_loaded(path) else None
        own = tuple(self._own.keys(path, document)) if document is not None else ()
        return Facts(path, keys=lambda: (*recipe, *own))

    def _script(self, path: str, text: str) -> Facts:
        script = shell.read(path, text)
        written = self.environment(tuple(_writes(script)))
        runs = [Run(path, launch, script) for launch in script.launches]
        if any(self.launches.backend(run) != "" for run in runs):
            written["requests"] = ()
        for run in runs:
            written["keys"] += tuple(self._commands.keys(run))
            written["requests"] += self.open(tuple(self._commands.requests(run)))
        return Facts(
            path,
            keys=lambda: written["keys"],
            requests=lambda: written["requests"],
            variables=lambda: written["variables"],
        )

    def open(self, requests: tuple[Fp8Request, ...]) -> tuple[Fp8Request, ...]:
        """Requests, with the backend taken as given where the code of the project passes a recipe."""
        if not any(not request.backend for request in requests) or not self._passes_recipe:
            return requests
        return tuple(replace(request, backend=request.backend or "?") for request in requests)

    @cached_property
    def _passes_recipe(self) -> bool:
        return self._does((RECIPE,), "") is not None

    def environment(self, writes: tuple[Write, ...]) -> Written:
        """What becomes of the variables that a file writes."""
        return Written(
            keys=tuple(self.variables.keys(writes)),
            requests=self.open(tuple(self.variables.requests(writes, lambda: self.evident))),
            variables=tuple(self.variables.variables(writes)),
        )

    @cached_property
    def tells_launcher(self) -> bool:
        """Whether a file of the project sets the precision that a launcher gives to an `Accelerator`."""
        text = self._documents.text
        told = any("mixed_precision" in text(path) for path in self._documents.files)
        return told or any(PRECISION in text(path) for path in self._documents.code)

    @cached_property
    def _quoted(self) -> frozenset[str]:
        """The words of every `${…}` in the configuration files."""
        texts = (self._documents.text(path) for path in self._documents.files)
        return frozenset(word for text in texts for each in QUOTED.findall(text) for word in WORD.findall(each))

    @cached_property
    def _uses_accelerate(self) -> bool:
        return any(
            ACCELERATE.search(self._documents.text(path)) for path in (*self._documents.code, *self._documents.files)
        )

    def _is_read(self, variable: str) -> bool:
        """Whether the project looks a variable up itself, or has nothing to do with the library that does not."""
        if variable not in self._looked_up:
            texts = (self._documents.text(path) for path in (*self._documents.code, *self._documents.files))
            own = any(variable.partition("_")[0] in text and reads(text, variable) for text in texts)
            self._looked_up[variable] = own or not self._uses_accelerate
        return self._looked_up[variable]

    @cached_property
    def evident(self) -> tuple[str, ...]:
        """The fp8 backends that the code of the project imports or its files require."""
        found = set()
        for path in self._documents.code:
            text = self._documents.text(path)
            found |= {name for name, pattern in IMPORTS.items() if name not in found and pattern.search(text)}
        for path in self._documents.files:
            if language(path) is Language.PINS:
                text = self._documents.text(path)
                found |= {name for name, library in DISTRIBUTIONS.items() if any(pins(path, text, library))}
        return tuple(sorted(found))


def _writes(script: shell.Script) -> Iterator[Write]:
    for name, value in script.variables:
        span = Span(value.span.start + value.quoted, value.span.end - value.quoted)
        yield Write(name.text, name.span, value.text if value.known else None, span)
