"""DTL407: see `rules/unsaved-scaler-state.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import disabled, disabled_call
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Confidence, Hit, Related

_USES = (Action.SCALED_STEP, Action.UPDATE, Action.UNSCALE, Action.SCALER)


def check(facts: Facts) -> Iterator[Hit]:
    saved = [e for t in facts.traces for e in t.of(Action.SAVE)]
    if any(e.family == "scaler" for e in saved):
        return
    seen = set()
    for trace in facts.traces:
        for save in trace.of(Action.SAVE):
            if save.location.path != facts.path or save.inner is not None or save.location in seen:
                continue
            used = next((e for t in _near(facts, trace) for e in t.of(*_USES) if _is_on(facts, e)), None)
            if used is not None:
                seen.add(save.location)
                yield _hit(save, used)


def _near(facts: Facts, trace: Trace) -> Iterator[Trace]:
    """What the same function, or the same class, does."""
    return (t for t in facts.traces if t is trace or (t.cls and t.cls == trace.cls))


def _is_on(facts: Facts, used: Event) -> bool:
    """Whether a scaler that is used here is no one of another file, and not switched off by a literal."""
    if used.inner is not None or not used.subject:
        return False
    return not (disabled_call(facts, used.location) if used.action is Action.SCALER else disabled(facts, used))


def _hit(save: Event, used: Event) -> Hit:
    return Hit(
        save.location.span,
        f"the state of `{save.subject}` is saved without that of `{used.subject}`: "
        "a resumed run starts with the first loss scale again and skips steps until it fits",
        Confidence.LOW,
        (Related(used.location, "the scaler is used here"),),
        withheld="save and load `state_dict()` of the scaler too; old checkpoints have none",
    )
