"""One JSON document on each line, for a stream of findings; each is a `finding` of `schema/findings.schema.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dtypelint.reports.data import finding as as_data

if TYPE_CHECKING:
    from dtypelint.finding import Report
    from dtypelint.reports.surroundings import Surroundings


def render(report: Report, _around: Surroundings) -> str:
    """One line for each finding."""
    return "".join(f"{json.dumps(as_data(finding))}\n" for finding in report.findings)
