"""Choosing values for knobs: only where the code asks, and only as much as it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtypelint.smoke.symbols import DTYPES, Built, Dtype, Knob, Library, Method, Missing, Need, Other, Routine, Truthy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

NAMES = tuple(dtype.name for dtype in DTYPES)


class Knobs:
    """The choices of one run. `spelled` gives the canonical dtype that a string spells."""

    def __init__(self, chosen: Mapping[str, Any], spelled: Callable[[str], str | None]) -> None:
        self._chosen = chosen
        self._spelled = spelled
        self.assumed: dict[str, None] = {}

    def known(self, value: Any) -> Any:
        """A value with its choice, where one was made that says exactly what it is."""
        if isinstance(value, Knob):
            choice = self._chosen.get(value.path, value)
            return value if isinstance(choice, Knob | Truthy | Other) else self._through(value, choice)
        return value

    def _through(self, knob: Knob, choice: Any) -> Any:
        """A choice behind the converter of its knob, which is taken to be the identity."""
        if not knob.via:
            return choice
        self.assumed[f"`{knob.via}` gives the dtype that it is given"] = None
        return self.spell(choice) or choice

    def settle(self, value: Any, choices: Iterable[Any]) -> Any:
        """The value; a knob is one of the choices."""
        if not isinstance(value, Knob):
            return value
        choice = self._chosen.get(value.path, Missing.VALUE)
        match choice:
            case Truthy():
                raise Need(value.path, [item for item in _default_first(value, choices) if item])
            case Other(excluded):
                raise Need(value.path, [item for item in _default_first(value, choices) if item not in excluded])
            case Missing.VALUE:
                raise Need(value.path, _default_first(value, choices))
        return self._through(value, choice)

    def truth(self, value: Any) -> bool:
        """Whether a value counts as true."""
        if isinstance(value, Knob):
            choice = self._chosen.get(value.path, Missing.VALUE)
            if choice is Missing.VALUE:
                falsy = value.default if value.default is not Missing.VALUE and not value.default else None
                first = [Truthy(), falsy]
                raise Need(value.path, first if value.default is Missing.VALUE or value.default else first[::-1])
            return True if isinstance(choice, Truthy | Other) else bool(choice)
        return True if isinstance(value, Library | Routine | Method | Built | Dtype) else bool(value)

    def equals(self, left: Any, right: Any) -> bool | None:
        """Whether two values are equal; None when nobody can say."""
        left, right = self.known(left), self.known(right)
        if isinstance(right, Knob) and not isinstance(left, Knob):
            left, right = right, left
        if isinstance(left, Knob):
            if isinstance(right, Knob):
                return True if left.path == right.path else None
            return self._matches(left, right)
        if isinstance(left, Routine | Method | Built) or isinstance(right, Routine | Method | Built):
            return None
        return bool(left == right)

    def _matches(self, knob: Knob, literal: Any) -> bool:
        choice = self._chosen.get(knob.path, Missing.VALUE)
        if isinstance(literal, Dtype):
            return bool(self.settle(knob, (*DTYPES, literal)) == literal)
        if literal is None:
            if isinstance(choice, Truthy | Other):
                return False
            raise Need(knob.path, [Truthy(), None])
        excluded = choice.excluded if isinstance(choice, Other) else frozenset()
        try:
            if literal in excluded:
                return False
            rest = Other(excluded | {literal})
        except TypeError:
            return False
        choices = [literal, rest]
        if knob.default is not Missing.VALUE and knob.default != literal:
            choices = [knob.default, *choices]
        raise Need(knob.path, choices)

    def converted(self, value: Any, text: str) -> Any:
        """What an unknown converter makes of a value: the dtype that it spells."""
        value = self.known(value)
        if isinstance(value, Knob):
            return Knob(value.path, value.default, text)
        if isinstance(value, str) and (spelled := self._spelled(value)):
            value = Dtype(spelled)
        if isinstance(value, Dtype):
            self.assumed[f"`{text}` gives the dtype that it is given"] = None
        return value

    def spell(self, value: Any) -> Dtype | None:
        """The dtype that a choice means."""
        if isinstance(value, Dtype):
            return value
        spelled = self._spelled(value) if isinstance(value, str) else None
        return Dtype(spelled) if spelled else None


def _default_first(knob: Knob, choices: Iterable[Any]) -> list[Any]:
    found = list(dict.fromkeys(choices))
    if knob.default in found:
        found.remove(knob.default)
        found.insert(0, knob.default)
    return found
