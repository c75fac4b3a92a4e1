"""Matrix products whose operands were cast to float32 in a region that casts them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Island:
    """A product in a region that lowers it again.

    `operation` is what computes it, `upcast` the operand in float32 as written, `region` the call that makes the region.
    `statement` is the statement of the product, `lead` what separates another one that is put before it; `device` is an
    expression for the device type, empty where wrapping the statement would need more than a line before it, and `both`
    says that every operand is in float32.
    """

    span: Span
    operation: str
    upcast: str
    region: Location
    statement: Span
    lead: str
    device: str
    both: bool
