"""DTL201: see `rules/hardcoded-autocast-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import LOW_PRECISION, Argument, Facts, Form, Role, Setting, Sink
from dtypelint.facts.autocast import autocast_fix, candidates, follows, is_guard
from dtypelint.facts.edits import declared
from dtypelint.finding import Confidence, Hit

_LOWER = {Confidence.HIGH: Confidence.MEDIUM, Confidence.MEDIUM: Confidence.LOW, Confidence.LOW: Confidence.LOW}


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        argument = sink.get("dtype")
        if argument is None or argument.value.hardcoded not in LOW_PRECISION or is_guard(sink):
            continue
        around = sink.around
        if around.dispatched or around.comment or around.dummy or around.dead:
            continue
        if "disables_outer_autocast" in around.duties:
            continue
        found = candidates(sink)
        if around.no_grad and any(follows(other, found) for other in facts.of("autocast")):
            # the region that trains follows the setting, this one runs something frozen
            continue
        yield _hit(sink, argument, found)


def _hit(sink: Sink, argument: Argument, found: list[Setting]) -> Hit:
    dtype = argument.value.hardcoded
    if not found:
        message = f"autocast is always {dtype}: no setting of this precision is in reach"
        return Hit(sink.span, message, Confidence.LOW)
    best = found[0]
    fix, withheld = autocast_fix(sink, argument, found)
    return Hit(
        sink.span,
        f"autocast is always {dtype} although `{best.read}` is in reach: the forward computes in {dtype} whatever it says",
        _confidence(sink, best),
        (declared(best),),
        fix,
        withheld,
        settings=(best.declared,),
    )


def _confidence(sink: Sink, best: Setting) -> Confidence:
    strong = best.tested or best.role in (Role.AUTOCAST, Role.PARAM)
    confidence = Confidence.HIGH if strong and best.form is not Form.FLAG else Confidence.MEDIUM
    if not strong and best.hop >= 4 and not best.resolved:
        confidence = Confidence.LOW
    if sink.around.inference or sink.around.no_grad:
        confidence = _LOWER[confidence]
    return confidence
