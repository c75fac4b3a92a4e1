"""What the checks see of fp8 recipes in Python: those that get lost, and conversions that give up without a word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Edit, Related, Span


class Loss(StrEnum):
    """How a recipe or an fp8 argument gets lost."""

    UNUSED = "unused"
    LOGGED = "logged"
    RETURNED = "returned"
    IGNORED = "ignored"
    UNCONVERTED = "unconverted"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class LostRecipe:
    """One of them: `what` is the recipe, argument or attribute as it is written, `where` what should have taken it.

    `edits` make the missing argument; they are given where there is one place and one candidate.
    """

    span: Span
    loss: Loss
    what: str
    where: str = ""
    versions: str = ""
    related: tuple[Related, ...] = ()
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Fallback:
    """A conversion to fp8 inside of a `try` whose handler goes on without it."""

    span: Span
    what: str
    related: tuple[Related, ...]
