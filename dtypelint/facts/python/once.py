"""Questions that ask themselves again on their way."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Once(Generic[Answer]):
    """The answers that one question needs: each is worked out once, and a circle adds nothing.

    They are forgotten with the question, since what a circle cut short holds for nobody else.
    """

    def __init__(self, nothing: Answer) -> None:
        self._nothing = nothing
        self._known: dict[Hashable, Answer] = {}

    def ask(self, key: Hashable, answer: Callable[[], Answer]) -> Answer:
        if key in self._known:
            return self._known[key]
        outermost = not self._known
        self._known[key] = self._nothing
        try:
            found = self._known[key] = answer()
        finally:
            if outermost:
                self._known.clear()
        return found
