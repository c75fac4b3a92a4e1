"""The Code Quality report of GitLab."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dtypelint.finding import Severity
from dtypelint.reports.escape import visible
from dtypelint.reports.fingerprint import identities

if TYPE_CHECKING:
    from dtypelint.finding import Report
    from dtypelint.reports.surroundings import Surroundings

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: Report, around: Surroundings) -> str:
    """A list of findings; paths are relative to the root of the repository."""
    entries = [
        {
            "description": finding.position.inside + visible(finding.message),
            "check_name": finding.code,
            "fingerprint": identity,
            "severity": SEVERITIES[finding.severity],
            "content": {"body": f"{finding.name}: {finding.url}"},
            "location": {
                "path": around.path(finding.position.path),
                "lines": dict(zip(("begin", "end"), finding.position.lines, strict=True)),
            },
        }
        for finding, identity in zip(report.findings, identities(report.findings), strict=True)
    ]
    return json.dumps(entries, indent=2) + "\n"
