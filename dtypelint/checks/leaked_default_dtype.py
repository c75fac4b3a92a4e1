"""DTL505: see `rules/leaked-default-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for leak in facts.leaks:
        if leak.restored is None:
            message = f"`{leak.function}` makes {leak.dtype} the default of the whole process and never brings the old one back"
            yield Hit(leak.span, message, Confidence.LOW)
        else:
            message = f"{leak.dtype} stays the default of the process when something raises before it is brought back"
            related = (Related(leak.restored, "brought back here, outside of a `finally`"),)
            yield Hit(leak.span, message, Confidence.LOW, related)
