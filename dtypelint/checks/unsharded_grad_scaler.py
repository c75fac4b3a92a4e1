"""DTL404: see `rules/unsharded-grad-scaler.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.loops import disabled_call
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Span

_SHARDING = re.compile(r"fsdp|shard|parallel|distributed|strategy|backend|world_size|ddp", re.IGNORECASE)
_SHARDED = "sharded"


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for trace in facts.traces:
        for scaler in trace.of(Action.SCALER):
            here = scaler.inner is None and scaler.location.path == facts.path and scaler.location not in seen
            if (
                not here
                or scaler.family in (_SHARDED, "cpu", "own")
                or any(_SHARDING.search(b.text) for b in scaler.path)
            ):
                continue
            other = _sharded(facts, trace, scaler)
            if other is not None and not disabled_call(facts, scaler.location):
                seen.add(scaler.location)
                yield _hit(facts, scaler, other)


def _sharded(facts: Facts, trace: Trace, scaler: Event) -> Event | None:
    """The FSDP1 wrap in the same function or class, or the sharded scaler that this one takes the place of."""
    near = [t for t in facts.traces if t is trace or (t.cls and t.cls == trace.cls)]
    for event in (e for t in near for e in t.of(Action.SHARD)):
        if event.family == "fsdp1" and "NO_SHARD" not in event.text and event.meets(scaler):
            return event
    name = scaler.subject.rpartition(".")[2]
    for event in (e for t in facts.traces for e in t.of(Action.SCALER)):
        if event.family == _SHARDED and name and event.subject.rpartition(".")[2] == name and event.inner is None:
            if event.meets(scaler):
                return event
    return None


def _hit(facts: Facts, scaler: Event, other: Event) -> Hit:
    wraps = other.action is Action.SHARD
    fix, withheld = _fix(facts, scaler)
    return Hit(
        scaler.location.span,
        f"`{scaler.text}` under FSDP: ranks disagree about an overflow, skip different steps and diverge"
        if wraps
        else f"`{scaler.text}` takes the place of a `ShardedGradScaler`: ranks disagree about an overflow and diverge",
        Confidence.HIGH,
        (Related(other.inner or other.location, "sharded here" if wraps else "the sharded scaler is made here"),),
        fix,
        withheld,
    )


def _fix(facts: Facts, scaler: Event) -> tuple[Fix | None, str | None]:
    """The sharded class in the same place, its arguments by name: growth and backoff change places."""
    sink = next((s for s in facts.of("scaler") if s.location == scaler.location), None)
    if sink is None or sink.location is None or sink.via != "call" or any(not a.written for a in sink.arguments):
        return None, "the arguments are not written in this call"
    path, start = scaler.location.path, scaler.location.span.start
    found = facts.imports.get("torch.distributed.fsdp.sharded_grad_scaler", "ShardedGradScaler", start)
    if found is None:
        return None, "`ShardedGradScaler` is the name of something else here"
    name, imported = found
    edits = [*imported, Edit(Location(path, Span(start, start + len(sink.callee.encode()))), name)]
    for argument in sink.arguments:
        if not argument.keyword:
            at = argument.span.start
            edits.append(Edit(Location(path, Span(at, at)), f"{argument.name}="))
    return Fix("take `ShardedGradScaler`", Safety.UNSAFE, tuple(edits)), None
