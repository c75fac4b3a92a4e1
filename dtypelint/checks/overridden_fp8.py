"""DTL304: see `rules/overridden-fp8.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.config.edits import lost_key
from dtypelint.facts.configs import Fate
from dtypelint.finding import Confidence, Fix, Hit, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for key in facts.keys:
        if key.fate is Fate.OVERRIDDEN:
            fix = Fix("let fp8 win", Safety.UNSAFE, key.repair) if key.repair else None
            yield Hit(
                key.span,
                lost_key(key),
                Confidence.HIGH if key.sure else Confidence.MEDIUM,
                related=key.related,
                fix=fix,
            )
