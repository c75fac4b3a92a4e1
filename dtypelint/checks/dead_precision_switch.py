"""DTL506: see `rules/dead-precision-switch.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.given import Switch
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for switch in facts.switches:
        yield _switch(facts.path, switch) if switch.live else _copy(switch)


def _switch(path: str, switch: Switch) -> Hit:
    fix = None
    withheld = None
    related: tuple[Related, ...] = ()
    if switch.already is not None:
        related = (Related(switch.already, "the switch that works is set here"),)
        withheld = f"`{switch.live}` is set in this function: remove this one"
    else:
        fix = Fix(f"set `{switch.live}`", Safety.SAFE, (Edit(Location(path, switch.target_span), switch.live),))
    message = f"nothing reads `{switch.target}`: TF32 is switched by `{switch.live}`"
    return Hit(switch.span, message, Confidence.HIGH, related, fix, withheld)


def _copy(switch: Switch) -> Hit:
    return Hit(
        switch.span,
        f"`copy_` casts to the dtype of `{switch.target}`: `{switch.value}` changes nothing",
        Confidence.HIGH,
        withheld="assign to `.data` before the model is sharded and the optimizer is built, or cast the module",
    )
