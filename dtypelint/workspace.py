"""The files of a run as the fixer sees them: in their present state, and in one that is tried out.

A file is read once: a fix and its check see the same content, whatever happens to the file meanwhile. Its paths are those
of the findings.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.engine import NAMED_BY_SINK, Run, merged, summed
from dtypelint.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dtypelint.engine import Options
    from dtypelint.examiner import Found, Outcome
    from dtypelint.finding import Finding, Report
    from dtypelint.source import Source

    Outcomes = dict[Path, Outcome]


class Workspace:
    """What is found in files and folders, and what would be found with other texts in them."""

    def __init__(self, paths: Iterable[Path], options: Options) -> None:
        self._working = Path.cwd()
        run = Run(paths, options)
        self._files = {file.path: file for file in run.files}
        self._overlay = run.overlay
        self._memory: dict[Path, bytes] = {}
        self._places = Places(self._overlay, self._memory)
        self._examiner = run.examiner.reading(self._places)
        self._outcomes = {
            path: self._examiner.examine(self._files[path]) if _repairable(outcome) else outcome
            for path, outcome in run.outcomes.items()
        }
        self._trial = self._overlay, self._places, self._examiner, self._outcomes

    def report(self, withheld: Mapping[Finding, str] | None = None) -> Report:
        """What is found; `withheld` says of findings why their fix is none."""
        report = summed(self._outcomes.values(), len(self._files))
        findings = (_held(finding, (withheld or {}).get(finding)) for finding in report.findings)
        return replace(report, findings=tuple(findings))

    def covers(self, path: str) -> bool:
        """Whether a file is among the checked ones."""
        return self.absolute(path) in self._files

    def source(self, path: str) -> Source:
        """The present text of a file."""
        return self._places.source(self.absolute(path))

    def data(self, path: str) -> bytes:
        """The present content of a file."""
        return self._places.data(self.absolute(path))

    def found(self) -> list[Found]:
        """The findings, in the order in which they are reported."""
        return merged(self._outcomes.values())

    def tried(self, texts: Mapping[str, Source]) -> list[Found]:
        """The findings there would be with other texts."""
        changed = {self.absolute(path): source.encoded() for path, source in texts.items()}
        overlay = {**self._overlay, **changed}
        if self._trial[0] != overlay:
            places = Places(overlay, self._memory)
            examiner = self._examiner.reading(places)
            outcomes = dict(self._outcomes)
            for path in [path for path in self._files if path in changed or self._sees(path, changed)]:
                outcomes[path] = examiner.examine(self._files[path])
            self._trial = overlay, places, examiner, outcomes
        return merged(self._trial[3].values())

    def accept(self, texts: Mapping[str, Source]) -> None:
        """Take other texts for the present ones."""
        self.tried(texts)
        self._overlay, self._places, self._examiner, self._outcomes = self._trial

    def absolute(self, path: str) -> Path:
        """The path of a file as the system knows it."""
        return Path(os.path.abspath(self._working / path))

    def _sees(self, path: Path, changed: Iterable[Path]) -> bool:
        """Whether what is found in a file may depend on a changed module: it was worth a look, and names it.

        A setting that nothing reads may be read there now.
        """
        if path not in self._outcomes:
            return False
        if any(found.finding.name == NAMED_BY_SINK for found in self._outcomes[path].found):
            return True
        try:
            data = self._places.data(path)
        except OSError:
            return False
        return any(os.fsencode(_module(other)) in data for other in changed)


def _module(path: Path) -> str:
    return path.parent.name if path.stem == "__init__" else path.stem


def _repairable(outcome: Outcome) -> bool:
    return any(found.finding.fix for found in outcome.found)


def _held(finding: Finding, reason: str | None) -> Finding:
    return replace(finding, fix=None, fix_positions=(), fix_withheld=reason) if reason else finding
