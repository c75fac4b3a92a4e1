"""DTL305: see `rules/discarded-fp8-recipe.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Role
from dtypelint.facts.omitted import hit
from dtypelint.facts.recipes import Loss, LostRecipe
from dtypelint.finding import Confidence, Fix, Hit, Safety

SAID = {
    Loss.UNUSED: "`{what}` is built and passed to nothing: fp8 runs without it",
    Loss.LOGGED: "`{what}` is built for a message only and passed to nothing: fp8 runs without it",
    Loss.RETURNED: "`{what}` is returned by `{where}`, and every caller drops it: fp8 runs without it",
    Loss.IGNORED: "`{what}` is ignored by `{where}` because the config is given ({versions})",
    Loss.UNCONVERTED: "the converted module is dropped: `{what}` itself is a bare `nn.Linear` and stays as it was",
    Loss.UNREAD: "`{what}` is set and never read: the field is `{where}`",
}
FIXES = {
    Loss.UNUSED: ("pass it to `Accelerator`", Safety.SAFE),
    Loss.UNCONVERTED: ("keep the converted module", Safety.SAFE),
    Loss.UNREAD: ("set the field that is read", Safety.UNSAFE),
}


def check(facts: Facts) -> Iterator[Hit]:
    for lost in facts.recipes:
        fix, withheld = _fix(lost)
        yield Hit(
            lost.span,
            SAID[lost.loss].format(what=lost.what, where=lost.where, versions=lost.versions),
            Confidence.MEDIUM if lost.loss is Loss.RETURNED else Confidence.HIGH,
            related=lost.related,
            fix=fix,
            withheld=withheld,
        )
    for omission in facts.omissions:
        if omission.role is Role.FP8:
            yield hit(facts.path, omission)


def _fix(lost: LostRecipe) -> tuple[Fix | None, str | None]:
    if lost.loss not in FIXES:
        return None, None
    if not lost.edits:
        return None, "there is no single place that should take it"
    description, safety = FIXES[lost.loss]
    return Fix(description, safety, lost.edits), None
