"""DTL606: see `rules/yaml-boolean-precision.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.config.edits import replace_text
from dtypelint.facts.configs import Fate
from dtypelint.finding import Confidence, Fix, Hit, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for key in facts.keys:
        if key.fate is not Fate.BOOLEAN:
            continue
        fix, withheld = None, None
        if key.quotes and key.editable:
            edit = replace_text(facts.path, key.value_span, f"'{key.value}'")
            fix = Fix(f"quote `{key.value}`", Safety.SAFE, (edit,))
        else:
            withheld = "the value is shared through an anchor" if key.quotes else "no precision is meant by a boolean"
        yield Hit(
            key.value_span,
            f"`{key.path}: {key.value}` {key.why}, not the name of a precision: the {key.kind} fails when it is loaded",
            Confidence.HIGH,
            fix=fix,
            withheld=withheld,
        )
