"""DTL504: see `rules/low-precision-ema.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for average in facts.averages:
        fix = None
        if average.edit is not None:
            edit = Edit(Location(facts.path, average.edit), average.wide)
            fix = Fix("keep the average in float32", Safety.UNSAFE, (edit,))
        becomes = "is" if average.sure else "may be"
        yield Hit(
            average.span,
            f"the average `{average.holder}` {becomes} kept in {average.dtype} and updated in place: small steps round to nothing",
            Confidence.HIGH if average.sure else Confidence.MEDIUM,
            (Related(average.cast, "cast here"), Related(average.update, "updated in place here")),
            fix,
        )
