"""DTL307: see `rules/misnamed-precision-variable.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.configs import Variable
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for variable in facts.variables:
        if variable.late is not None:
            message = f"`{variable.name}` is set after it was read: the value does not arrive"
            yield Hit(variable.span, message, Confidence.HIGH, related=(variable.late,))
            continue
        fix, withheld = _fix(facts.path, variable)
        right = f": {variable.library} reads `{variable.instead}`" if variable.instead else ""
        near = f"; did you mean `{variable.near}`?" if variable.near else ""
        message = f"nothing reads the variable `{variable.name}`{right}{near}"
        yield Hit(variable.span, message, Confidence.HIGH, fix=fix, withheld=withheld)


def _fix(path: str, variable: Variable) -> tuple[Fix | None, str | None]:
    if not variable.instead:
        return None, "only a known misname is renamed" if variable.near else None
    safety = Safety.SAFE if variable.fits else Safety.UNSAFE
    edit = Edit(Location(path, variable.span), variable.instead)
    return Fix(f"set `{variable.instead}`", safety, (edit,)), None
