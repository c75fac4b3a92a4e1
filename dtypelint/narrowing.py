"""What a run leaves out of its findings: those of a baseline, and those on lines that have not changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dtypelint.baseline import Baseline, Entry
    from dtypelint.changes import Changes
    from dtypelint.examiner import Found
    from dtypelint.settings import Settings


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The findings that stay, the numbers of those that do not, and the entries of the baseline that nothing met."""

    kept: Sequence[Found]
    known: int = 0
    unchanged: int = 0
    gone: tuple[str, ...] = ()


def narrowed(
    found: Sequence[Found], checked: Mapping[Path, Settings], baseline: Baseline | None, changes: Changes | None
) -> Narrowed:
    """Leave out what is known and what has not changed; `checked` are the files of the run."""
    gone: tuple[str, ...] = ()
    before = _shown(found)
    if baseline:
        # the shown ones first: a hidden finding does not take the entry of one that is shown
        found = sorted(found, key=lambda item: item.hidden)
        known, left = baseline.split(item.finding for item in found)
        gone = tuple(str(entry) for entry in left if _expected(baseline, entry, checked))
        found = [item for item, one in zip(found, known, strict=True) if not one]
    new = _shown(found)
    if changes:
        found = [item for item in found if changes.touch(item.finding)]
    return Narrowed(found, before - new, new - _shown(found), gone)


def _shown(found: Sequence[Found]) -> int:
    return sum(not item.hidden for item in found)


def _expected(baseline: Baseline, entry: Entry, checked: Mapping[Path, Settings]) -> bool:
    """Whether this run would have met an entry: its file was checked for the rule, or does not exist any more."""
    path = baseline.place(entry)
    settings = checked.get(path)
    return settings.reports(entry.rule, path) if settings else not path.exists()
