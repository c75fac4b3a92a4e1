"""The code of a finding before and after its fix: two projects that differ in the fix's edits, and the call in both."""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.facts.project import Project
from dtypelint.facts.python.names import External
from dtypelint.files import listing, read_bytes
from dtypelint.finding import Span
from dtypelint.knowledge import Knowledge
from dtypelint.smoke.symbols import Unknown
from dtypelint.source import Unreadable, decode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dtypelint.facts.python.module import Module
    from dtypelint.facts.python.scope import Scope
    from dtypelint.files import File
    from dtypelint.finding import Edit, Finding, Position
    from dtypelint.source import Source

PARTIAL = "functools.partial"
WRAPPERS = frozenset({PARTIAL, "dataclasses.replace", "copy.replace"})


class Sites:
    """The projects of a run. Paths of findings are relative to the working folder."""

    def __init__(self, files: Iterable[File]) -> None:
        self._working = Path.cwd()
        self._files = {file.path: file for file in files}
        self._roots: dict[Path, frozenset[str]] = {}
        self._before: dict[Path, Project] = {}
        self.source = lru_cache(64)(self._read)

    def _read(self, path: Path) -> Source:
        return decode(read_bytes(path), str(path))

    def path(self, shown: str) -> Path:
        """The file that a report names."""
        return Path(os.path.abspath(self._working / shown))

    def before(self, finding: Finding) -> Project:
        """The project of a finding as it is."""
        file = self._file(finding)
        if file.root not in self._before:
            self._before[file.root] = self._project(file, {})
        return self._before[file.root]

    def after(self, finding: Finding) -> Project:
        """The project of a finding with its fix applied."""
        file = self._file(finding)
        return self._project(file, self._fixed(finding))

    def overlays(self, finding: Finding) -> tuple[str, dict[str, str], dict[str, str]]:
        """The root of a finding, and the files that its fix changes, by path: as they are, and fixed."""
        fixed = {str(path): text for path, text in self._fixed(finding).items()}
        return str(self._file(finding).root), {path: self.source(Path(path)).text for path in fixed}, fixed

    def _fixed(self, finding: Finding) -> dict[Path, str]:
        assert finding.fix is not None
        paths = {self.path(edit.location.path) for edit in finding.fix.edits}
        edits = {path: [e for e in finding.fix.edits if self.path(e.location.path) == path] for path in paths}
        return {path: applied(self.source(path), edits[path]) for path in sorted(paths)}

    def module(self, project: Project, finding: Finding) -> Module:
        """The module of a finding in one of the two."""
        try:
            return project.load(self.relative(finding))
        except Unreadable as error:
            raise Unknown(str(error.reason)) from None

    def relative(self, finding: Finding) -> str:
        """The file of a finding, relative to its root."""
        file = self._file(finding)
        return file.path.relative_to(file.root).as_posix()

    def span(self, position: Position) -> Span:
        """The bytes that a position covers before the fix."""
        source = self.source(self.path(position.path))
        start = source.offset(position.line, position.column)
        return Span(start, source.offset(position.end_line, position.end_column))

    def text(self, position: Position) -> str:
        """What stands at a position before the fix."""
        return self.source(self.path(position.path)).slice(self.span(position))

    def texts(self, finding: Finding) -> tuple[str, str]:
        """The file of a finding before and after its fix; Unknown when it cannot be read."""
        try:
            source = self.source(self.path(finding.position.path))
        except (OSError, Unreadable) as error:
            raise Unknown(str(error)) from None
        return source.text, applied(source, self.edits(finding))

    def replaced(self, finding: Finding) -> str:
        """What the first edit of a fix takes away."""
        edit = self.edits(finding)[0]
        return self.source(self.path(edit.location.path)).slice(edit.location.span)

    def edits(self, finding: Finding) -> list[Edit]:
        """The edits of a finding in its own file, in their order."""
        assert finding.fix is not None
        own = self.path(finding.position.path)
        found = [edit for edit in finding.fix.edits if self.path(edit.location.path) == own]
        return sorted(found, key=lambda edit: edit.location.span)

    def _file(self, finding: Finding) -> File:
        return self._files[self.path(finding.position.path)]

    def _project(self, file: File, texts: dict[Path, str]) -> Project:
        root = file.root
        if root not in self._roots:
            own = (path.relative_to(root).as_posix() for path in self._files if path.is_relative_to(root))
            self._roots[root] = frozenset([*listing(root), *own])

        def read(path: str) -> str | None:
            place = root / path
            try:
                return texts[place] if place in texts else self.source(place).text
            except (OSError, Unreadable):
                return None

        return Project(self._roots[root], Knowledge(file.settings.apis), dict(file.settings.targets), read)


def applied(source: Source, edits: Iterable[Edit]) -> str:
    """The text of a source with some edits."""
    data = source.data
    for edit in sorted(edits, key=lambda edit: edit.location.span, reverse=True):
        span = edit.location.span
        data = data[: span.start] + edit.text.encode() + data[span.end :]
    return data.decode()


def moved(offset: int, edits: Iterable[Edit]) -> int:
    """Where an offset lies after some edits of its file."""
    spans = [(edit.location.span, len(edit.text.encode())) for edit in edits]
    return offset + sum(size - (span.end - span.start) for span, size in spans if span.end <= offset)


def call_at(project: Project, module: Module, span: Span, name: str = "") -> ast.Call:
    """The call that a span is about: a known one around it, one inside it, else the smallest around it; Unknown."""
    found = {node: scope for node, _, scope in module.calls}
    spans = {node: module.tree.span(node) for node in found}
    around = [node for node in found if spans[node].start <= span.start and span.end <= spans[node].end]
    around.sort(key=lambda node: spans[node].end - spans[node].start)
    inside = [node for node in found if span.start <= spans[node].start and spans[node].end <= span.end]
    for node in (*around, *inside):
        if known(project, node, found[node]):
            return node
    for node in around:
        if spans[node] != span and node.keywords and (not name or ast.unparse(node.func) == name):
            return node
    raise Unknown("no call stands here")


def known(project: Project, node: ast.Call, scope: Scope) -> bool:
    """Whether a call makes something that the tables know, by itself, as a partial or as a changed copy."""
    tables = project.knowledge.by_path

    def paths(each: ast.expr) -> set[str]:
        return {symbol.path for symbol in project.names.symbols(each, scope) if isinstance(symbol, External)}

    found = paths(node.func)
    if any(path in tables and tables[path].parameters for path in found):
        return True
    if not WRAPPERS & found or not node.args:
        return False
    if PARTIAL in found:
        return any(path in tables for path in paths(node.args[0]))
    return isinstance(node.args[0], ast.Call) and known(project, node.args[0], scope)
