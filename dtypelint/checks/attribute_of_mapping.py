"""DTL604: see `rules/attribute-of-mapping.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.given import Lookup
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for lookup in facts.lookups:
        edit = Edit(Location(facts.path, lookup.span), _instead(lookup))
        yield Hit(
            lookup.span,
            f"`{lookup.receiver}` is a mapping, so its key {lookup.key} is no attribute: {_consequence(lookup)}",
            Confidence.HIGH,
            (Related(lookup.evidence_location, f"a mapping: {lookup.evidence}"),),
            Fix(f"ask for the key: `{edit.text}`", Safety.SAFE, (edit,)),
        )


def _instead(lookup: Lookup) -> str:
    if lookup.function == "hasattr":
        text = f"{lookup.key} in {lookup.receiver}"
        return f"({text})" if lookup.joined else text
    if lookup.default is None:
        return f"{lookup.receiver}[{lookup.key}]"
    return f"{lookup.receiver}.get({lookup.key}, {lookup.default})"


def _consequence(lookup: Lookup) -> str:
    if lookup.function == "hasattr":
        return "this is always false"
    return f"this is always `{lookup.default}`" if lookup.default is not None else "this always raises"
