"""Which releases of a library the findings are for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

ANY = "any"


class Targets:
    """The range of each library: as given, else the newest release that the tables know."""

    def __init__(self, given: Mapping[str, str], newest: Mapping[str, str]) -> None:
        self._given = given
        self._newest = newest

    def given(self, library: str) -> str:
        """What was asked for, or is installed; empty where that is not known."""
        return self._given.get(library, "")

    def affects(self, library: str, versions: str) -> bool:
        """Whether a targeted release lies in a range of versions."""
        given = self._given.get(library) or self._given.get("*") or self._newest.get(library, ANY)
        if not versions or given == ANY:
            return True
        affected = SpecifierSet(versions)
        try:
            return affected.contains(Version(given), prereleases=True)
        except InvalidVersion:
            wanted = SpecifierSet(given)
        bounds = [spec.version for spec in (*affected, *wanted)]
        points = [*filter(None, [self._newest.get(library)]), *near(bounds)]
        return any(affected.contains(point) and wanted.contains(point) for point in points)


def near(versions: Iterable[str]) -> Iterator[str]:
    """The bounds of ranges and the releases just below them: where half-open ranges meet, one of these lies in each."""
    for text in versions:
        release = Version(text.removesuffix(".*")).release
        yield ".".join(map(str, release))
        for place in range(1, len(release)):
            if release[place]:
                yield ".".join(map(str, (*release[:place], release[place] - 1)))
