"""DTL406: see `rules/misplaced-scaler-update.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import disabled, fix_of, insert_after, remove
from dtypelint.facts.steps import Action, Branch, Event, Trace
from dtypelint.finding import Confidence, Hit, Related

_FINITE = re.compile(r"isfinite|isnan|isinf|nonfinite|non_finite|finite\b|inf_or_nan|overflow", re.IGNORECASE)
_GRADIENT = re.compile(r"grad|norm", re.IGNORECASE)
_ROUNDS = re.compile(r" % |accum|sync|is_last|last_micro|boundary|do_step|should_step", re.IGNORECASE)


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for trace in facts.traces:
        if not trace.ordered:
            continue
        for event, hit in (*_missing(facts, trace), *_skipped(trace), *_twice(trace), *_repeated(trace)):
            here = event.location.path == facts.path and event.location not in seen
            if here and not disabled(facts, event):
                seen.add(event.location)
                yield hit


def _of(trace: Trace, step: Event, *actions: Action) -> list[Event]:
    return [e for e in trace.of(*actions) if e.subject == step.subject]


def _missing(facts: Facts, trace: Trace) -> Iterator[tuple[Event, Hit]]:
    """A step of a scaler that is never updated, and that nothing outside of the file can update."""
    if any(t.of(Action.UPDATE) for t in facts.traces):
        return
    for step in trace.of(Action.SCALED_STEP):
        if step.inner is None and step.private:
            text = f"{step.subject_text}.update()"
            fix, withheld = fix_of(f"insert `{text}`", insert_after(step, text))
            yield (
                step,
                Hit(
                    step.location.span,
                    f"`{step.subject}` is never updated: its scale stays, and the next `unscale_` raises",
                    Confidence.HIGH,
                    (Related(step.made, "made here"),) if step.made is not None else (),
                    fix,
                    withheld,
                ),
            )


def _skipped(trace: Trace) -> Iterator[tuple[Event, Hit]]:
    """A step whose update is not reached: it stands in another branch, or is skipped with the step."""
    for step in trace.of(Action.SCALED_STEP):
        updates = _of(trace, step, Action.UPDATE)
        if not updates or step.inner is not None or any(e.inner is not None for e in updates):
            continue
        if not any(e.meets(step) for e in updates):
            yield step, _hit(step, "never follows this step: it stands in another branch", updates[0])
            continue
        guard = _finite(trace, step)
        if guard is not None and all(guard in e.path for e in updates):
            yield step, _hit(step, f"is skipped when `{guard.text}` fails, so the scale is never reduced", updates[0])


def _finite(trace: Trace, step: Event) -> Branch | None:
    """The test of the gradients that a step depends on, and the backward or `unscale_` before it does not."""
    for branch in step.path:
        if _FINITE.search(branch.text) and _GRADIENT.search(branch.text):
            before = trace.before(step, Action.UNSCALE, Action.BACKWARD)
            if any(e.subject == step.subject or e.scaled_by == step.subject for e in before if branch not in e.path):
                return branch
    return None


def _twice(trace: Trace) -> Iterator[tuple[Event, Hit]]:
    """Two updates after one backward: gradients of the second optimizer are divided by another scale."""
    for second in trace.of(Action.UPDATE):
        for event in trace.before(second, Action.UPDATE, Action.BACKWARD):
            if event.action is Action.BACKWARD or event.subject != second.subject or event.loops != second.loops:
                break
            backward = any(e.scaled_by == second.subject for e in trace.before(event, Action.BACKWARD))
            if event.inner is None and second.inner is None and event.sides(second) and backward:
                fix, withheld = fix_of(f"remove `{event.text}`", remove(event))
                yield (
                    second,
                    Hit(
                        second.location.span,
                        f"`{second.subject}` is updated twice after one backward",
                        Confidence.HIGH,
                        (Related(event.location, "updated before"),),
                        fix,
                        withheld,
                    ),
                )
                break


def _repeated(trace: Trace) -> Iterator[tuple[Event, Hit]]:
    """An `unscale_` that runs in every round of a loop whose step runs in the last one: the second call raises."""
    for event in trace.of(Action.UNSCALE):
        steps = [s for s in _of(trace, event, Action.SCALED_STEP) if s.target == event.target and s.target]
        updates = _of(trace, event, Action.UPDATE)
        if not steps or not updates or event.inner is not None:
            continue
        step = steps[0]
        outer = len(step.loops) < len(event.loops) and event.loops[: len(step.loops)] == step.loops
        inside = outer and not any(u.loops == event.loops for u in updates) and event.path == step.path
        rounds = [b for b in step.path if b not in event.path and _ROUNDS.search(b.text)]
        early = step.loops == event.loops and rounds and all(set(rounds) <= set(u.path) for u in updates)
        if (inside or early) and event.meets(step):
            yield (
                event,
                Hit(
                    event.location.span,
                    f"`{event.text}` runs in every micro-batch and `{step.text}` does not: the second call raises",
                    Confidence.HIGH,
                    (Related(step.location, "stepped here"),),
                    withheld="move it in front of the step, and the clip with it",
                ),
            )


def _hit(step: Event, what: str, update: Event) -> Hit:
    return Hit(
        step.location.span,
        f"`{update.text}` {what}",
        Confidence.HIGH,
        (Related(update.location, "updated here"),),
        withheld=f"let `{update.text}` run on both paths",
    )
