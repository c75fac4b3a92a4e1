"""DTL303: see `rules/ignored-fp8-key.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.config.edits import lost_key, rename_key
from dtypelint.facts.configs import Fate
from dtypelint.finding import Confidence, Fix, Hit, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for key in facts.keys:
        if key.fate is Fate.UNREAD and key.is_fp8:
            fix, withheld = rename_key(facts.path, key)
            if key.repair:
                fix = Fix(f"ask for `{key.repair[0].text}`", Safety.UNSAFE, key.repair)
            yield Hit(
                key.span,
                lost_key(key),
                Confidence.HIGH if key.sure else Confidence.MEDIUM,
                related=key.related,
                fix=fix,
                withheld=withheld,
            )
