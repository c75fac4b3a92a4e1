"""The pipeline: paths → files → findings → report."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.examiner import Examiner, Outcome
from dtypelint.files import File, Walk
from dtypelint.finding import Report
from dtypelint.knowledge import Knowledge
from dtypelint.narrowing import Narrowed, narrowed
from dtypelint.places import Places
from dtypelint.settings import Configuration, Flags
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from dtypelint.baseline import Baseline
    from dtypelint.changes import Changes
    from dtypelint.examiner import Found, Place
    from dtypelint.source import Source

FEW = 20
LIMIT = 300.0
NAMED_BY_SINK = "unread-precision-setting"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the flags that stand above the settings, and what no file can set."""

    flags: Flags = field(default_factory=Flags)
    ignores: bool = True
    jobs: int = 0
    prefilter: bool = True
    stdin: tuple[Path, bytes] | None = None
    baseline: Baseline | None = None
    changes: Changes | None = None
    progress: Callable[[int, int], None] | None = None


def run(paths: Iterable[Path], options: Options) -> Report:
    """Check files and folders."""
    checked = Run(paths, options)
    outcomes = checked.outcomes.values()
    settings = {file.path: file.settings for file in checked.files}
    return summed(outcomes, len(checked.files), narrowed(merged(outcomes), settings, options.baseline, options.changes))


class Run:
    """The files of a run with what was found in them."""

    def __init__(self, paths: Iterable[Path], options: Options) -> None:
        rules = Knowledge().rules
        walk = Walk(Configuration(rules, options.flags))
        self.overlay = {Path(os.path.abspath(options.stdin[0])): options.stdin[1]} if options.stdin else {}
        self.files = walk.files([*paths, *self.overlay], self.overlay)
        self.examiner = Examiner(rules, self.files, self.overlay, ignores=options.ignores, prefilter=options.prefilter)
        candidates = [file for file in self.files if self.examiner.worth_reading(file)]
        told = options.progress or (lambda _done, _total: None)
        results = _outcomes(self.examiner, candidates, options.jobs, told)
        self.outcomes = {file.path: result for file, result in zip(candidates, results, strict=True)}


def reader(options: Options) -> Callable[[str], Source | None]:
    """Reads a file by the path of a finding; None where it is not to be had."""
    places = Places({Path(os.path.abspath(options.stdin[0])): options.stdin[1]} if options.stdin else {})

    def read(path: str) -> Source | None:
        try:
            return places.source(Path(os.path.abspath(path)))
        except (OSError, Unreadable):
            return None

    return read


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _outcomes(examiner: Examiner, files: Sequence[File], jobs: int, told: Callable[[int, int], None]) -> list[Outcome]:
    jobs = jobs or cores()
    if len(files) <= FEW or jobs == 1 or not hasattr(os, "fork"):
        outcomes = []
        for number, file in enumerate(files, 1):
            outcomes.append(examiner.examine(file))
            told(number, len(files))
        return outcomes
    from dtypelint.forks import Lost, spread

    examiner.prepare()
    results = spread(lambda piece: examiner.examine(files[piece]), len(files), jobs, LIMIT, told)
    return [
        examiner.lost(file, result.reason) if isinstance(result, Lost) else result
        for file, result in zip(files, results, strict=True)
    ]


def summed(outcomes: Collection[Outcome], files: int, rest: Narrowed | None = None) -> Report:
    """The report of a run over a number of files, and of what it leaves out."""
    rest = rest or Narrowed(merged(outcomes))
    shown = [item for item in rest.kept if not item.hidden]
    return Report(
        findings=tuple(item.finding for item in shown),
        files=files,
        hidden=len(rest.kept) - len(shown),
        known=rest.known,
        unchanged=rest.unchanged,
        gone=rest.gone,
        failed=any(item.fails for item in shown),
        internal=tuple(text for outcome in outcomes for text in outcome.internal),
    )


def merged(outcomes: Collection[Outcome]) -> list[Found]:
    """The findings of several files, in the order in which they are reported."""
    causes = {place for outcome in outcomes for place in outcome.causes}
    found = (found for outcome in outcomes for found in outcome.found if not _named(found, causes))
    return sorted(found, key=_order)


def _named(found: Found, causes: set[Place]) -> bool:
    """Whether a sink finding already names the setting that this one calls unread."""
    path, span = found.place
    return found.finding.name == NAMED_BY_SINK and any(
        path == other and span.start < place.end and place.start < span.end for other, place in causes
    )


def _order(found: Found) -> tuple[str, int, int, str, str]:
    finding = found.finding
    position = finding.position
    return (position.path, position.line, position.column, finding.code, finding.message)
