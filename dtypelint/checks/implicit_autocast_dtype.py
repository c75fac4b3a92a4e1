"""DTL202: see `rules/implicit-autocast-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Role, Setting, Sink
from dtypelint.facts.autocast import autocast_fix, candidates, device, is_guard
from dtypelint.facts.edits import declared
from dtypelint.finding import Confidence, Hit, Severity

_BF16 = frozenset({"cpu", "hpu", "xla"})


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        if sink.get("dtype") is not None or sink.is_open or is_guard(sink) or sink.via != "call":
            continue
        if device(sink) in _BF16 or sink.around.nested or sink.around.owners or sink.around.dispatched:
            continue
        yield _hit(sink, [s for s in candidates(sink, flags=True) if s.hop <= 4])


def _hit(sink: Sink, found: list[Setting]) -> Hit:
    inference = bool(sink.around.inference or sink.around.no_grad)
    where = device(sink) or "cuda"
    if not found:
        return Hit(
            sink.span,
            f"autocast without a dtype computes in float16 on {where}",
            Confidence.LOW
            if inference or sink.around.scaler is not None or not sink.around.trains
            else Confidence.MEDIUM,
            severity=Severity.WARNING if sink.around.scaler else Severity.ERROR,
        )
    best = found[0]
    fix, withheld = autocast_fix(sink, None, found)
    strong = best.role in (Role.AUTOCAST, Role.PARAM) or sink.around.trains
    return Hit(
        sink.span,
        f"autocast without a dtype computes in float16 on {where} although `{best.read}` is in reach",
        Confidence.LOW if inference or not strong else Confidence.MEDIUM,
        (declared(best),),
        fix,
        withheld,
        severity=Severity.ERROR,
        settings=(best.declared,),
    )
