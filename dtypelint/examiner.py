"""One file: from its bytes to its findings."""

from __future__ import annotations

import traceback
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dtypelint.declared import declared
from dtypelint.deep import with_room
from dtypelint.files import File, Triggers, is_config, listing
from dtypelint.finding import Confidence, Finding, Hit, Severity, Span
from dtypelint.ignores import MARK, UNUSED, Ignores
from dtypelint.knowledge import Knowledge
from dtypelint.languages import Language, language
from dtypelint.notebook import Notebook, is_notebook
from dtypelint.places import Places
from dtypelint.settings import UNREADABLE
from dtypelint.source import WIDE_BOMS, Skipped, Source, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from dtypelint.facts import Facts
    from dtypelint.facts.project import Project
    from dtypelint.knowledge import Rule
    from dtypelint.settings import Settings

Place = tuple[str, Span]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, the place that it speaks of, and how it counts."""

    finding: Finding
    place: Place
    hidden: bool = False
    fails: bool = False


@dataclass(slots=True)
class Outcome:
    """What one file gave. `causes` are the settings that its findings name; `internal` the tracebacks."""

    found: list[Found] = field(default_factory=list)
    causes: set[Place] = field(default_factory=set)
    internal: list[str] = field(default_factory=list)


class Examiner:
    """Everything that one process needs to examine files."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        files: Iterable[File],
        overlay: Mapping[Path, bytes],
        *,
        ignores: bool,
        prefilter: bool,
    ) -> None:
        self._rules = rules
        self._unreadable = next(rule for rule in rules if rule.code == UNREADABLE)
        self._ignores = ignores
        self._prefilter = prefilter
        self._places = Places(overlay)
        self._files: dict[Path, list[File]] = {}
        for file in files:
            self._files.setdefault(file.root, []).append(file)
        self._triggers = cache(self._make_triggers)
        self._knowledge = cache(Knowledge)
        self._listing = cache(listing)
        self._project = lru_cache(4)(self._make_project)

    def reading(self, places: Places) -> Examiner:
        """An examiner of the same files that reads other texts."""
        other = copy(self)
        other._places = places
        other._project = lru_cache(4)(other._make_project)
        return other

    def prepare(self) -> None:
        """Load what every worker needs, before they are forked."""
        import_module("dtypelint.facts.project")
        for rule in self._rules:
            load_check(rule.name)

    def _make_triggers(self, codes: frozenset[str], read_as: Language, apis: tuple[Path, ...]) -> Triggers:
        rules = [rule for rule in self._rules if rule.code in codes and read_as in rule.reads and not rule.own]
        own = self._knowledge(apis).own_names if apis else ()
        return Triggers(rules, own=own, everything=not self._prefilter)

    def _triggers_of(self, file: File, codes: frozenset[str]) -> Triggers:
        return self._triggers(codes, _language(file), file.settings.apis)

    def _make_project(self, root: Path, targets: tuple[tuple[str, str], ...], apis: tuple[Path, ...]) -> Project:
        from dtypelint.facts.project import Project

        def read(path: str) -> str | None:
            try:
                return self._places.source(root / path).text
            except (OSError, Unreadable):
                return None

        given = dict(targets)
        if "*" not in given:
            given = {**self._declared(root), **given}
        files = {*self._listing(root), *map(_relative, self._files[root])}
        return Project(files, self._knowledge(apis), given, read)

    def _declared(self, root: Path) -> dict[str, str]:
        """The versions that the files of a root folder name."""

        def read(name: str) -> str | None:
            try:
                return self._places.data(root / name).decode("utf-8", "replace")
            except OSError:
                return None

        try:
            names = tuple(path.name for path in root.iterdir() if path.is_file())
        except OSError:
            return {}
        return declared(names, read)

    def worth_reading(self, file: File) -> bool:
        """Whether a finding is possible, judged by the bytes; a file that cannot be read is worth a finding."""
        try:
            book = is_notebook(file.path.name)
            data = self._places.source(file.path).data if book else self._places.data(file.path)
        except (OSError, Unreadable):
            return True
        wide = data.startswith(WIDE_BOMS) and not is_config(file.path.name)
        return bool(wide or MARK.search(data) or self._triggers_of(file, file.settings.codes).any(data))

    def examine(self, file: File) -> Outcome:
        """All that is found in a file."""
        return with_room(lambda: self._examined(file))

    def _examined(self, file: File) -> Outcome:
        outcome = Outcome()
        source: Source | None = None
        ignores: Ignores | None = None
        try:
            source = self._places.source(file.path)
            ignores = Ignores(source, self._rules) if self._ignores else None
            asked = ignores.codes if ignores and UNUSED in file.settings.codes else frozenset()
            for rule, hit in dict.fromkeys(self._hits(file, source, file.settings.codes | asked, outcome)):
                covered = ignores is not None and ignores.cover(rule, hit.span)
                self._add(file, rule, hit, covered, outcome)
            if ignores is None:
                return outcome
            for rule, hit in ignores.complaints():
                self._add(file, rule, hit, ignores.cover(rule, hit.span), outcome)
        except OSError as error:
            self._refuse(file, Unreadable(1, f"cannot be read: {error.strerror or error}"), None, None, outcome)
        except RecursionError:
            self._refuse(file, Unreadable(1, "nested too deeply"), source, ignores, outcome)
        except Unreadable as error:
            self._refuse(file, error, source, ignores, outcome)
        return outcome

    def _hits(self, file: File, source: Source, codes: frozenset[str], outcome: Outcome) -> Iterator[tuple[Rule, Hit]]:
        checks = [
            (rule, check)
            for rule in self._triggers_of(file, codes).rules(source.data)
            if (check := load_check(rule.name))
        ]
        if not checks:
            return
        try:
            project = self._project(file.root, file.settings.targets, file.settings.apis)
            facts = project.facts(_relative(file))
        except (Unreadable, RecursionError):
            raise
        except Exception as error:
            self._defect(file, "its facts", error, outcome)
            return
        for rule, check in checks:
            try:
                for hit in check(facts):
                    source.position(hit.span.end)
                    yield rule, tidied(facts, hit)
            except (Unreadable, RecursionError):
                raise
            except Exception as error:
                self._defect(file, f"`{rule.name}`", error, outcome)

    def _add(self, file: File, rule: Rule, hit: Hit, covered: bool, outcome: Outcome) -> None:
        hidden = hit.confidence is Confidence.LOW and not file.settings.pedantic
        if not hidden:
            outcome.causes.update((str(file.root / place.path), place.span) for place in hit.settings)
        if not covered and file.settings.reports(rule.code, file.path):
            hit = _as_set(hit, rule.code, file.settings)
            finding = self._places.finding(file.root, file.path, rule, hit)
            fails = file.settings.fails(finding.severity)
            outcome.found.append(Found(finding, (str(file.path), hit.span), hidden, fails))

    def _refuse(
        self, file: File, error: Unreadable, source: Source | None, ignores: Ignores | None, outcome: Outcome
    ) -> None:
        wanted = file.settings.reports(UNREADABLE, file.path)
        if wanted and not (ignores and ignores.cover(self._unreadable, Span(0, 0))):
            # a cell with a placeholder in it is part of many notebooks
            passed = isinstance(error, Skipped) or isinstance(source, Notebook)
            severity = file.settings.severity(UNREADABLE) or (Severity.NOTE if passed else Severity.ERROR)
            outcome.found.append(self._about(file, error.line, error.reason, source, severity))

    def _defect(self, file: File, where: str, error: Exception, outcome: Outcome) -> None:
        outcome.internal.append("".join(traceback.format_exception(error)))
        message = f"internal error in {where}: {type(error).__name__}: {error}; please report it"
        outcome.found.append(self._about(file, 1, message, None))

    def lost(self, file: File, reason: str) -> Outcome:
        """The outcome of a file whose process was lost."""
        found = self._about(file, 1, f"internal error: {reason}; please report it", None)
        return Outcome([found], internal=[f"{file.path}: {reason}\n"])

    def _about(
        self, file: File, line: int, message: str, source: Source | None, severity: Severity = Severity.ERROR
    ) -> Found:
        finding = self._places.line(file.path, self._unreadable, severity, line, message, source)
        return Found(finding, (str(file.path), Span(0, 0)), fails=file.settings.fails(finding.severity))


def _as_set(hit: Hit, code: str, settings: Settings) -> Hit:
    """A hit with the severity and the fix that the settings give to its rule."""
    hit = replace(hit, severity=settings.severity(code) or hit.severity)
    if hit.fix is None:
        return hit
    safety = settings.safety(code, hit.fix.safety)
    if safety is None:
        return replace(hit, fix=None, withheld="the settings say so")
    return replace(hit, fix=replace(hit.fix, safety=safety))


def _language(file: File) -> Language:
    return language(file.path.name) or Language.PYTHON


def tidied(facts: Facts, hit: Hit) -> Hit:
    """The hit with a fix that also takes out the imports which it leaves unused."""
    if hit.fix is None:
        return hit
    return replace(hit, fix=replace(hit.fix, edits=facts.imports.tidy(hit.fix.edits)))


def _relative(file: File) -> str:
    return file.path.relative_to(file.root).as_posix()


@cache
def load_check(name: str) -> Callable[[object], Iterable[Hit]] | None:
    """The check of a rule: the function `check` of the module that has its name."""
    module = f"dtypelint.checks.{name.replace('-', '_')}"
    if find_spec(module) is None:
        return None
    check: Callable[[object], Iterable[Hit]] = import_module(module).check
    return check
