"""DTL605: see `rules/dtype-compared-with-string.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.given import Comparison
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for each in facts.comparisons:
        kind, other = ("a string", "a dtype") if each.is_text else ("a dtype", "a string")
        always = "true" if each.operator in ("!=", "not in", "is not") else "false"
        fix, withheld = _fix(facts.path, each)
        yield Hit(
            each.span,
            f"`{each.text}` is {kind} and `{each.other}` is {other}: the comparison is always {always}",
            Confidence.HIGH,
            (Related(each.evidence, f"{kind}: {each.why}"),),
            fix,
            withheld,
        )


def _fix(path: str, each: Comparison) -> tuple[Fix | None, str | None]:
    if each.literals:
        edits = tuple(Edit(Location(path, span), text) for span, text in each.literals)
        return Fix("compare with " + ", ".join(f"`{e.text}`" for e in edits), Safety.SAFE, edits), None
    if each.converted:
        edit = Edit(Location(path, each.text_span), each.converted)
        return Fix(f"convert it: `{each.converted}`", Safety.SAFE, (edit,)), None
    return None, f"no way is known to turn `{each.text if each.is_text else each.other}` into a dtype here"
