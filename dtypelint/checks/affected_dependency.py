"""DTL901: see `rules/affected-dependency.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.finding import Confidence, Hit, Severity


def check(facts: Facts) -> Iterator[Hit]:
    for affected in facts.affected:
        advisory = affected.advisory
        which = (
            f"{advisory.library} {advisory.versions}"
            if advisory.versions
            else f"{advisory.library} at {advisory.splits}"
        )
        cure = f"take {advisory.fixed} or newer" if advisory.fixed else "no release has mended it yet"
        if advisory.splits:
            cure = f"pin one side of {advisory.splits}"
        said = "pins" if affected.certain else f"admits (`{affected.range or 'any'}`)"
        yield Hit(
            affected.span,
            f"the project {said} {which} and uses {advisory.feature}: {advisory.consequence}; {cure} ({advisory.source})",
            Confidence.HIGH if affected.certain and not advisory.open else Confidence.LOW,
            related=(affected.used,),
            severity=Severity.ERROR if affected.certain else Severity.WARNING,
        )
