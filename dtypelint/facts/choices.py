"""How the names of precisions become dtypes: tables, branches, and what they leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.facts import Role
    from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Mapped:
    """A name that is given a dtype: by a table, by the branch of a test, or by a flag.

    `wanted` is the dtype that the name spells and `given` the one that it gets; `role` is that of what is given it (None for
    a table); `right` and `wrong` count the other entries of the same table or chain.
    """

    span: Span
    name: str
    wanted: str
    given: str
    place: str
    role: Role | None
    right: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A declared choice that a chain or table does not name, so that it gets the fallback."""

    span: Span
    subject: str
    name: str
    wanted: str
    fallback: str
    declared: Location


@dataclass(frozen=True, slots=True)
class Raw:
    """A test of an argument as it was given, behind the line that resolved it into an attribute."""

    span: Span
    name: str
    resolved: str
    assigned: Location
