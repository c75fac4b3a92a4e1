"""DTL101: see `rules/dropped-policy-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Form, Role, Setting, Sink
from dtypelint.facts.edits import add_argument, declared, field_fix
from dtypelint.finding import Confidence, Hit

_CONSEQUENCE = {
    Role.REDUCE: "gradients are reduced in the dtype that the policy falls back to",
    Role.BUFFER: "buffers keep the dtype that the policy falls back to",
    Role.OUTPUT: "outputs are not cast",
    Role.CAST_INPUTS: "whether inputs are cast is left to the policy's own default",
}


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("policy"):
        param = sink.of(Role.PARAM)
        if sink.is_open or param is None or param.value.is_none or sink.is_default:
            continue
        for name, role_name in sink.api.roles.items():
            role = Role(role_name)
            if role is Role.PARAM or sink.get(name) is not None or _inert(sink, role):
                continue
            found = [s for s in sink.settings(role) if s.hop <= 6]
            if found and sink.falls_back_to(name) == "original" and found[0].constants == ("float32",):
                # what a missing field means there, with fp32 masters
                continue
            if found and not any(s.used for s in found):
                yield _hit(sink, name, role, found)


def _inert(sink: Sink, role: Role) -> bool:
    """A policy that keeps fp32 loses nothing by a missing field; forward-only use reduces nothing, a pure mode in one dtype."""
    param, around = sink.of(Role.PARAM), sink.around
    assert param is not None
    unread = role is Role.REDUCE and (around.no_grad or around.frozen or around.pure)
    return unread or param.value.hardcoded == "float32"


def _hit(sink: Sink, name: str, role: Role, found: list[Setting]) -> Hit:
    best = found[0]
    flag = role is Role.CAST_INPUTS
    fix, withheld = field_fix(
        sink, best, found, f"pass `{name}={{}}`", lambda text: add_argument(sink, name, text), flag=flag
    )
    sure = best.hop <= 4 and (best.form is Form.FLAG) is flag
    return Hit(
        sink.span,
        f"`{sink.callee}` leaves out `{name}` although `{best.read}` is in reach: {_CONSEQUENCE.get(role, 'the setting is lost')}",
        Confidence.HIGH if sure else Confidence.MEDIUM,
        (declared(best),),
        fix,
        withheld,
        settings=(best.declared,),
    )
