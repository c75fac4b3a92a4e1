"""The diagnostics of reviewdog, with fixes as suggestions on a pull request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dtypelint.finding import Severity
from dtypelint.reports.columns import in_utf8
from dtypelint.reports.patch import by_file, merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Finding, Position, Report
    from dtypelint.reports.surroundings import Surroundings

SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}
SOURCE = {"name": "dtypelint", "url": "https://github.com/dtypelint/dtypelint"}


def render(report: Report, around: Surroundings) -> str:
    """A `DiagnosticResult`; paths are relative to the root of the repository, columns count bytes of UTF-8."""
    diagnostics = [_diagnostic(finding, around) for finding in report.findings]
    return json.dumps({"source": SOURCE, "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(finding: Finding, around: Surroundings) -> dict[str, Any]:
    found: dict[str, Any] = {
        "message": "\n".join([finding.position.inside + finding.message, *_related(finding, around)]),
        "location": _location(finding.position, around),
        "severity": SEVERITIES[finding.severity],
        "code": {"value": finding.code, "url": finding.url},
    }
    if suggestion := _suggestion(finding, around):
        found["suggestions"] = [suggestion]
    return found


def _related(finding: Finding, around: Surroundings) -> Iterator[str]:
    """The other places as lines: reviewdog shows nothing but the message."""
    for note in finding.related:
        place = note.position
        yield f"{around.path(place.path)}:{place.lines[0]}: {place.inside}{note.message}"
    if finding.fix_withheld:
        yield f"fix withheld: {finding.fix_withheld}"


def _location(position: Position, around: Surroundings) -> dict[str, Any]:
    text = around.text(position.path)
    start, end = ({"line": line} for line in position.lines)
    if not position.stored:
        start["column"] = in_utf8(text, position.line, position.column)
        end["column"] = in_utf8(text, position.end_line, position.end_column)
    return {"path": around.path(position.path), "range": {"start": start, "end": end}}


def _suggestion(finding: Finding, around: Surroundings) -> dict[str, Any] | None:
    """The fix as one replacement; none where it edits other files than that of the finding."""
    path = finding.position.path
    source = around.text(path)
    if not finding.fix or source is None:
        return None
    files = by_file(finding.fix)
    if set(files) != {path}:
        return None
    span, text = merged(source, files[path])
    points = {}
    for name, offset in (("start", span.start), ("end", span.end)):
        line, _ = source.position(offset)
        points[name] = {"line": line, "column": offset - source.starts[line - 1] + 1}
    return {"range": points, "text": text}
