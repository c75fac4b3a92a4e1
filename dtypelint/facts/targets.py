"""Which releases of a library the findings are for."""

from __future__ import annotations

from collections.abc import Mapping

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
        known = [*(s.version for s in SpecifierSet(versions)), self._newest.get(library, "")]
        try:
            exact = Version(given)
        except InvalidVersion:
            wanted = SpecifierSet(given)
            return any(
                v and SpecifierSet(versions).contains(v) and wanted.contains(v) for v in (*known, *around(known))
            )
        return SpecifierSet(versions).contains(exact, prereleases=True)


def around(versions: list[str]) -> list[str]:
    """Releases just below the bounds of a range, so that two half-open ranges meet."""
    found = []
    for text in filter(None, versions):
        release = Version(text).release
        if len(release) > 1 and release[1]:
            found.append(f"{release[0]}.{release[1] - 1}")
    return found
