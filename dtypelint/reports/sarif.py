"""SARIF 2.1.0, as code scanning on GitHub and editors read it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dtypelint.finding import Severity
from dtypelint.knowledge import rule_url
from dtypelint.notebook import Notebook
from dtypelint.reports.columns import in_utf16
from dtypelint.reports.fingerprint import line_hashes
from dtypelint.reports.surroundings import quote

if TYPE_CHECKING:
    from dtypelint.finding import Finding, Position, Report
    from dtypelint.knowledge import Rule
    from dtypelint.reports.surroundings import Surroundings
    from dtypelint.source import Source

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
# code scanning: `problem.severity` of a query
PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
SHORT = 1024


def render(report: Report, around: Surroundings) -> str:
    """One run with all findings."""
    return json.dumps(_Log(around).log(report), indent=2) + "\n"


class _Log:
    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.numbers = {rule.code: number for number, rule in enumerate(around.rules)}
        self.hashes = lru_cache(8)(self._hashes)

    def log(self, report: Report) -> dict[str, Any]:
        driver = {
            "name": "dtypelint",
            "informationUri": "https://github.com/dtypelint/dtypelint",
            "semanticVersion": self.around.version,
            "rules": [_rule(rule) for rule in self.around.rules],
        }
        defects = [{"level": "error", "message": {"text": text}} for text in report.internal]
        invocation: dict[str, Any] = {"executionSuccessful": not defects}
        if defects:
            invocation["toolExecutionNotifications"] = defects
        run = {
            "tool": {"driver": driver},
            "invocations": [invocation],
            "automationDetails": {"id": "dtypelint/"},
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the checkout."}}},
            "results": [self.result(finding) for finding in report.findings],
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def result(self, finding: Finding) -> dict[str, Any]:
        place = finding.position
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "level": finding.severity.value,
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": self.physical(place)}],
            "properties": {"confidence": finding.confidence.value},
        }
        if finding.code in self.numbers:
            result["ruleIndex"] = self.numbers[finding.code]
        hashes = self.hashes(place.path)
        if place.lines[0] <= len(hashes):
            result["partialFingerprints"] = {"primaryLocationLineHash": hashes[place.lines[0] - 1]}
        if finding.related:
            result["relatedLocations"] = [
                {"id": number, **self.located(note.position, note.message)}
                for number, note in enumerate(finding.related, 1)
            ]
            result["codeFlows"] = [self.flow(finding)]
        if finding.fix and finding.fix_positions:
            result["fixes"] = [self.fix(finding)]
            result["properties"]["fixSafety"] = finding.fix.safety.value
        return result

    def flow(self, finding: Finding) -> dict[str, Any]:
        """From the places that the finding rests on to the place where the setting is lost."""
        steps = [self.located(note.position, note.message) for note in finding.related]
        steps.append(self.located(finding.position, finding.message))
        return {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}

    def fix(self, finding: Finding) -> dict[str, Any]:
        assert finding.fix
        changes: dict[str, list[dict[str, Any]]] = {}
        for edit, position in zip(finding.fix.edits, finding.fix_positions, strict=True):
            region = self.physical(position)["region"]
            replacement: dict[str, Any] = {"deletedRegion": region}
            if edit.text:
                replacement["insertedContent"] = {"text": edit.text}
            changes.setdefault(position.path, []).append(replacement)
        return {
            "description": {"text": f"{finding.fix.description} ({finding.fix.safety})"},
            "artifactChanges": [
                {"artifactLocation": self.artifact(path), "replacements": replacements}
                for path, replacements in changes.items()
            ],
        }

    def located(self, position: Position, message: str) -> dict[str, Any]:
        return {"physicalLocation": self.physical(position), "message": {"text": position.inside + message}}

    def physical(self, position: Position) -> dict[str, Any]:
        region = dict(zip(("startLine", "endLine"), position.lines, strict=True))
        if not position.stored:
            text = self.around.text(position.path)
            region["startColumn"] = in_utf16(text, position.line, position.column)
            region["endColumn"] = in_utf16(text, position.end_line, position.end_column)
        return {"artifactLocation": self.artifact(position.path), "region": region}

    def artifact(self, path: str) -> dict[str, str]:
        found = self.around.path(path)
        if found.startswith("/"):
            return {"uri": f"file://{quote(found)}"}
        return {"uri": quote(found), "uriBaseId": ROOT}

    def _hashes(self, path: str) -> list[str]:
        text = self.around.text(path)
        return line_hashes(as_stored(text)) if text else []


def as_stored(source: Source) -> str:
    """The text as a reader sees it who takes every file for UTF-8."""
    if isinstance(source, Notebook):
        return ("\ufeff" if source.bom else "") + source.stored
    if source.encoding == "utf-8":
        return ("\ufeff" if source.bom else "") + source.text
    return source.text.encode(source.encoding).decode("utf-8", "replace")


def _message(finding: Finding) -> str:
    lines = [finding.position.inside + finding.message]
    if finding.fix:
        lines.append(f"Fix ({finding.fix.safety}): {finding.fix.description}.")
    if finding.fix_withheld:
        lines.append(f"The fix is withheld: {finding.fix_withheld}.")
    return "\n".join(lines)


def _rule(rule: Rule) -> dict[str, Any]:
    url = rule_url(rule.name)
    prose = rule.prose
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary[:SHORT]},
        "fullDescription": {"text": rule.summary[:SHORT]},
        "helpUri": url,
        "help": {
            "text": f"{rule.summary}\n\n{prose}\n\n{url}",
            "markdown": f"{rule.summary}\n\n{prose}\n\n[Examples of what is flagged and what is not]({url})",
        },
        "defaultConfiguration": {"level": rule.severities[0].value},
        "properties": {
            "tags": ["correctness", "mixed-precision", "pytorch"],
            "precision": "low" if rule.pedantic else "high",
            "problem.severity": PROBLEMS[rule.severities[0]],
        },
    }
