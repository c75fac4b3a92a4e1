"""DTL607: see `rules/unknown-precision-key.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.config.edits import lost_key, rename_key, respell_value
from dtypelint.facts.configs import Fate
from dtypelint.finding import Confidence, Hit


def check(facts: Facts) -> Iterator[Hit]:
    for key in facts.keys:
        if key.fate is Fate.REFUSED_KEY or (key.fate is Fate.UNREAD and not key.is_fp8):
            fix, withheld = rename_key(facts.path, key)
            span = key.span
        elif key.fate is Fate.REFUSED_VALUE and not key.is_fp8:
            fix, withheld = respell_value(facts.path, key)
            span = key.value_span
        else:
            continue
        sure = Confidence.HIGH if key.sure else Confidence.MEDIUM
        yield Hit(span, lost_key(key), sure, related=key.related, fix=fix, withheld=withheld)
