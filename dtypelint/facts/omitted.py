"""A call that leaves out a precision, as it is said and repaired: the same for a dtype, a policy and an fp8 flag."""

from __future__ import annotations

from dtypelint.facts.arrivals import Held, Omission
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Span

_PLAIN = ("dtype", "torch_dtype")


def hit(path: str, omission: Omission) -> Hit:
    related = [Related(omission.held, _HELD[omission.how].format(text=omission.text))]
    if omission.parameter is not None:
        related.append(Related(omission.parameter, f"not passed: {omission.default} by default"))
    if omission.others is not None:
        related.append(Related(omission.others, "another call passes it"))
    message = _SAID[omission.how].format(
        callee=omission.callee, name=omission.name, text=omission.text, default=omission.default
    )
    confidence = _confidence(omission)
    if omission.guarded:
        return Hit(omission.span, message, Confidence.LOW, tuple(related), withheld="a test of it leads to the call")
    return Hit(omission.span, message, confidence, tuple(related), _pass(path, omission, confidence))


_SAID = {
    Held.NAME: "`{callee}` is called without `{name}` although the caller holds it: it stays {default} there",
    Held.OBJECT: "`{callee}` is called without `{name}` although `{text}` is beside what it gets: it stays {default} there",
    Held.TWIN: "`{callee}` gets no `{name}={text}` here, as its twins do: the setting does not arrive on this path",
    Held.BLOCKS: "`{callee}` shards the root without the `{name}` of its blocks: "
    "what the root holds itself computes and reduces in its own dtype",
}
_HELD = {
    Held.NAME: "`{text}` is held here",
    Held.OBJECT: "`{text}` is held here",
    Held.TWIN: "passed here",
    Held.BLOCKS: "the blocks get it here",
}


def _confidence(omission: Omission) -> Confidence:
    if omission.how is Held.BLOCKS:
        return Confidence.MEDIUM
    unsure = omission.fills or omission.name in _PLAIN
    if omission.used or omission.open:
        return Confidence.LOW
    match omission.how:
        case Held.TWIN:
            return Confidence.MEDIUM
        case Held.OBJECT:
            return Confidence.LOW if unsure or omission.others is None else Confidence.MEDIUM
    if unsure and not omission.siblings:
        return Confidence.LOW
    return Confidence.HIGH if omission.siblings else Confidence.MEDIUM


def _pass(path: str, omission: Omission, confidence: Confidence) -> Fix | None:
    slot = omission.slot
    if slot is None:
        return None
    safe = omission.how in (Held.NAME, Held.TWIN) and confidence is not Confidence.LOW
    text = f"{omission.name}={omission.text}"
    place = Location(path, Span(slot.offset, slot.offset))
    edit = Edit(place, f"{slot.before}{text}{slot.after}")
    return Fix(f"pass `{text}`", Safety.SAFE if safe else Safety.UNSAFE, (edit,))
