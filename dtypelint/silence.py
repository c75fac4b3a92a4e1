"""Suppression comments for findings, written where they count."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dtypelint.ignores import read_ignores
from dtypelint.languages import Language, language
from dtypelint.notebook import is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dtypelint.finding import Finding
    from dtypelint.source import Source

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
WIDTH = 120


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """Behind a line, or alone above it."""

    line: int
    above: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a file that can carry a comment at their end, and the first and the last line of each statement."""

    open: frozenset[int]
    statements: tuple[range, ...]

    def statement(self, line: int) -> range:
        """The lines of the statement that a line belongs to."""
        return next((lines for lines in self.statements if line in lines), range(line, line + 1))


def silence(source: Source, findings: Iterable[Finding], reason: str = "") -> tuple[Source, list[Finding]]:
    """A file with comments that suppress its findings, and the findings that no comment can suppress."""
    wanted: dict[Spot, list[Finding]] = {}
    left: list[Finding] = []
    layout = _layout(source)
    for finding in findings:
        spot = _spot(source, layout, finding, reason) if layout else None
        (left if spot is None else wanted.setdefault(spot, [])).append(finding)
    new = _written(source, wanted, reason)
    silent = _silent(new, wanted)
    if lost := [spot for spot in wanted if spot not in silent]:
        left += [finding for spot in lost for finding in wanted.pop(spot)]
        new = _written(source, wanted, reason)
    return new, left


def _layout(source: Source) -> Layout | None:
    """Where a Python file can be commented; every line of a configuration file may be; nothing of JSON."""
    lines = len(source.starts)
    read_as = language(source.path)
    if read_as is Language.JSON or is_notebook(source.path):
        return None
    if read_as not in (None, Language.PYTHON):
        return Layout(frozenset(), ())
    ends: set[int] = set()
    statements = []
    start = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(re.sub(r"\r\n?", "\n", source.text)).readline):
            if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT):
                ends.add(token.start[0])
            if token.type == tokenize.NEWLINE:
                statements.append(range(start, token.start[0] + 1))
                start = 0
            elif not start and token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                start = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return None
    return Layout(frozenset(line for line in ends if line <= lines), tuple(statements))


def _spot(source: Source, layout: Layout, finding: Finding, reason: str) -> Spot | None:
    """Behind the first line of the finding that can carry a comment and has the room; else above its statement."""
    first, last = finding.position.line, finding.position.end_line
    if not layout.statements:
        continued = first > 1 and source.line(first - 1).endswith("\\")
        return None if continued else Spot(first, above=True)
    statement = layout.statement(first)
    room = WIDTH - len(_comment([finding], reason)) - 2
    for line in (*range(first, last + 1), statement.stop - 1):
        if line in layout.open and len(source.line(line)) <= room:
            return Spot(line)
    return Spot(statement.start, above=True)


def _comment(findings: Iterable[Finding], reason: str) -> str:
    codes = ", ".join(sorted({finding.code for finding in findings}))
    return f"# dtypelint: ignore[{codes}] {reason}".rstrip()


def _written(source: Source, wanted: dict[Spot, list[Finding]], reason: str) -> Source:
    lines = [line for line in LINE.findall(source.text) if line]
    for spot in sorted(wanted, reverse=True):
        comment = _comment(wanted[spot], reason)
        text = lines[spot.line - 1]
        body = text.rstrip("\r\n")
        if spot.above:
            indent = body[: len(body) - len(body.lstrip())]
            lines.insert(spot.line - 1, f"{indent}{comment}{source.newline}")
        else:
            lines[spot.line - 1] = f"{body.rstrip()}  {comment}{text[len(body) :]}"
    return replace(source, text="".join(lines))


def _silent(new: Source, wanted: dict[Spot, list[Finding]]) -> set[Spot]:
    """The spots whose comment covers its findings in the new text."""
    comments, _ = read_ignores(new)
    above = sorted(spot.line for spot in wanted if spot.above)
    silent = set()
    for spot, findings in wanted.items():
        covered = True
        for finding in findings:
            first, last = (
                line + sum(inserted <= line for inserted in above)
                for line in (finding.position.line, finding.position.end_line)
            )
            covered &= any(finding.code in each.names and each.covers(first, last) for each in comments)
        if covered:
            silent.add(spot)
    return silent
