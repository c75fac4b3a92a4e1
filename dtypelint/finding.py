"""The records that travel down the pipeline: what a check yields, what a report prints, what the fixer applies."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """What the finding costs: a wrong precision or a crash, a setting without effect, a fragile place."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Confidence(StrEnum):
    """How much of the finding is proven: `low` ones are shown under `--pedantic` only."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Safety(StrEnum):
    """`safe` makes the code do what the user's own written setting says; everything else is `unsafe`."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of UTF-8 byte offsets in the decoded text of a file."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A span in a file; the path is posix and relative to the project root."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the finding rests on: where a setting is declared, where it was lost."""

    location: Location
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a span by a text; an empty span inserts."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that are applied whole or not at all."""

    description: str
    safety: Safety
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """What a check yields: the rule, the file and the wording around it are added by the engine.

    `severity` is needed only where the page lists several. `settings` are the declarations that the hit
    names, so that one cause is reported once.
    """

    span: Span
    message: str
    confidence: Confidence
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    withheld: str | None = None
    severity: Severity | None = None
    settings: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """1-based line and column of a place, columns in code points, with the end behind the last character.

    In a notebook the lines are those of the cell; `stored` are the first and the last line in the file itself.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None
    stored: tuple[int, int] | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line in the file."""
        return self.stored or (self.line, self.end_line)

    @property
    def file(self) -> str:
        """The path, with the cell in a notebook."""
        return self.path if self.cell is None else f"{self.path}:cell {self.cell}"

    @property
    def inside(self) -> str:
        """Cell and line in a notebook, for readers who know the lines of files only; else nothing."""
        return "" if self.cell is None else f"cell {self.cell}, line {self.line}: "


@dataclass(frozen=True, slots=True)
class Note:
    """A related place as it is shown; `source` is the line on which it starts."""

    position: Position
    message: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as every report prints it; every path in it is posix and relative to the working folder.

    `source` holds the lines of its span; `fix_positions` are the places of the fix's edits, in their order; `settings`
    those of the declarations that it names.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    position: Position
    source: str
    related: tuple[Note, ...] = ()
    fix: Fix | None = None
    fix_positions: tuple[Position, ...] = field(default=())
    fix_withheld: str | None = None
    url: str = ""
    settings: tuple[Position, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found. `hidden` counts pedantic findings; `failed` says whether one reaches its `fail-on`.

    `known` counts those of a baseline, `unchanged` those on lines that have not changed; `gone` are the entries of the
    baseline that nothing met.
    `internal` holds the tracebacks of defects in the tool itself: the findings of other rules and files stand beside them.
    """

    findings: tuple[Finding, ...]
    files: int
    hidden: int = 0
    failed: bool = False
    internal: tuple[str, ...] = ()
    known: int = 0
    unchanged: int = 0
    gone: tuple[str, ...] = ()

    def count(self, severity: Severity) -> int:
        """The number of findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def fixable(self, safety: Safety) -> int:
        """The number of findings with a fix of a safety."""
        return sum(finding.fix is not None and finding.fix.safety is safety for finding in self.findings)
