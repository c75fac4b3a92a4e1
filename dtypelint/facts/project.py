"""The files of one project root, parsed when a question needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dtypelint.facts import Facts
from dtypelint.facts.config.tree import Tree, Written
from dtypelint.facts.python.arguments import Arguments
from dtypelint.facts.python.averages import Averages
from dtypelint.facts.python.calls import Omissions
from dtypelint.facts.python.casts import Casts
from dtypelint.facts.python.choices import Choices
from dtypelint.facts.python.comparisons import Comparisons
from dtypelint.facts.python.defaults import Defaults
from dtypelint.facts.python.devices import others
from dtypelint.facts.python.environment import Writes
from dtypelint.facts.python.events import Events
from dtypelint.facts.python.holdings import Holdings
from dtypelint.facts.python.inert import Inerts
from dtypelint.facts.python.islands import Islands
from dtypelint.facts.python.loading import Loading
from dtypelint.facts.python.lookups import Lookups
from dtypelint.facts.python.masters import Masters
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.mutations import Mutations
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.offers import Offers
from dtypelint.facts.python.options import Options
from dtypelint.facts.python.overwritten import Overwrites
from dtypelint.facts.python.pins import Pins
from dtypelint.facts.python.plain_regions import PlainRegions
from dtypelint.facts.python.presets import Presets
from dtypelint.facts.python.reach import Reach
from dtypelint.facts.python.reads import Reads
from dtypelint.facts.python.recipes import Recipes
from dtypelint.facts.python.sinks import Sinks
from dtypelint.facts.python.switches import Switches
from dtypelint.facts.python.takes import Takes
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.python.twins import Twins
from dtypelint.facts.python.unmatched import Unmatches
from dtypelint.facts.python.unread import Unreads
from dtypelint.facts.python.unread_options import UnreadOptions
from dtypelint.facts.python.unread_parameters import UnreadParameters
from dtypelint.facts.python.usage import Usage
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.facts.texts import Texts
from dtypelint.languages import Language, language
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from dtypelint.knowledge import Knowledge

_SOURCE_FOLDERS = ("", "src", "lib", "python")


class Project:
    """All that is known about the files below a root.

    `files` are the readable files, posix and relative to the root; `read` gives a file's decoded text (None when it
    cannot be had), so that nothing below the engine opens a file; `targets` are the versions to judge for, by library.
    """

    def __init__(
        self,
        files: Iterable[str],
        knowledge: Knowledge,
        targets: Mapping[str, str],
        read: Callable[[str], str | None],
    ) -> None:
        everything = frozenset(files)
        configs = {path for path in everything if _language(path) is not Language.PYTHON}
        self.files = everything - configs
        self.knowledge = knowledge
        self.targets = targets
        self.read = read
        self.names = Names(self)
        self.tracer = Tracer(self.names, Roles(knowledge.roles), knowledge.by_path)
        self.reach = Reach(self.names, self.tracer)
        self.reads = Reads(self.names)
        self._takes = Takes(self.names, knowledge.by_path)
        self._holdings = Holdings(self.names, self.reach.readable, self.reach.callers, self.reads)
        self._offers = Offers(self.names, self.tracer, self.reach.held)
        self._ranges = Targets(targets, {name: each.newest for name, each in knowledge.libraries.items()})
        loading = Loading(self.names, self._texts, self.module)
        usage = Usage(self.names, self.module, self.files_with)
        self.tree = Tree(configs, self.files, knowledge, self._ranges, read, loading, self._trains, usage.first)
        self._modules: dict[str, Module | None] = {}
        self._found: dict[tuple[str, str], str] = {}
        self._searched = Texts(self.files, read)
        self._folders = frozenset(str(p) for f in self.files for p in PurePosixPath(f).parents)

    def facts(self, path: str) -> Facts:
        """What the checks see of a file; `Unreadable` when it cannot be parsed."""
        if _language(path) is not Language.PYTHON:
            return self.tree.facts(path)
        module = self.load(path)
        names, tracer, by_path = self.names, self.tracer, self.knowledge.by_path
        sinks = Sinks(module, names, tracer, self.reach, self._ranges, self._offers)
        choices = Choices(module, names, tracer)
        recipes = Recipes(module, names, by_path, self._ranges, self.mentioning)
        inert = Inerts(module, names, by_path, self.reach, self.mentioning, lambda: self.tree.tells_launcher)
        omissions = Omissions(module, names, self.reach.readable, self._takes, self._holdings)
        said = cache(lambda: self._said(module))
        return Facts(
            path,
            imports=lambda: sinks.imports,
            sinks=sinks.find,
            casts=Casts(module, names, tracer).find,
            mutations=Mutations(sinks).find,
            traces=Events(module, names, tracer).find,
            keys=lambda: said()["keys"],
            requests=lambda: said()["requests"],
            variables=lambda: said()["variables"],
            recipes=recipes.lost,
            fallbacks=recipes.fallbacks,
            overwrites=Overwrites(module, tracer, self.reach.readable).find,
            omissions=lambda: (*omissions.find(), *Twins(module, names, by_path, omissions.role).find()),
            unread=lambda: (
                *Unreads(module, names, tracer, self.reads).find(),
                *UnreadOptions(module, names, tracer, self.reads).find(),
                *UnreadParameters(module, names, tracer, self.reach.callers).find(),
            ),
            options=Options(module, names, tracer).find,
            comparisons=Comparisons(module, names, tracer).find,
            switches=Switches(module, names, tracer, by_path).find,
            mapped=choices.mapped,
            missing=choices.missing,
            raw=choices.raw,
            averages=Averages(module, names, tracer).find,
            devices=lambda: others(module),
            inert=inert.find,
            islands=Islands(module, names, tracer).find,
            trained=Masters(module, names, tracer, self._ranges).find,
            lookups=Lookups(module, names, tracer.roles).find,
            leaks=Defaults(module, names, tracer).find,
            unmatched=Unmatches(module, names, by_path).find,
            plain_regions=PlainRegions(module, names, by_path).find,
            pins=Pins(sinks).find,
            presets=Presets(module, names, by_path, self.mentioning).find,
        )

    def _said(self, module: Module) -> Written:
        """What the module says to the libraries of a run, held against the rest of the project."""
        found = self.tree.environment(tuple(Writes(module, self.names, self.knowledge.by_path, self._ranges).find()))
        arguments = self._arguments(module)
        found["keys"] += (
            *arguments.overriding(self.tree.launches),
            *arguments.refused(self._ranges),
            *arguments.dropped(),
        )
        found["requests"] += self.tree.open(tuple(arguments.requests(self.tree.variables)))
        return found

    def _trains(self, path: str) -> bool:
        module = self.module(path)
        return module is not None and self._arguments(module).are_filled

    def _arguments(self, module: Module) -> Arguments:
        return Arguments(module, self.names, self.knowledge.by_path, self.tracer.roles)

    def load(self, path: str) -> Module:
        """The module of a file; `Unreadable` when it cannot be parsed."""
        module = self._modules.get(path)
        if module is None:
            text = self.read(path)
            if text is None:
                raise Unreadable(1, "cannot be read")
            module = self._modules[path] = Module(path, *self._names(path), path.endswith("__init__.py"), text)
        return module

    def module(self, path: str) -> Module | None:
        """The module of a file, or None when it cannot be parsed: a broken neighbour never stops a check."""
        if path not in self._modules:
            try:
                self.load(path)
            except Unreadable:
                self._modules[path] = None
        return self._modules[path]

    def _texts(self) -> Iterator[tuple[str, str]]:
        return ((path, self.read(path) or "") for path in sorted(self.files))

    def mentioning(self, word: str) -> Iterator[Module]:
        """The modules in whose text a word occurs."""
        for path in self.files_with(word):
            if (module := self.module(path)) is not None:
                yield module

    def files_with(self, *words: str) -> tuple[str, ...]:
        """The files whose text holds every one of some words, by path."""
        return self._searched.holding(*words)

    def _names(self, path: str) -> tuple[str, str]:
        pure = PurePosixPath(path)
        parts = list(pure.with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        first = len(pure.parts) - 1
        for depth in range(1, first + 1):
            # a folder without an `__init__.py` inside of a package is a part of it
            if str(PurePosixPath(*pure.parts[:depth], "__init__.py")) in self.files:
                first = depth - 1
                break
        if first == len(pure.parts) - 1 and parts and parts[0] in _SOURCE_FOLDERS:
            first = 1
        elif first == len(pure.parts) - 1:
            first = 0
        return ".".join(parts), ".".join(parts[first:])

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The module that a dotted name means to an importing module; None when it is not a file of the project."""
        path = self.locate(dotted, importer)
        return importer if path == importer.path else self.module(path) if path else None

    def locate(self, dotted: str, importer: Module) -> str:
        """The file that a dotted name means to an importing module; empty when it is none of the project."""
        folder = str(PurePosixPath(importer.path).parent)
        key = (dotted, importer.path if importer.is_package else folder)
        if key not in self._found:
            self._found[key] = self._locate(dotted, folder, importer)
        return self._found[key]

    def _locate(self, dotted: str, folder: str, importer: Module) -> str:
        if not dotted or not all(part.isidentifier() for part in dotted.split(".")):
            return ""
        relative = dotted.replace(".", "/")
        # a folder inside a package is no place to import from: `core/trl.py` is not what `import trl` means beside it
        around = (str(p) for p in PurePosixPath(folder, "x").parents if str(p / "__init__.py") not in self.files)
        bases = dict.fromkeys((*_SOURCE_FOLDERS, *around))
        for base in bases:
            stem = relative if base in ("", ".") else f"{base}/{relative}"
            for path in (f"{stem}.py", f"{stem}/__init__.py"):
                if path in self.files and (path != importer.path or importer.is_package):
                    return path
        return ""

    def may_bind(self, dotted: str, importer: Module, name: str) -> bool:
        """Whether a star import may bring a name: its text holds it, or another star; true outside of the project."""
        path = self.locate(dotted, importer)
        return not path or path in self._starred or path in self.files_with(name)

    @cached_property
    def _starred(self) -> frozenset[str]:
        return frozenset((*self.files_with("import *"), *self.files_with("import*")))


def _language(path: str) -> Language:
    return language(path) or Language.PYTHON
