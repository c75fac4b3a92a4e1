"""DTL401: see `rules/clip-before-unscale.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import chosen, disabled, insert_before, shares
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Confidence, Fix, Hit, Related, Safety

_STEPS = (Action.SCALED_STEP, Action.STEP)


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for trace in facts.traces:
        for clip in trace.of(Action.CLIP):
            if clip.location.path != facts.path or clip.location in seen:
                continue
            backward = _scaled_backward(trace, clip)
            if backward is not None and not disabled(facts, backward):
                seen.add(clip.location)
                yield _hit(trace, clip, backward)


def _scaled_backward(trace: Trace, clip: Event) -> Event | None:
    """The backward whose gradients are still multiplied by the scale when they are clipped."""
    if not trace.ordered:
        unscaled = trace.of(Action.UNSCALE) or not trace.of(Action.SCALED_STEP)
        return None if unscaled else next((e for e in trace.of(Action.BACKWARD) if e.scaled_by), None)
    for event in trace.before(clip, Action.BACKWARD, Action.UNSCALE, *_STEPS):
        if event.location == clip.location:
            # both happen in one called function, which has a trace of its own
            return None
        if event.action is Action.BACKWARD and event.scaled_by and not event.owner and shares(clip, event):
            return event
        if event.action is Action.UNSCALE or (event.action in _STEPS and event.sides(clip)):
            return None
    return None


def _hit(trace: Trace, clip: Event, backward: Event) -> Hit:
    scaler = backward.scaled_by
    related = [
        Related(backward.inner or backward.location, f"the gradients are multiplied by the scale of `{scaler}` here")
    ]
    if clip.inner is not None:
        related.append(Related(clip.inner, "clipped here"))
    fix, withheld = _fix(trace, clip, scaler)
    return Hit(
        clip.location.span,
        f"gradients are clipped while they are multiplied by the loss scale: `{scaler}.unscale_` does not come before",
        Confidence.HIGH if trace.ordered else Confidence.MEDIUM,
        tuple(related),
        fix,
        withheld,
    )


def _fix(trace: Trace, clip: Event, scaler: str) -> tuple[Fix | None, str | None]:
    steps = [e for e in trace.after(clip, Action.SCALED_STEP) if e.subject == scaler] if trace.ordered else []
    if not steps:
        return None, f"no `{scaler}.step` follows: which optimizer to unscale cannot be told"
    step = steps[0]
    if step.inner is not None or step.function != clip.function:
        return None, f"`{scaler}.step` is called in `{step.function}`: unscale its optimizer before this"
    if chosen(step, clip):
        return None, f"`{step.text}` runs in one branch only: whether `{scaler}` exists here cannot be told"
    text = f"{step.subject_text}.unscale_({step.target_text})"
    optimizers = {e.target for e in trace.of(Action.SCALED_STEP)}
    once = clip.implies(step) and clip.loops == step.loops and not trace.after(clip, Action.UNSCALE)
    safe = len(optimizers) == 1 and "" not in optimizers and once
    return Fix(f"insert `{text}`", Safety.SAFE if safe else Safety.UNSAFE, (insert_before(clip, text),)), None
