"""DTL502: see `rules/rebound-parameter-cast.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Target
from dtypelint.facts.edits import data_cast
from dtypelint.finding import Confidence, Hit, Related, Severity

_NOUNS = {Target.PARAMETER: "parameter", Target.BUFFER: "buffer"}


def check(facts: Facts) -> Iterator[Hit]:
    for cast in facts.casts:
        if not cast.rebinds:
            continue
        fix, withheld = data_cast(facts.path, cast)
        noun = _NOUNS.get(cast.target)
        after = cast.after_sharding
        related = [] if noun else [Related(cast.evidence_location, f"a tensor: {cast.evidence}")]
        if after is not None:
            related.append(Related(after, f"`{cast.after_name}` comes before"))
        yield Hit(
            cast.span,
            f"the loop rebinds `{cast.receiver}` and never reads it again: "
            f"the {noun or 'tensor'} keeps its {'device' if cast.moves_only else 'dtype'}"
            + (f" (cast before `{cast.after_name}`, not after it)" if after is not None else ""),
            Confidence.HIGH,
            tuple(related),
            fix,
            withheld,
            severity=Severity.WARNING if cast.moves_only else Severity.ERROR,
        )
