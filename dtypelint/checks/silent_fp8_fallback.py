"""DTL306: see `rules/silent-fp8-fallback.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit


def check(facts: Facts) -> Iterator[Hit]:
    for fallback in facts.fallbacks:
        yield Hit(
            fallback.span,
            f"when `{fallback.what}` fails, the run goes on in its old precision: fp8 was asked for",
            Confidence.HIGH,
            related=fallback.related,
        )
