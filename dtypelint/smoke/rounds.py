"""Plans for training loops with a loss scaler: the events of one round, before and after the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtypelint.facts.steps import Action
from dtypelint.smoke import constructors
from dtypelint.smoke.plans import Attempt, Look, Plan
from dtypelint.smoke.records import Reason
from dtypelint.smoke.symbols import Unknown
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dtypelint.facts.project import Project
    from dtypelint.facts.steps import Event, Trace
    from dtypelint.finding import Finding, Span
    from dtypelint.smoke.sites import Sites

SCALES = (65536.0, 4096.0, 256.0)
STEPS = (Action.STEP, Action.SCALED_STEP)
PLAYED = frozenset({Action.BACKWARD, Action.UNSCALE, Action.CLIP, *STEPS, Action.UPDATE})


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of a loop is proven; of the construction of a scaler, if that is what it changes."""
    found = Plan(finding, subject="the update")
    try:
        project, fixed = sites.before(finding), sites.after(finding)
        path = sites.relative(finding)
        before = _trace(project, path, sites.span(finding.position))
        if before is None:
            return constructors.plan(sites, finding)
        event, trace = before
        after = next(other for other in _traces(fixed, path) if _same(trace, other))
        number = _loops(trace).index(event.loops[:1])
        old, new = (list(_played(_round(each, number), event)) for each in (trace, after))
    except (Unknown, Unreadable, RecursionError, StopIteration, IndexError) as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    if not any(action == "backward" for action, _ in new) or not any(name for _, name in new):
        found.reason, found.detail = Reason.UNEVALUABLE, "no whole round of the loop is known"
        return found
    found.assumed["one round is played three times, with gradients of the same size"] = None
    for scale in SCALES:
        looks = (Look({"probe": "scaler-rounds", "events": each, "scale": scale}, "updates") for each in (old, new))
        found.attempts.append(Attempt(f"scale {scale:g}", "x1", *looks))
    return found


def _traces(project: Project, path: str) -> tuple[Trace, ...]:
    return project.facts(path).traces


def _trace(project: Project, path: str, span: Span) -> tuple[Event, Trace] | None:
    """The event of a finding, in the trace that tells most of its round; rather in its own function than in a caller."""
    found: list[tuple[tuple[bool, bool, bool], Event, Trace]] = []
    for trace in _traces(project, path):
        for event in trace.events:
            place = (event.inner or event.statement).span
            if event.action in PLAYED and place.start <= span.start < place.end:
                played = {each.action for each in trace.events if each.meets(event)}
                whole = Action.BACKWARD in played and bool(played & set(STEPS))
                found.append(((whole, event.inner is None, trace.ordered), event, trace))
    best = max(found, key=lambda item: item[0], default=None)
    return (best[1], best[2]) if best else None


def _same(trace: Trace, other: Trace) -> bool:
    return (trace.function, trace.cls, trace.ordered) == (other.function, other.cls, other.ordered)


def _loops(trace: Trace) -> list[tuple[str, ...]]:
    """The outermost loops of a trace, in their order; () for what stands in none."""
    return list(dict.fromkeys(event.loops[:1] for event in trace.events))


def _round(trace: Trace, number: int) -> list[Event]:
    """The events of one outermost loop; of all where a finding stands in none."""
    loop = _loops(trace)[number]
    return [event for event in trace.events if not loop or event.loops[:1] == loop]


def _played(events: Iterable[Event], at: Event) -> Iterator[tuple[str, str]]:
    """The events of the path that comes to one, each with its optimizer; a backward with its scaler."""
    path = [event for event in events if event.action in PLAYED and event.meets(at)]
    for index, event in enumerate(path):
        match event.action:
            case Action.BACKWARD:
                yield "backward", event.scaled_by
            case Action.STEP:
                yield "step", event.subject
            case Action.CLIP:
                later = (_optimizer(each) for each in path[index + 1 :] if each.action in STEPS)
                yield "clip", next(later, "")
            case Action.UPDATE:
                yield "update", ""
            case _:
                yield event.action.value, event.target


def _optimizer(event: Event) -> str:
    return event.subject if event.action is Action.STEP else event.target
