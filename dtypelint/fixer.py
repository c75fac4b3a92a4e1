"""Edits to new text. Nothing is written here: what a fix must keep is checked, and what fails is not applied.

Fixes whose edits touch are never merged: the first is applied, the file is checked again, and the next one is made anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from dtypelint.facts.whole import damage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dtypelint.finding import Edit, Finding, Fix, Position
    from dtypelint.source import Source

    Texts = Mapping[str, Source]
    Wanted = Callable[[Finding, Mapping[str, tuple[Source, Source]]], bool]

PASSES = 50


class Item(Protocol):
    """A finding as the engine keeps it; hidden ones are not fixed, and not new either once they show."""

    @property
    def finding(self) -> Finding: ...
    @property
    def hidden(self) -> bool: ...


class Workspace(Protocol):
    """The checked files, in their present state and in one that is tried out."""

    def source(self, path: str) -> Source: ...
    def data(self, path: str) -> bytes: ...
    def found(self) -> Sequence[Item]: ...
    def tried(self, texts: Texts) -> Sequence[Item]: ...
    def accept(self, texts: Texts) -> None: ...
    def covers(self, path: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Change:
    """A file that came out different."""

    path: str
    before: Source
    after: Source


@dataclass(slots=True)
class Result:
    """What was done. `fixed` are the findings as they were when they were fixed, `withheld` reasons by finding."""

    changes: list[Change] = field(default_factory=list)
    fixed: list[Finding] = field(default_factory=list)
    withheld: dict[Finding, str] = field(default_factory=dict)

    def groups(self) -> list[list[Change]]:
        """The changes in sets that must be written whole or not at all: those that one fix joins."""
        sets = [{change.path} for change in self.changes]
        for finding in self.fixed:
            paths = paths_of(finding.fix)
            joined = [each for each in sets if each & paths]
            sets = [each for each in sets if not each & paths] + ([set().union(*joined)] if joined else [])
        by_path = {change.path: change for change in self.changes}
        return [[by_path[path] for path in sorted(each)] for each in sorted(sets, key=min)]


def paths_of(fix: Fix | None) -> set[str]:
    """The files that a fix edits."""
    return {edit.location.path for edit in fix.edits} if fix else set()


def edited(source: Source, edits: Iterable[Edit]) -> Source:
    """A source with edits applied that do not overlap; insertions at one place keep their order."""
    data = source.data
    ordered = sorted(edits, key=lambda edit: edit.location.span)
    for edit in reversed(ordered):
        span = edit.location.span
        data = data[: span.start] + edit.text.encode() + data[span.end :]
    return replace(source, text=data.decode())


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits speak of the same text."""
    a, b = one.location.span, other.location.span
    return one.location.path == other.location.path and a.start < b.end and b.start < a.end


def touch(one: Edit, other: Edit) -> bool:
    """Whether two edits overlap, or one inserts at the border of the other: their order would be a guess."""
    a, b = one.location.span, other.location.span
    inserts = a.start == a.end or b.start == b.end
    borders = one.location.path == other.location.path and a.start <= b.end and b.start <= a.end
    return overlap(one, other) or (inserts and borders)


def clash(one: Fix, other: Fix) -> bool:
    """Whether two fixes cannot be applied to the same text."""
    return any(touch(a, b) for a in one.edits for b in other.edits)


def applied(workspace: Workspace, fixes: Iterable[Fix]) -> dict[str, Source]:
    """The new texts of the files that fixes edit."""
    by_path: dict[str, list[Edit]] = {}
    for fix in fixes:
        for edit in fix.edits:
            by_path.setdefault(edit.location.path, []).append(edit)
    return {path: edited(workspace.source(path), edits) for path, edits in by_path.items()}


def unsound(workspace: Workspace, fix: Fix) -> str:
    """Why a fix must not be applied, judged by the text alone; empty when it may."""
    for path in sorted(paths_of(fix)):
        if not workspace.covers(path):
            return f"it also edits {path}, which is not among the files to fix"
    for index, edit in enumerate(fix.edits):
        for other in fix.edits[index + 1 :]:
            if overlap(edit, other):
                return "its own edits overlap"
    for path, after in applied(workspace, [fix]).items():
        before = workspace.source(path)
        if after.text == before.text:
            return "it changes nothing"
        if before.encoded() != workspace.data(path):
            return f"{path}: its encoding ({before.encoding}) does not give the same bytes back"
        try:
            after.encoded()
        except UnicodeEncodeError:
            return f"the new text cannot be written in the encoding of {path} ({after.encoding})"
        reason = damage(path, before.text, after.text)
        if reason:
            return f"{path}: {reason}"
    return ""


class Fixer:
    """Applies what is wanted in passes, until nothing is left that can be applied."""

    def __init__(self, workspace: Workspace, wanted: Wanted) -> None:
        self._workspace = workspace
        self._wanted = wanted
        self._declined: set[tuple[str, str, int]] = set()
        self._reasons: dict[tuple[str, str, int], str] = {}
        self._before: dict[str, Source] = {}
        self._result = Result()

    def run(self) -> Result:
        """Fix, and say what came of it."""
        for _ in range(PASSES):
            taken = self._good(self._taken())
            if not taken:
                break
            self._accept(taken)
        result = self._result
        result.changes = [
            Change(path, before, after)
            for path, before in sorted(self._before.items())
            if (after := self._workspace.source(path)).text != before.text
        ]
        for item in self._workspace.found():
            reason = self._reasons.get(self._key(item.finding))
            if reason and item.finding.fix:
                result.withheld[item.finding] = reason
        return result

    def _key(self, finding: Finding) -> tuple[str, str, int]:
        return finding.code, finding.position.path, self._start(finding.position)

    def _start(self, position: Position) -> int:
        return self._workspace.source(position.path).start(position)

    def _taken(self) -> list[Finding]:
        """The findings whose fixes fit together and are wanted."""
        taken: list[Finding] = []
        for item in self._workspace.found():
            finding = item.finding
            if item.hidden or not finding.fix or self._key(finding) in self._declined:
                continue
            if any(clash(finding.fix, other.fix) for other in taken if other.fix):
                continue
            reason = unsound(self._workspace, finding.fix)
            if reason:
                self._refuse(finding, reason)
            elif self._wanted(finding, self._shown(finding.fix)):
                taken.append(finding)
            else:
                self._declined.add(self._key(finding))
        return taken

    def _shown(self, fix: Fix) -> dict[str, tuple[Source, Source]]:
        return {path: (self._workspace.source(path), after) for path, after in applied(self._workspace, [fix]).items()}

    def _refuse(self, finding: Finding, reason: str) -> None:
        self._declined.add(self._key(finding))
        self._reasons[self._key(finding)] = reason

    def _good(self, taken: list[Finding]) -> list[Finding]:
        """Those of the taken that clear their findings and bring no new ones: all, or found by halving."""
        if not taken:
            return []
        reason = self._verdict(taken)
        if not reason:
            return taken
        if len(taken) == 1:
            self._refuse(taken[0], reason)
            return []
        middle = len(taken) // 2
        good = self._good(taken[:middle]) + self._good(taken[middle:])
        if len(good) == len(taken) or self._verdict(good):
            # each is good alone: the others are made anew in the next pass
            return good[:1]
        return good

    def _verdict(self, taken: list[Finding]) -> str:
        """What is wrong with the findings after some fixes; empty when nothing is."""
        if not taken:
            return ""
        fixes = [finding.fix for finding in taken if finding.fix]
        texts = applied(self._workspace, fixes)
        shift = Shift(fixes)
        expected = Counter(
            (item.finding.code, item.finding.position.path, place)
            for item in self._workspace.found()
            if item.finding not in taken
            for place in [shift(item.finding.position.path, self._start(item.finding.position))]
        )
        gone = {
            (f.code, f.position.path, shift(f.position.path, self._start(f.position))): f.position.line for f in taken
        }
        for item in self._workspace.tried(texts):
            finding = item.finding
            path = finding.position.path
            source = texts.get(path) or self._workspace.source(path)
            start = source.start(finding.position)
            known = next(
                (
                    key
                    for key in expected
                    if key[:2] == (finding.code, path) and key[2][0] <= start <= key[2][1] and expected[key]
                ),
                None,
            )
            if known is not None:
                expected[known] -= 1
            elif any(key[:2] == (finding.code, path) and key[2][0] <= start <= key[2][1] for key in gone):
                return "the finding would still be there"
            else:
                return f"it would bring {finding.code} in line {finding.position.line} of {path}: {finding.message}"
        return ""

    def _accept(self, taken: list[Finding]) -> None:
        fixes = [finding.fix for finding in taken if finding.fix]
        texts = applied(self._workspace, fixes)
        shift = Shift(fixes)
        for path in texts:
            self._before.setdefault(path, self._workspace.source(path))
        self._workspace.accept(texts)
        # a place is followed to where its text went
        self._declined = {(code, path, shift(path, at)[1]) for code, path, at in self._declined}
        self._reasons = {(code, path, shift(path, at)[1]): why for (code, path, at), why in self._reasons.items()}
        self._result.fixed += taken


class Shift:
    """Where the places of a text are after edits."""

    def __init__(self, fixes: Iterable[Fix]) -> None:
        self._edits: dict[str, list[Edit]] = {}
        for fix in fixes:
            for edit in fix.edits:
                self._edits.setdefault(edit.location.path, []).append(edit)

    def __call__(self, path: str, place: int) -> tuple[int, int]:
        """The first and last offset at which a place can be found again; they differ where an edit touches it."""
        first = last = place
        for edit in self._edits.get(path, ()):
            span, size = edit.location.span, len(edit.text.encode())
            grown = size - (span.end - span.start)
            if span.end < place or (span.end == place and span.start < span.end):
                first, last = first + grown, last + grown
            elif span.start == span.end == place:
                last += size
            elif span.start <= place < span.end:
                first, last = first - (place - span.start), last - (place - span.start) + size
        return first, last
