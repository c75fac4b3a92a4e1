"""DTL104: see `rules/unapplied-policy.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Role
from dtypelint.facts.omitted import hit
from dtypelint.finding import Confidence, Hit


def check(facts: Facts) -> Iterator[Hit]:
    for omission in facts.omissions:
        if omission.role is not Role.FP8:
            yield hit(facts.path, omission)
    for sink in facts.of("policy"):
        if sink.via == "call" and not sink.applied and not sink.around.inference:
            message = f"the policy that `{sink.callee}` builds is never passed on: nothing is sharded with it"
            yield Hit(sink.span, message, Confidence.HIGH)
