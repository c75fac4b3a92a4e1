"""JUnit XML, which most CI services show: a suite for each file with findings, and one test that stands for the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from dtypelint.finding import Severity
from dtypelint.reports import text
from dtypelint.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.finding import Finding, Report
    from dtypelint.reports.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of one file, as elements, and how they ended."""

    name: str
    cases: list[str]
    failures: int = 0
    skipped: int = 0

    @property
    def tests(self) -> int:
        """How many there are."""
        return len(self.cases)


def render(report: Report, _around: Surroundings) -> str:
    """Errors and warnings are failures, notes are skipped tests."""
    suites: list[Suite] = []
    for path, group in groupby(report.findings, key=lambda finding: finding.position.path):
        findings = list(group)
        notes = sum(finding.severity is Severity.NOTE for finding in findings)
        suites.append(Suite(visible(path), [_case(finding) for finding in findings], len(findings) - notes, notes))
    clean = report.files - len(suites)
    if clean > 0 or not suites:
        name = f"{text.number(clean, 'file')} without findings"
        suites.append(Suite("dtypelint", [f"    <testcase {_attributes(name=name, classname='dtypelint')}/>"]))
    return "".join(f"{line}\n" for line in _document(suites))


def _document(suites: list[Suite]) -> Iterator[str]:
    total = _counts(*(sum(getattr(suite, name) for suite in suites) for name in ("tests", "failures", "skipped")))
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f"<testsuites {_attributes(name='dtypelint', **total)}>"
    for suite in suites:
        counts = _counts(suite.tests, suite.failures, suite.skipped)
        yield f"  <testsuite {_attributes(name=suite.name, **counts)}>"
        yield from suite.cases
        yield "  </testsuite>"
    yield "</testsuites>"


def _counts(tests: int, failures: int, skipped: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _attributes(**values: str) -> str:
    return " ".join(f"{key}={quoteattr(value)}" for key, value in values.items())


def _case(finding: Finding) -> str:
    place = finding.position
    where = "" if place.cell is None else f"cell {place.cell}:"
    about = _attributes(
        name=f"{finding.code} {finding.name} ({where}{place.line}:{place.column})",
        classname=visible(place.path).removesuffix(".py").replace("/", "."),
        file=visible(place.path),
        line=str(place.lines[0]),
    )
    message = _attributes(message=visible(finding.message), type=finding.severity.value)
    tag = "skipped" if finding.severity is Severity.NOTE else "failure"
    body = escape(text.finding(finding)).rstrip("\n")
    return f"    <testcase {about}>\n      <{tag} {message}>{body}</{tag}>\n    </testcase>"
