"""Findings and rules as JSON; `schema/findings.schema.json` describes it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from dtypelint.finding import Safety, Severity
from dtypelint.knowledge import rule_url

if TYPE_CHECKING:
    from dtypelint.finding import Finding, Fix, Position, Report
    from dtypelint.knowledge import Rule
    from dtypelint.reports.surroundings import Surroundings

VERSION = 1


def render(report: Report, _around: Surroundings) -> str:
    """The whole report."""
    document = {
        "version": VERSION,
        "findings": [finding(item) for item in report.findings],
        "summary": {
            "files": report.files,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
            "fixable": report.fixable(Safety.SAFE),
            "fixable_unsafe": report.fixable(Safety.UNSAFE),
            "hidden": report.hidden,
            "known": report.known,
            "unchanged": report.unchanged,
            "internal_errors": len(report.internal),
            "rules": dict(sorted(Counter(item.code for item in report.findings).items())),
        },
    }
    return json.dumps(document, indent=2) + "\n"


def rule(rule: Rule) -> dict[str, Any]:
    """The metadata of a rule."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": list(rule.severities),
        "fix": list(rule.fixes),
        "pedantic": rule.pedantic,
        "since": rule.since,
        "smoke": rule.smoke,
        "seen": list(rule.seen),
        "url": rule_url(rule.name),
    }


def rules(found: tuple[Rule, ...]) -> str:
    """All rules."""
    return json.dumps([rule(item) for item in found], indent=2) + "\n"


def explanation(found: Rule) -> str:
    """One rule with its page."""
    return json.dumps({**rule(found), "page": found.page}, indent=2) + "\n"


def _span(position: Position) -> dict[str, Any]:
    return {
        "path": position.path,
        "cell": position.cell,
        "line": position.line,
        "column": position.column,
        "end_line": position.end_line,
        "end_column": position.end_column,
    }


def finding(finding: Finding) -> dict[str, Any]:
    """A finding as `schema/findings.schema.json` describes it."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "message": finding.message,
        **_span(finding.position),
        "source": finding.source,
        "related": [
            {
                "path": note.position.path,
                "cell": note.position.cell,
                "line": note.position.line,
                "column": note.position.column,
                "message": note.message,
            }
            for note in finding.related
        ],
        "fix": _fix(finding.fix, finding.fix_positions) if finding.fix else None,
        "fix_withheld": finding.fix_withheld,
        "url": finding.url,
    }


def _fix(fix: Fix, positions: tuple[Position, ...]) -> dict[str, Any]:
    return {
        "safety": fix.safety,
        "description": fix.description,
        "edits": [{**_span(position), "text": edit.text} for edit, position in zip(fix.edits, positions, strict=True)],
    }
