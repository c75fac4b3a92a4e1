"""DTL104: see `rules/unapplied-policy.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.arrivals import Omission
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Span

_PLAIN = ("dtype", "torch_dtype")


def check(facts: Facts) -> Iterator[Hit]:
    for omission in facts.omissions:
        yield _root(facts.path, omission) if omission.root else _call(facts.path, omission)
    for sink in facts.of("policy"):
        if sink.via == "call" and not sink.applied and not sink.around.inference:
            message = f"the policy that `{sink.callee}` builds is never passed on: nothing is sharded with it"
            yield Hit(sink.span, message, Confidence.HIGH)


def _call(path: str, omission: Omission) -> Hit:
    message = (
        f"`{omission.callee}` is called without `{omission.name}` although the caller holds it: it stays None there"
    )
    related = [Related(omission.held, f"`{omission.name}` is held here")]
    if omission.parameter is not None:
        related.append(Related(omission.parameter, "not passed: None by default"))
    confidence = Confidence.HIGH if omission.siblings else Confidence.MEDIUM
    if omission.used or ((omission.fills or omission.name in _PLAIN) and not omission.siblings):
        confidence = Confidence.LOW
    if omission.guarded:
        return Hit(omission.span, message, Confidence.LOW, tuple(related), withheld="a test of it leads to the call")
    return Hit(omission.span, message, confidence, tuple(related), _pass(path, omission, Safety.SAFE))


def _root(path: str, omission: Omission) -> Hit:
    message = (
        f"`{omission.callee}` shards the root without the `mp_policy` of its blocks: "
        "what the root holds itself computes and reduces in its own dtype"
    )
    related = (Related(omission.held, "the blocks get it here"),)
    return Hit(omission.span, message, Confidence.MEDIUM, related, _pass(path, omission, Safety.UNSAFE))


def _pass(path: str, omission: Omission, safety: Safety) -> Fix | None:
    slot = omission.slot
    if slot is None:
        return None
    text = f"{omission.name}={omission.text}"
    place = Location(path, Span(slot.offset, slot.offset))
    return Fix(f"pass `{text}`", safety, (Edit(place, f"{slot.before}{text}{slot.after}"),))
