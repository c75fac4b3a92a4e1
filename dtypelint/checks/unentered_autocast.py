"""DTL205: see `rules/unentered-autocast.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        if sink.via == "call" and not sink.entered and not sink.applied:
            yield Hit(
                sink.span,
                f"the object that `{sink.callee}` returns is never entered: nothing runs in its precision",
                Confidence.HIGH,
            )
