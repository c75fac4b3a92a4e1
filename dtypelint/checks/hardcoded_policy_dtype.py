"""DTL106: see `rules/hardcoded-policy-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Form, Role, Setting, Sink
from dtypelint.facts.edits import declared, field_fix, replace_value
from dtypelint.finding import Confidence, Hit

_FITS = {
    Role.PARAM: (Role.PARAM, Role.AUTOCAST, Role.GENERAL),
    Role.REDUCE: (Role.REDUCE,),
    Role.BUFFER: (Role.BUFFER,),
    Role.OUTPUT: (Role.OUTPUT,),
}


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("policy"):
        if sink.around.switched or sink.around.pure or sink.is_default or sink.around.comment:
            continue
        for name, role_name in sink.api.roles.items():
            argument = sink.get(name)
            if argument is None or argument.value.hardcoded is None:
                continue
            if argument.value.hardcoded in sink.around.asked:
                continue
            found = [s for s in sink.settings(*_FITS[Role(role_name)]) if not s.used and s.form is not Form.FLAG]
            near = [s for s in found if s.hop <= 5]
            if argument.value.hardcoded == "float32":
                # fp32 on purpose is common: only a setting of exactly this role says otherwise
                near = [s for s in near if s.role == role_name and s.role is not Role.PARAM]
            if near:
                yield _hit(sink, name, Role(role_name), argument, near)


def _hit(sink: Sink, name: str, role: Role, argument: Argument, found: list[Setting]) -> Hit:
    exact = [s for s in found if s.role is role]
    best = (exact or found)[0]
    fix, withheld = field_fix(sink, best, found, "pass `{}`", lambda text: replace_value(sink, argument, text))
    if best.optional and fix:
        fix, withheld = None, f"`{best.read}` may be None"
    confidence = Confidence.HIGH if exact and best.hop <= 2 else Confidence.MEDIUM
    if best.role is Role.GENERAL and best.hop >= 4:
        confidence = Confidence.LOW
    return Hit(
        sink.span,
        f"`{name}` is always {argument.value.hardcoded} although `{best.read}` is in reach: the setting does not arrive",
        confidence,
        (declared(best),),
        fix,
        withheld,
        settings=(best.declared,),
    )
