"""DTL609: see `rules/overwritten-precision-setting.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for each in facts.overwrites:
        taken = "the parameter" if each.parameter else "the setting"
        yield Hit(
            each.span,
            f"`{each.name}` is replaced by {each.literal} before anything reads it: {taken} has no effect",
            Confidence.HIGH,
            (Related(each.held, f"`{each.name}` comes from here"),),
            settings=(each.held,),
        )
