"""DTL206: see `rules/inert-accelerator-autocast.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.edits import declared
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for inert in facts.inert:
        yield Hit(
            inert.span,
            f"`{inert.callee}` never gets `{inert.setting.read}`: `{inert.text}` does nothing unless the launcher sets a precision",
            Confidence.LOW,
            (Related(inert.entered, "entered here"), declared(inert.setting)),
            withheld=f'pass `mixed_precision`, as "no", "bf16" or "fp16", from `{inert.setting.read}`',
            settings=(inert.setting.declared,),
        )
