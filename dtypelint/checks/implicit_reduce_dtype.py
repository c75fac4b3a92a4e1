"""DTL103: see `rules/implicit-reduce-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import LOW_PRECISION, Argument, Facts, Role, Sink
from dtypelint.facts.edits import add_argument, literal_fix, replace_value
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("policy"):
        name = next((n for n, r in sink.api.roles.items() if r == Role.REDUCE), "")
        param = sink.of(Role.PARAM)
        if not name or param is None or sink.is_open:
            continue
        given = sink.get(name)
        if sink.lapse is not None and sink.falls_back_to(name) == "param_dtype":
            message = f"`{name}` of `{sink.callee}` keeps its None where `{param.text}` is set: gradients are reduced in that dtype"
            related = (Related(sink.lapse, f"`{name}` is not set on this path"),)
            yield Hit(
                sink.span, message, Confidence.LOW, related, withheld="it must be set on the path that leaves it out"
            )
        elif _is_written(sink, given) if given is not None and not given.value.is_none else _is_left_out(sink, name):
            yield _hit(sink, name)


def _is_written(sink: Sink, given: Argument) -> bool:
    """Whether 16 bit is written out: float16, or what a library takes where nobody chose."""
    return given.value.hardcoded == "float16" or (sink.is_default and given.value.hardcoded in LOW_PRECISION)


def _is_left_out(sink: Sink, name: str) -> bool:
    """Whether the reduction follows 16-bit parameters, and no setting says otherwise."""
    param, given = sink.of(Role.PARAM), sink.get(name)
    low = param is not None and bool(LOW_PRECISION.intersection(_dtypes(param)))
    chosen = given is None and bool(sink.settings(Role.REDUCE))
    return low and not chosen and sink.falls_back_to(name) == "param_dtype"


def _hit(sink: Sink, name: str) -> Hit:
    given = sink.get(name)
    explicit = given is not None and not given.value.is_none
    dtype = given.value.hardcoded if given is not None and explicit else _of(sink)
    fix, withheld = literal_fix(
        sink,
        "float32",
        f"pass `{name}={{}}`",
        lambda text: replace_value(sink, given, text) if given is not None else add_argument(sink, name, text),
    )
    said = "is" if explicit else "is not set and follows `param_dtype`"
    holds = "" if explicit else sink.versions(name)
    return Hit(
        sink.span,
        f"`{name}` of `{sink.callee}` {said}{'' if not explicit else f' {dtype}'}: gradients are reduced in {dtype}{holds}",
        Confidence.LOW,
        fix=fix,
        withheld=withheld,
    )


def _dtypes(param: Argument) -> tuple[str, ...]:
    """What is written out, or held by a module constant."""
    return (*param.value.dtypes, *(o.means for o in param.value.settings if o.means))


def _of(sink: Sink) -> str:
    param = sink.of(Role.PARAM)
    assert param is not None
    return next((d for d in _dtypes(param) if d in LOW_PRECISION), "16 bit")
