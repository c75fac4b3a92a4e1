"""DTL502: see `rules/rebound-parameter-cast.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts, Target
from dtypelint.facts.edits import data_cast
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for cast in facts.casts:
        if cast.rebinds:
            fix, withheld = data_cast(facts.path, cast)
            kind = "buffer" if cast.target is Target.BUFFER else "parameter"
            after = cast.after_sharding
            yield Hit(
                cast.span,
                f"the loop rebinds `{cast.receiver}` and never reads it again: the {kind} keeps its dtype",
                Confidence.HIGH,
                (Related(after, f"`{cast.after_name}` comes before"),) if after is not None else (),
                fix,
                withheld,
            )
