"""Trainable weights that an optimizer gets in 16 bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class LowWeights:
    """Weights in 16 bit that something trains.

    `span` is the place where they get their dtype, or the call that trains them where that is another function; `dtype` is
    theirs, `checkpoint` where it is whatever was saved; `versions` are the releases in which that is the default, `sure`
    says that no other dtype is possible. `trainer` is the call that trains them, `how` how they got their dtype.
    """

    span: Span
    dtype: str
    how: str
    lowered: Location
    trainer: str
    trained: Location
    sure: bool = True
    versions: str = ""
