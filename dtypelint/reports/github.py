"""Annotations of GitHub Actions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.finding import Severity
from dtypelint.reports.escape import visible

if TYPE_CHECKING:
    from dtypelint.finding import Finding, Report

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
# actions/runner: `_maxIssueMessageLength`
LONGEST = 4096


def render(report: Report, workspace: str | None = None) -> str:
    """One command for each finding; paths are relative to the workspace, or to the working folder without one."""
    return "".join(f"{_command(finding, workspace)}\n" for finding in report.findings)


def escape(text: str) -> str:
    """The text of a message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a property."""
    return escape(text).replace(":", "%3A").replace(",", "%2C")


def _command(finding: Finding, workspace: str | None) -> str:
    place = finding.position
    properties = {
        "file": visible(_relative(place.path, workspace)),
        "line": str(place.line),
        "endLine": str(place.end_line),
    }
    # actions/runner: columns are dropped where the lines differ, or where the end stands before the start
    if place.line == place.end_line:
        properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = f"dtypelint {finding.code}: {finding.name}"
    named = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {named}::{escape(_message(finding, workspace))}"


def _message(finding: Finding, workspace: str | None) -> str:
    lines = [visible(finding.message)]
    for note in finding.related:
        path = visible(_relative(note.position.path, workspace))
        lines.append(f"{path}:{note.position.line}: {visible(note.message)}")
    if finding.fix:
        lines.append(f"fix: {visible(finding.fix.description)} ({finding.fix.safety})")
    if finding.fix_withheld:
        lines.append(f"fix withheld: {visible(finding.fix_withheld)}")
    if finding.url:
        lines.append(f"docs: {finding.url}")
    return "\n".join(lines)[:LONGEST]


def _relative(path: str, workspace: str | None) -> str:
    absolute = Path(os.path.abspath(path))
    if workspace and absolute.is_relative_to(workspace):
        return absolute.relative_to(workspace).as_posix()
    return path
