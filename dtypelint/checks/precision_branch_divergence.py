"""DTL608: see `rules/precision-branch-divergence.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import is_precision
from dtypelint.facts.steps import Action, Branch, Event, Trace
from dtypelint.finding import Confidence, Hit, Related

# `unscale_` and `update` belong to the scaler: the other branch has none to do them with
_DUTIES = {
    Action.ZERO_GRAD: "gradients are not set to zero",
    Action.BACKWARD: "nothing runs the backward",
    Action.CLIP: "gradients are not clipped",
    Action.STEP: "the optimizer does not step",
}


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for trace in (t for t in facts.traces if t.ordered):
        for branch in dict.fromkeys(b for event in trace.events for b in event.path if is_precision(b)):
            for event, witness in _lost(trace, branch):
                if event.location.path == facts.path and event.location not in seen and event.inner is None:
                    seen.add(event.location)
                    yield _hit(event, witness, branch)


def _lost(trace: Trace, branch: Branch) -> Iterator[tuple[Event, Event]]:
    """The duties that one outcome of a test does and the other leaves out, each with what the other does do."""
    other = Branch(branch.text, not branch.holds)
    here = [e for e in trace.events if branch in e.path and _duty(e)]
    there = [e for e in trace.events if other in e.path and _duty(e)]
    both = [e for e in trace.events if not {branch, other}.intersection(e.path)]
    common = {_duty(e) for e in here} & {_duty(e) for e in there}
    done = {_duty(e) for e in (*there, *both)}
    for event in here:
        beside = [e for e in here if _duty(e) in common and e.meets(event)]
        if beside and _duty(event) not in done and not _is_special(event, branch):
            yield event, next(e for e in there if _duty(e) in common)


def _duty(event: Event) -> Action | None:
    action = Action.STEP if event.action is Action.SCALED_STEP else event.action
    return action if action in _DUTIES else None


def _is_special(event: Event, branch: Branch) -> bool:
    """Whether another test of a precision leads to an event: there are more than two ways, and each has duties of its own."""
    return any(is_precision(b) for b in event.path if b != branch)


def _hit(event: Event, witness: Event, branch: Branch) -> Hit:
    duty = _duty(event)
    assert duty is not None
    where = f"where `{branch.text}` {'does not hold' if branch.holds else 'holds'}"
    return Hit(
        event.location.span,
        f"{_DUTIES[duty]} {where}: `{event.text}` is done in the other branch alone",
        Confidence.LOW,
        (Related(witness.inner or witness.location, "the other branch"),),
        withheld="do it in both branches, or after them",
    )
