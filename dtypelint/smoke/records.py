"""What a smoke run says: a row for each fix, and the rows together with the machine that they were seen on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dtypelint.finding import Position


class Verdict(StrEnum):
    """What was seen of a fix."""

    CONFIRMED = "confirmed"
    AFTER_ONLY = "confirmed (after only)"
    REFUTED = "refuted"
    NOT_REPRODUCED = "not reproduced"
    NOT_CONFIRMABLE = "not confirmable here"


class Level(StrEnum):
    """How much the evidence weighs: the value of a field, the dtype of an operation, the outcome of arithmetic."""

    NONE = ""
    FIELD = "field"
    OP = "op"
    VALUE = "value"


class Reason(StrEnum):
    """Why a fix cannot be confirmed on this machine."""

    NEEDS_CUDA = "needs-cuda"
    NEEDS_TWO_GPUS = "needs-2-gpus"
    BACKEND_MISSING = "backend-missing"
    BACKEND_BROKEN = "backend-broken"
    UNEVALUABLE = "unevaluable"
    DRIVER_ERROR = "driver-error"
    DRIVER_TIMEOUT = "driver-timeout"
    TORCH_MISSING = "torch-missing"
    VERSION_UNSUPPORTED = "version-unsupported"
    NO_SUCH_OP = "no-such-op-seen"
    NO_PROBE = "no-probe"


@dataclass(frozen=True, slots=True)
class Trial:
    """One value of the setting: what it asks for, and what was seen before and after the fix.

    `setting` is the value as evidence prints it; None for `before` or `after` means that it could not be evaluated.
    """

    setting: str
    intended: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one fix.

    `trials` hold all values that were tried, the one that shows most in front; `seen` is what else was observed.
    """

    code: str
    name: str
    position: Position
    fix: str
    safety: str
    verdict: Verdict
    subject: str = ""
    knob: str = ""
    trials: tuple[Trial, ...] = ()
    reason: Reason | None = None
    detail: str = ""
    level: Level = Level.NONE
    seen: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    seconds: float = 0.0
    note: bool = False

    @property
    def failed(self) -> bool:
        """Whether the fix, or the finding, is wrong."""
        return self.verdict is Verdict.REFUTED or (self.verdict is Verdict.NOT_REPRODUCED and not self.note)

    @property
    def confirmed(self) -> bool:
        """Whether the fix was seen to work."""
        return self.verdict in (Verdict.CONFIRMED, Verdict.AFTER_ONLY)


@dataclass(frozen=True, slots=True)
class Machine:
    """What the driver ran on."""

    torch: str = ""
    device: str = ""
    name: str = ""
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one job showed: observations by name, or why there are none."""

    notes: dict[str, str] = field(default_factory=dict)
    reason: Reason | None = None
    error: str = ""
    stage: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """A whole smoke run. `unfixable` counts the findings that have no fix to prove."""

    rows: tuple[Row, ...]
    machine: Machine
    seconds: float
    unfixable: int = 0

    def failed(self, *, strict: bool) -> bool:
        """Whether the exit status is 1."""
        return any(row.failed or (strict and not row.confirmed) for row in self.rows)


Job = dict[str, Any]
