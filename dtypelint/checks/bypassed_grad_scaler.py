"""DTL405: see `rules/bypassed-grad-scaler.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import disabled, fix_of, remove, shares
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for trace in facts.traces:
        for step in trace.of(Action.STEP) if trace.ordered else ():
            if step.location in seen or step.location.path != facts.path or step.inner is not None or not step.subject:
                continue
            hit = _beside(facts, trace, step) or _instead(facts, trace, step)
            if hit is not None:
                seen.add(step.location)
                yield hit


def _beside(facts: Facts, trace: Trace, step: Event) -> Hit | None:
    """A step of the optimizer on the same path as the scaler's step of it."""
    for scaled in trace.of(Action.SCALED_STEP):
        if scaled.target == step.subject and scaled.loops == step.loops and scaled.sides(step):
            if disabled(facts, scaled):
                return None
            fix, withheld = fix_of(f"remove `{step.text}`", remove(step))
            return Hit(
                step.location.span,
                f"`{step.text}` runs beside `{scaled.text}`: the weights are updated twice, and infinities are not skipped",
                Confidence.HIGH,
                (Related(scaled.inner or scaled.location, "the scaler steps the optimizer here"),),
                fix,
                withheld,
            )
    return None


def _instead(facts: Facts, trace: Trace, step: Event) -> Hit | None:
    """A step with gradients that are still multiplied by the scale, where the scaler steps nothing."""
    if any(s.target in (step.subject, "") for s in trace.of(Action.SCALED_STEP)):
        return None
    for event in trace.before(step, Action.BACKWARD, Action.UNSCALE):
        if event.action is Action.UNSCALE or event.owner or event.location == step.location:
            return None
        if event.scaled_by and shares(step, event) and not disabled(facts, event):
            fix, withheld = _replaced(trace, step, event)
            return Hit(
                step.location.span,
                f"`{step.text}` uses gradients that are multiplied by the scale of `{event.scaled_by}`",
                Confidence.HIGH if step.known or event.known else Confidence.MEDIUM,
                (Related(event.inner or event.location, "multiplied here"),),
                fix,
                withheld,
            )
        if not event.scaled_by and event.sides(step):
            return None
    return None


def _replaced(trace: Trace, step: Event, backward: Event) -> tuple[Fix | None, str | None]:
    scaler = backward.scaled_by
    if backward.inner is not None or not backward.text.startswith(scaler) or step.location != step.statement:
        return None, f"call `{scaler}.step` with the optimizer, then `{scaler}.update`"
    text = f"{scaler}.step({step.subject_text})"
    if not any(u.subject == scaler for u in trace.of(Action.UPDATE)):
        text += f"{step.lead}{scaler}.update()"
    edit = Edit(Location(step.statement.path, step.statement.span), text)
    return Fix(f"let `{scaler}` step the optimizer", Safety.UNSAFE, (edit,)), None
