"""Accelerators that no precision reaches although their autocast is entered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.facts import Setting
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Inert:
    """An object that is built without a precision; `entered` is where its autocast is, `setting` what could have gone in."""

    span: Span
    callee: str
    text: str
    entered: Location
    setting: Setting
