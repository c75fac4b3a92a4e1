"""Findings that are known and left for later: keyed by rule, file and the text of their line, so that they survive moved lines."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dtypelint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dtypelint.finding import Finding

VERSION = 1
NAME = "dtypelint-baseline.json"


class Entry(NamedTuple):
    """What is known; the path is posix and relative to the folder of the baseline."""

    path: str
    rule: str
    line: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule} `{self.line}`"


@dataclass(frozen=True, slots=True)
class Baseline:
    """How often each entry may be found."""

    file: Path
    counts: Counter[Entry]

    @classmethod
    def of(cls, findings: Iterable[Finding], file: Path) -> Baseline:
        """The baseline that knows these findings."""
        empty = cls(file, Counter())
        return cls(file, Counter(map(empty.entry, findings)))

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """The baseline of a file, or `UserError`."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(
                f"{file}: cannot be read: {error.strerror or error}; --write-baseline makes a baseline"
            ) from None
        except json.JSONDecodeError as error:
            raise UserError(f"{file}:{error.lineno}: not valid JSON: {error.msg}") from None
        except ValueError as error:
            raise UserError(f"{file}: not valid JSON: {error}") from None
        return cls(file, _counts(document, file))

    def text(self) -> str:
        """What the file holds, sorted."""
        findings = [
            {"path": entry.path, "rule": entry.rule, "line": entry.line, "count": count}
            for entry, count in sorted(self.counts.items())
        ]
        return json.dumps({"version": VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"

    def entry(self, finding: Finding) -> Entry:
        """The entry of a finding; spaces do not count."""
        path = Path(os.path.relpath(finding.position.path, self.file.parent)).as_posix()
        return Entry(path, finding.code, " ".join(finding.source.split("\n")[0].split()))

    def split(self, findings: Iterable[Finding]) -> tuple[list[bool], list[Entry]]:
        """Which findings are known, the first of equal ones before the others, and the entries that nothing met."""
        left = self.counts.copy()
        known = []
        for finding in findings:
            entry = self.entry(finding)
            known.append(left[entry] > 0)
            left[entry] -= known[-1]
        return known, sorted(entry for entry, count in left.items() if count > 0)

    def place(self, entry: Entry) -> Path:
        """The absolute path of an entry's file."""
        return Path(os.path.abspath(self.file.parent / entry.path))


def _counts(document: Any, file: Path) -> Counter[Entry]:
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UserError(f"{file}: not a baseline of version {VERSION}; --write-baseline makes one")
    counts: Counter[Entry] = Counter()
    items = document.get("findings")
    for number, item in enumerate(items if isinstance(items, list) else [None], 1):
        try:
            entry = Entry(*(item[key] for key in Entry._fields))
            count = item["count"]
        except (KeyError, TypeError):
            entry, count = Entry("", "", ""), None
        if not (all(isinstance(word, str) for word in entry) and type(count) is int and count > 0):
            raise UserError(f"{file}: finding {number} needs the strings path, rule and line, and a positive count")
        counts[entry] += count
    return counts
