"""What has to be driven for one fix: the trials of its setting, as jobs for the driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dtypelint.smoke.symbols import Dtype, Unknown

if TYPE_CHECKING:
    from dtypelint.finding import Finding
    from dtypelint.smoke.records import Job, Reason

RAISES = "raises "


@dataclass(frozen=True, slots=True)
class Look:
    """Where an observation comes from: a job and the name of what it notes, or a text that is known without one.

    `absent` is what it means that nothing of that name was noted; without it nothing was seen.
    """

    job: Job | None
    key: str = ""
    text: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One value of the setting; `before` is None where it could not be evaluated."""

    setting: str
    intended: str
    before: Look | None
    after: Look


@dataclass(slots=True)
class Plan:
    """How a fix is proven.

    `subject` names what is observed, `knob` the setting that is varied ("" where the fix writes a literal); `coupled` is
    another field that the knob moves too, `unbound` a name that the fix writes and nothing binds; `seen` is what else the driver noted. A plan with a `reason` drives nothing.
    """

    finding: Finding
    subject: str = ""
    knob: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    coupled: str = ""
    lost: str = ""
    unbound: str = ""
    reason: Reason | None = None
    detail: str = ""
    seen: dict[str, None] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)


def encoded(value: Any) -> Any:
    """A value for the driver; Unknown when it cannot be sent."""
    match value:
        case Dtype(name):
            return {"dtype": name}
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(key): encoded(item) for key, item in value.items()}
        case list() | tuple():
            return [encoded(item) for item in value]
    raise Unknown(f"{value!r} has no value here")
