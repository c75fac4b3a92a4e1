"""DTL402: see `rules/missing-grad-scaler.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Kind, Role, Sink
from dtypelint.facts.autocast import device
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Confidence, Hit, Related, Severity

_HALF = "float16"
_DEFAULT = ("cuda", "xpu", "mps", "mtia", "")


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    traces = [t for t in facts.traces if t.ordered and not t.scales]
    for trace in traces:
        for event in trace.of(Action.AUTOCAST):
            sink = next((s for s in facts.of("autocast") if event.made is not None and s.location == event.made), None)
            steps = _trains(trace, event)
            if sink is None or steps is None or sink.location in seen or not _unowned(sink):
                continue
            how = _autocast(sink)
            if how is not None:
                seen.add(sink.location)
                yield _hit(sink, how, steps)
    for sink in facts.of("policy"):
        steps = next((s for t in traces if _near(t, sink) for s in [_steps(t)] if s is not None), None)
        dtype = sink.of(Role.PARAM)
        if steps is not None and dtype is not None and dtype.value.hardcoded == _HALF and _unowned(sink):
            yield _hit(sink, (Severity.ERROR, "the policy computes in float16"), steps)


def _unowned(sink: Sink) -> bool:
    around = sink.around
    return not (around.owners or around.scaler or around.no_grad or around.inference)


def _near(trace: Trace, sink: Sink) -> bool:
    function = sink.around.function.rpartition(".")[2]
    return trace.cls == sink.around.cls if trace.cls else trace.function == function


def _trains(trace: Trace, region: Event) -> tuple[Event, Event] | None:
    """The plain backward and the step that follow a region on its path."""
    return _plain(trace.after(region, Action.BACKWARD), trace.after(region, Action.STEP))


def _steps(trace: Trace) -> tuple[Event, Event] | None:
    return _plain(trace.of(Action.BACKWARD), trace.of(Action.STEP))


def _plain(backwards: tuple[Event, ...], steps: tuple[Event, ...]) -> tuple[Event, Event] | None:
    plain = [b for b in backwards if not b.owner and "scale" not in (b.subject + b.text + b.scaled_by).lower()]
    return (plain[0], steps[0]) if plain and steps and len(plain) == len(backwards) else None


def _autocast(sink: Sink) -> tuple[Severity, str] | None:
    """How a region comes to compute in float16."""
    enabled = sink.get("enabled")
    if enabled is not None and any(o.kind is Kind.BOOL and o.text == "False" for o in enabled.value.origins):
        return None
    dtype = sink.get("dtype")
    where = device(sink)
    if dtype is not None:
        if dtype.value.hardcoded == _HALF and where != "cpu":
            return Severity.ERROR, "autocast computes in float16"
        if _HALF in dtype.value.dtypes and where != "cpu" and not dtype.value.settings:
            return Severity.WARNING, "autocast may compute in float16"
        return None
    if sink.is_open or where not in _DEFAULT or sink.around.nested or sink.is_default:
        return None
    if where:
        return Severity.ERROR, f"autocast computes in float16, the default on {where}"
    return Severity.WARNING, "autocast computes in float16 on a GPU, its default there"


def _hit(sink: Sink, how: tuple[Severity, str], steps: tuple[Event, Event]) -> Hit:
    severity, what = how
    backward, step = steps
    return Hit(
        sink.span,
        f"{what} and no gradient scaler is in reach: small gradients become zero, large ones infinite",
        Confidence.HIGH if severity is Severity.ERROR else Confidence.MEDIUM,
        (
            Related(backward.inner or backward.location, "the unscaled backward"),
            Related(step.inner or step.location, "the step"),
        ),
        severity=severity,
    )
