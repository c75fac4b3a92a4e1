"""DTL507: see `rules/hardcoded-cast-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dtypelint.facts import Facts, Form, Role, Setting, Sink
from dtypelint.facts.edits import declared, field_fix, replace_value
from dtypelint.finding import Confidence, Hit, Safety

_FITS = (Role.GENERAL, Role.PARAM)
# the attributes of an attribute's attributes are the business of another object
_FAR = 2


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.pins:
        around = sink.around
        if around.switched or around.asked or around.comment or around.dead or sink.is_default:
            continue
        found = [s for s in sink.settings(*_FITS, Role(sink.api.roles["dtype"])) if _is_near(s)]
        if found:
            yield _hit(sink, found)


def _is_near(setting: Setting) -> bool:
    return setting.form is not Form.FLAG and setting.hop <= 4 and setting.read.count(".") <= _FAR


def _hit(sink: Sink, found: list[Setting]) -> Hit:
    argument, best = sink.arguments[0], found[0]
    fix, withheld = field_fix(sink, best, found, "take `{}`", lambda text: replace_value(sink, argument, text))
    if best.optional and fix:
        fix, withheld = None, f"`{best.read}` may be None"
    return Hit(
        sink.span,
        f"`{sink.callee}` always gets {argument.value.hardcoded} although `{best.read}` is in reach",
        Confidence.LOW,
        (declared(best),),
        replace(fix, safety=Safety.UNSAFE) if fix else None,
        withheld,
        settings=(best.declared,),
    )
