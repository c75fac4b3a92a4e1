"""DTL302: see `rules/unknown-fp8-backend.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.config.edits import lost_key, respell_value
from dtypelint.facts.configs import Fate
from dtypelint.finding import Confidence, Hit


def check(facts: Facts) -> Iterator[Hit]:
    for key in facts.keys:
        if key.fate is Fate.REFUSED_VALUE and key.is_fp8:
            fix, withheld = respell_value(facts.path, key)
            yield Hit(key.value_span, lost_key(key), Confidence.HIGH, fix=fix, withheld=withheld)
        elif key.fate is Fate.CLASH:
            yield Hit(key.span, lost_key(key), Confidence.HIGH, related=key.related)
