"""Spans of a project's files as the lines and columns that reports show."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.files import LARGEST_CONFIG, is_config, read_bytes
from dtypelint.finding import Confidence, Finding, Fix, Location, Note, Position, Span
from dtypelint.knowledge import rule_url
from dtypelint.notebook import Notebook, decode_notebook, is_notebook
from dtypelint.source import Source, decode, decode_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dtypelint.finding import Hit, Severity
    from dtypelint.knowledge import Rule

LINES = 20
WIDTH = 4000
NOT_FIXED = "notebooks are not fixed yet"


class Places:
    """The sources of a run. `overlay` holds contents that stand for files, as from the standard input.

    With a `memory`, what was read once is kept there: every later look sees the same.
    """

    def __init__(self, overlay: Mapping[Path, bytes], memory: dict[Path, bytes] | None = None) -> None:
        self._memory = memory
        self._overlay = overlay
        self._working = Path.cwd()
        self.source = lru_cache(64)(self._read)

    def data(self, path: Path) -> bytes:
        """The bytes of a file; of a configuration file that is too large only the first."""
        if path in self._overlay:
            return self._overlay[path]
        if self._memory is not None and path in self._memory:
            return self._memory[path]
        data = read_bytes(path, LARGEST_CONFIG + 1 if is_config(path.name) else -1)
        if self._memory is not None:
            self._memory[path] = data
        return data

    def _read(self, path: Path) -> Source:
        if is_config(path.name):
            return decode_config(self.data(path), str(path), LARGEST_CONFIG)
        if is_notebook(path.name):
            return decode_notebook(self.data(path), str(path))
        return decode(self.data(path), str(path))

    def shown(self, path: Path) -> str:
        """A path as reports print it: posix, relative to the working folder."""
        try:
            return Path(os.path.relpath(path, self._working)).as_posix()
        except ValueError:
            return path.as_posix()

    def finding(self, root: Path, path: Path, rule: Rule, hit: Hit) -> Finding:
        """A hit as it is reported; its related places and edits are relative to the root."""
        notes = []
        for related in hit.related:
            place = root / related.location.path
            span = related.location.span
            line = self._lines(place, replace(span, end=span.start))
            notes.append(Note(self._position(place, span), related.message, line))
        held = hit.fix is not None and any(is_notebook(edit.location.path) for edit in hit.fix.edits)
        fix, positions = self._fix(root, hit.fix) if hit.fix and not held else (None, ())
        return Finding(
            code=rule.code,
            name=rule.name,
            severity=hit.severity or rule.severities[0],
            confidence=hit.confidence,
            message=hit.message,
            position=self._position(path, hit.span),
            source=self._lines(path, hit.span),
            related=tuple(notes),
            fix=fix,
            fix_positions=positions,
            fix_withheld=NOT_FIXED if held else hit.withheld,
            url=rule_url(rule.name),
            settings=tuple(self._position(root / each.path, each.span) for each in hit.settings),
        )

    def line(
        self, path: Path, rule: Rule, severity: Severity, line: int, message: str, source: Source | None
    ) -> Finding:
        """A finding about a whole line, of a file that may be unreadable."""
        text = source.line(line)[:WIDTH] if source and line <= len(source.starts) else ""
        position = Position(self.shown(path), line, 1, line, len(text) + 1)
        if isinstance(source, Notebook):
            position = _in_cell(source, position)
        return Finding(
            rule.code, rule.name, severity, Confidence.HIGH, message, position, text, url=rule_url(rule.name)
        )

    def _fix(self, root: Path, fix: Fix) -> tuple[Fix, tuple[Position, ...]]:
        paths = [root / edit.location.path for edit in fix.edits]
        edits = [
            replace(edit, location=Location(self.shown(path), edit.location.span))
            for path, edit in zip(paths, fix.edits, strict=True)
        ]
        positions = tuple(self._position(path, edit.location.span) for path, edit in zip(paths, fix.edits, strict=True))
        return replace(fix, edits=tuple(edits)), positions

    def _position(self, path: Path, span: Span) -> Position:
        source = self.source(path)
        position = Position(self.shown(path), *source.position(span.start), *source.position(span.end))
        return _in_cell(source, position) if isinstance(source, Notebook) else position

    def _lines(self, path: Path, span: Span) -> str:
        source = self.source(path)
        first, last = source.position(span.start)[0], source.position(span.end)[0]
        return "\n".join(source.line(line)[:WIDTH] for line in range(first, min(last, first + LINES - 1) + 1))


def _in_cell(notebook: Notebook, position: Position) -> Position:
    """A position of a notebook's text, counted in its cell."""
    first, last = notebook.place(position.line), notebook.place(position.end_line)
    end = first.line + position.end_line - position.line
    return replace(position, line=first.line, end_line=end, cell=first.cell, stored=(first.stored, last.stored))
