"""What an object is, as far as casts care: a tensor, or something that holds tensors, and what says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from dtypelint.finding import Location


class Sort(StrEnum):
    """A tensor of one of four kinds, or a holder; NOTHING adds nothing to a union: None, or a definition in question."""

    TENSOR = "tensor"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    STATE = "state"
    MANY = "many"
    MAP = "map"
    TUPLE = "tuple"
    GROUP = "group"
    LAYER = "layer"
    NOTHING = "nothing"


_TENSORS = (Sort.TENSOR, Sort.PARAMETER, Sort.BUFFER, Sort.STATE)


@dataclass(frozen=True, slots=True)
class Thing:
    """`parts` are the element of MANY, the value of MAP, the items of TUPLE; a part that is None is unknown.

    `why` and `at` are the evidence for a tensor; `dtype` is that of a new tensor, where it is written out.
    """

    sort: Sort
    why: str = ""
    at: Location | None = None
    parts: tuple[Thing | None, ...] = ()
    dtype: str = ""

    @property
    def is_tensor(self) -> bool:
        return self.sort in _TENSORS

    @property
    def element(self) -> Thing | None:
        """What a loop over it binds."""
        if self.sort is Sort.MANY:
            return self.parts[0]
        return join(self.parts) if self.sort is Sort.TUPLE else self.derived

    @property
    def derived(self) -> Thing | None:
        """What an operation on it gives."""
        if self.sort is Sort.NOTHING:
            return self
        return replace(self, sort=Sort.TENSOR, dtype="") if self.is_tensor else None

    def unpacked(self, path: Iterable[int | str]) -> Thing | None:
        """What an unpacking path leads to."""
        thing: Thing | None = self
        for step in path:
            if thing is None:
                return None
            if thing.sort is Sort.TUPLE:
                thing = thing.parts[step] if isinstance(step, int) and step < len(thing.parts) else None
            else:
                thing = many(thing.element) if step == "*" else thing.element
        return thing


NOTHING = Thing(Sort.NOTHING)


def many(element: Thing | None) -> Thing:
    return Thing(Sort.MANY, parts=(element,))


def mapping(value: Thing | None) -> Thing:
    return Thing(Sort.MAP, parts=(value,))


def pair(second: Thing | None) -> Thing:
    """A key or a number, and something."""
    return Thing(Sort.TUPLE, parts=(None, second))


def join(things: Iterable[Thing | None]) -> Thing | None:
    """What a value is that may be any of several things; None when one of them is unknown or they differ."""
    known: list[Thing] = []
    nothing = None
    for thing in things:
        if thing is None:
            return None
        if thing.sort is Sort.NOTHING:
            nothing = thing
        else:
            known.append(thing)
    if not known:
        return nothing
    first = known[0]
    same = all(t.sort is first.sort and len(t.parts) == len(first.parts) for t in known)
    if all(t.is_tensor for t in known):
        dtype = first.dtype if all(t.dtype == first.dtype for t in known) else ""
        return replace(first, sort=first.sort if same else Sort.TENSOR, dtype=dtype)
    parts = zip(*(t.parts for t in known), strict=True) if same else ()
    return replace(first, parts=tuple(map(join, parts))) if same else None
