"""Annotations of GitHub Actions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from uuid import uuid4

from dtypelint.finding import Confidence, Severity
from dtypelint.reports.escape import visible
from dtypelint.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dtypelint.finding import Finding, Report
    from dtypelint.reports.surroundings import Surroundings

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# actions/runner: `_maxIssueMessageLength`, and the annotations of each kind that a step may make
LONGEST = 4096
# actions/runner: `ActionCommand.TryParseV2` and `TryParse`
COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)
SLOTS = 10


def render(report: Report, around: Surroundings) -> str:
    """One command for each finding that gets a slot, and one that counts the others; paths are relative to the checkout."""
    shown = chosen(report.findings)
    lines = [_command(finding, around) for finding in shown]
    if left := len(report.findings) - len(shown):
        lines.append(f"::warning title=dtypelint::{number(left, 'more finding')}: see the job summary or the log")
    return "".join(f"{line}\n" for line in lines)


def chosen(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that GitHub can show: of each kind the surest, and each rule of a file before its repetitions.

    Where some have to go, the last warning is kept free for their number.
    """
    ranked: dict[Severity, list[Finding]] = {severity: [] for severity in Severity}
    for finding in _ranked(findings):
        ranked[finding.severity].append(finding)
    crowded = any(len(found) > SLOTS for found in ranked.values())
    slots = {severity: SLOTS - (crowded and severity is Severity.WARNING) for severity in Severity}
    return [finding for severity, found in ranked.items() for finding in found[: slots[severity]]]


def _ranked(findings: Iterable[Finding]) -> list[Finding]:
    seen: Counter[tuple[str, str]] = Counter()
    keyed = []
    sureness = list(Confidence)
    for finding in findings:
        key = (finding.position.path, finding.code)
        keyed.append((sureness.index(finding.confidence), seen[key], finding))
        seen[key] += 1
    return [finding for *_, finding in sorted(keyed, key=lambda item: item[:2])]


def group(report: Report, around: Surroundings) -> str:
    """The annotations behind another report, folded away in the log."""
    commands = render(report, around)
    return f"::group::dtypelint annotations\n{commands}::endgroup::\n" if commands else ""


def protected(text: str) -> str:
    """Text for a log; the runner is told to run none of it where a line looks like a command."""
    if not COMMAND.search(text):
        return text
    token = uuid4().hex
    return f"::stop-commands::{token}\n{text}::{token}::\n"


def escape(text: str) -> str:
    """The text of a message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a property."""
    return escape(text).replace(":", "%3A").replace(",", "%2C")


def _command(finding: Finding, around: Surroundings) -> str:
    place = finding.position
    properties = {
        "file": visible(around.path(place.path)),
        "line": str(place.lines[0]),
        "endLine": str(place.lines[1]),
    }
    # actions/runner: columns are dropped where the lines differ, or where the end stands before the start
    if place.line == place.end_line and not place.stored:
        properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = f"dtypelint {finding.code}: {finding.name}"
    named = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {named}::{escape(_message(finding, around))}"


def _message(finding: Finding, around: Surroundings) -> str:
    lines = [finding.position.inside + visible(finding.message)]
    for note in finding.related:
        path = visible(around.path(note.position.path))
        lines.append(f"{path}:{note.position.lines[0]}: {note.position.inside}{visible(note.message)}")
    if finding.fix:
        lines.append(f"fix: {visible(finding.fix.description)} ({finding.fix.safety})")
    if finding.fix_withheld:
        lines.append(f"fix withheld: {visible(finding.fix_withheld)}")
    if finding.url:
        lines.append(f"docs: {finding.url}")
    return "\n".join(lines)[:LONGEST]
