"""The default dtype of the process, where a function changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Leak:
    """A change that may outlive its function. `restored` is where it is undone when nothing raises, None where it never is."""

    span: Span
    dtype: str
    function: str
    restored: Location | None
