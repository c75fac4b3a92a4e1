"""DTL105: see `rules/frozen-policy-mutation.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for mutation in facts.mutations:
        if not mutation.api.frozen:
            continue
        fix = None
        withheld = f"`{mutation.target}` is held elsewhere: replacing it here would change nothing there"
        if mutation.owned and mutation.replace:
            text = f"{mutation.target} = {mutation.replace}({mutation.target}, {mutation.name}={mutation.value})"
            edits = (Edit(Location(facts.path, mutation.span), text), *mutation.imports)
            fix = Fix(f"build `{mutation.target}` anew with `{mutation.name}`", Safety.SAFE, edits)
        yield Hit(
            mutation.span,
            f"`{mutation.name}` of a frozen `{mutation.api.name}` is assigned: FrozenInstanceError on this path",
            Confidence.HIGH,
            (Related(mutation.built, "built here"),),
            fix,
            None if fix else withheld,
        )
