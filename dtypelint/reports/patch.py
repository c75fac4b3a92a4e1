"""Fixes as text: one replacement, or a diff."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from dtypelint.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Edit, Fix
    from dtypelint.reports.surroundings import Surroundings
    from dtypelint.source import Source

LINES = 2


def merged(source: Source, edits: list[Edit]) -> tuple[Span, str]:
    """Edits of one file as one: the span that holds them all, and what stands there afterwards."""
    spans = [(edit.location.span, edit.text) for edit in sorted(edits, key=lambda edit: edit.location.span)]
    whole = Span(spans[0][0].start, max(span.end for span, _ in spans))
    parts: list[str] = []
    last = whole.start
    for span, text in spans:
        parts += [source.slice(Span(last, span.start)), text]
        last = span.end
    return whole, "".join(parts)


def by_file(fix: Fix) -> dict[str, list[Edit]]:
    """The edits of a fix by the path of their file."""
    found: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        found.setdefault(edit.location.path, []).append(edit)
    return found


def diff(fix: Fix, around: Surroundings) -> str:
    """The unified diff of a fix, with paths below the base; empty where a text cannot be had any more."""
    lines: list[str] = []
    for path, edits in by_file(fix).items():
        source = around.text(path)
        if source is None:
            return ""
        span, text = merged(source, edits)
        new = source.slice(Span(0, span.start)) + text + source.slice(Span(span.end, len(source.data)))
        name = around.path(path)
        lines += _unified(source.text, new, name)
    return "\n".join(lines)


def _unified(old: str, new: str, name: str) -> Iterator[str]:
    before, after = (text.replace("\r\n", "\n").split("\n") for text in (old, new))
    yield from difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=LINES, lineterm="")
