"""DTL202: see `rules/implicit-autocast-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Role, Setting, Sink
from dtypelint.facts.autocast import autocast_fix, candidates, device, follows, is_guard
from dtypelint.facts.edits import declared
from dtypelint.finding import Confidence, Hit, Severity

_BF16 = frozenset({"cpu", "hpu", "xla"})


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        given = sink.get("dtype")
        if (given is not None and not given.value.is_none) or sink.is_open or sink.via in ("replace", "held"):
            continue
        if (
            (enabled := sink.get("enabled")) is not None
            and enabled.speaks == {"bfloat16"}
            and device(sink) not in _BF16
        ):
            yield _asked(sink, enabled)
        if is_guard(sink):
            continue
        around = sink.around
        if around.nested or around.dispatched or around.dummy or around.dead or around.old:
            continue
        if around.comment_speaks == {"float16"}:
            continue
        found = [s for s in candidates(sink, flags=True) if s.hop <= 4]
        twin = next((s for s in found for other in facts.of("autocast") if _is_twin(sink, other, s)), None)
        if twin is not None:
            yield _beside(sink, twin)
        elif device(sink) not in _BF16 and ("bfloat16" in around.comment_speaks or not around.owners):
            yield _hit(sink, found)


def _asked(sink: Sink, enabled: Argument) -> Hit:
    return Hit(
        sink.span,
        f"autocast without a dtype computes in float16 on {device(sink) or 'cuda'}; `{enabled.text}` asks for bfloat16",
        Confidence.HIGH,
        severity=Severity.ERROR,
        settings=tuple(o.location for o in enabled.value.settings),
    )


def _is_twin(sink: Sink, other: Sink, setting: Setting) -> bool:
    """Whether another region of the same function follows a setting."""
    same = (other.around.cls, other.around.function) == (sink.around.cls, sink.around.function)
    return same and other is not sink and follows(other, [setting])


def _beside(sink: Sink, setting: Setting) -> Hit:
    where = device(sink) or "cuda"
    dtype = "bfloat16" if where in _BF16 else "float16"
    return Hit(
        sink.span,
        f"autocast without a dtype computes in {dtype} on {where}; the other branch follows `{setting.read}`",
        Confidence.LOW if _is_inference(sink) else Confidence.MEDIUM,
        (declared(setting),),
        *autocast_fix(sink, None, [setting]),
        severity=Severity.ERROR,
        settings=(setting.declared,),
    )


def _is_inference(sink: Sink) -> bool:
    return bool(sink.around.inference or sink.around.no_grad)


def _hit(sink: Sink, found: list[Setting]) -> Hit:
    inference = _is_inference(sink)
    where = device(sink) or "cuda"
    if "bfloat16" in sink.around.comment_speaks and not found:
        return Hit(
            sink.span,
            f"autocast without a dtype computes in float16 on {where} although a comment says bfloat16",
            Confidence.MEDIUM,
            severity=Severity.ERROR,
        )
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
    fix, withheld = autocast_fix(sink, sink.get("dtype"), found)
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
