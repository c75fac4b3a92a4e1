"""DTL501: see `rules/discarded-cast.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Cast, Facts, Target
from dtypelint.facts.edits import data_cast
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Severity, Span


def check(facts: Facts) -> Iterator[Hit]:
    for cast in facts.casts:
        if not cast.rebinds:
            yield _hit(facts.path, cast)


def _hit(path: str, cast: Cast) -> Hit:
    fix = None
    withheld = None
    if cast.target in (Target.PARAMETER, Target.BUFFER, Target.STATE):
        fix, withheld = data_cast(path, cast)
    elif cast.target in (Target.LOCAL, Target.SUBSCRIPT) and cast.read_later:
        start = Location(path, Span(cast.span.start, cast.span.start))
        fix = Fix(f"assign it to `{cast.receiver}`", Safety.SAFE, (Edit(start, f"{cast.receiver} = "),))
    elif cast.target is Target.OTHER:
        withheld = f"`{cast.receiver}` cannot be assigned to: nothing says where the result belongs"
    else:
        withheld = f"`{cast.receiver}` is not read afterwards: nothing says where the result belongs"
    lost = "move" if cast.moves_only else "cast"
    return Hit(
        cast.span,
        f"the result of `{cast.receiver}{cast.what}` is discarded: `{cast.receiver}` is a tensor, the {lost} has no effect",
        Confidence.HIGH,
        (Related(cast.evidence_location, f"a tensor: {cast.evidence}"),),
        fix,
        withheld,
        severity=Severity.WARNING if cast.moves_only else Severity.ERROR,
    )
