"""What fp8 is asked for by the names or the classes of modules, where the model has none of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Related, Span


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A name in a filter that no module of the model has.

    `model` says which, in words; `keeps_out` says what a match would do: keep the module out of the conversion, or (False) choose it; None is not known.
    """

    span: Span
    name: str
    model: str
    keeps_out: bool | None
    related: tuple[Related, ...]


@dataclass(frozen=True, slots=True)
class PlainRegion:
    """A region of TransformerEngine's autocast in which no module of TransformerEngine runs."""

    span: Span
    callee: str
    models: tuple[str, ...]
    related: tuple[Related, ...]
