"""DTL207: see `rules/low-precision-island.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.islands import Island
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Span


def check(facts: Facts) -> Iterator[Hit]:
    for island in facts.islands:
        fix, withheld = _wrapped(facts, island)
        yield Hit(
            island.span,
            f"{island.operation} computes in 16 bit: autocast casts `{island.upcast}` down again",
            Confidence.LOW,
            (Related(island.region, "autocast is on here"),),
            fix,
            withheld,
        )


def _wrapped(facts: Facts, island: Island) -> tuple[Fix | None, str | None]:
    if not island.both:
        return None, "the other operand may be in 16 bit: cast it too, in a region with `enabled=False`"
    named = facts.imports.get("torch", "autocast", island.statement.start)
    if not island.device or named is None:
        return None, "put the statement in a region with `enabled=False`"
    name, imported = named
    start = island.statement.start
    text = f"with {name}({island.device}, enabled=False):{island.lead}    "
    edit = Edit(Location(facts.path, Span(start, start)), text)
    return Fix("turn autocast off around it", Safety.UNSAFE, (*imported, edit)), None
