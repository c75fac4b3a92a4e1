"""Averages of weights that are kept in 16 bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Average:
    """A place that gives a weight average 16 bits: a cast, or an argument that reaches one.

    `text` is what is written at `span`, `wide` what would keep it in float32 there (empty: not written here), `dtype` the
    dtype that it becomes; `sure` says that it always does. `cast` and `update` are where it is cast and updated.
    """

    span: Span
    text: str
    wide: str
    edit: Span | None
    dtype: str
    holder: str
    cast: Location
    update: Location
    sure: bool = True
