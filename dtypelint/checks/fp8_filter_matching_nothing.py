"""DTL308: see `rules/fp8-filter-matching-nothing.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit

_CONSEQUENCE = {
    True: "it keeps none out of fp8",
    False: "it converts none to fp8",
    None: "it decides nothing about fp8",
}


def check(facts: Facts) -> Iterator[Hit]:
    for found in facts.unmatched:
        message = f"`{found.name}` names no module of {found.model}: {_CONSEQUENCE[found.keeps_out]}"
        yield Hit(found.span, message, Confidence.LOW, found.related)
    for region in facts.plain_regions:
        models = ", ".join(f"`{model}`" for model in region.models)
        message = f"no module of TransformerEngine runs in `{region.callee}`: {models} computes as without it"
        yield Hit(region.span, message, Confidence.LOW, region.related)
