"""Dependencies that a project declares, with their places, and the advisories that they admit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from dtypelint.facts.configs import Affected
from dtypelint.facts.targets import near
from dtypelint.finding import Related, Span
from dtypelint.schemas import Advisory

SPEC = r"(?:\[[\w,\s.-]*\])?\s*\(?(?P<spec>(?:(?:===|[<>=!~]=|[<>])\s*[\w.*+!-]+\s*,?\s*)*)"
END = r"(?=\s*(?:[;#)]|$|--))"
POETRY = (
    r"""^[ \t]*["']?(?P<name>{})["']?[ \t]*=[ \t]*(?:\{{[^}}\n]*version[ \t]*=[ \t]*)?["'](?P<caret>[^"'\n]+)["']"""
)


@dataclass(frozen=True, slots=True)
class Pin:
    """A dependency with the range that it admits; the span is that of its name and range."""

    name: str
    range: SpecifierSet
    span: Span


def pins(path: str, text: str, library: str) -> Iterator[Pin]:
    """The places at which a file names a distribution as a dependency."""
    name = re.escape(library).replace("_", "[-_.]")
    requirement = re.compile(rf"[ \t]*(?P<name>{name}){SPEC}{END}", re.MULTILINE | re.IGNORECASE)
    if not path.endswith(".toml"):
        for match in re.finditer(rf"^{requirement.pattern}", text, re.MULTILINE | re.IGNORECASE):
            yield from _pin(text, library, match["spec"], match.start("name"), match.end("spec"))
        return
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    place = 0
    for item in _dependencies(values):
        written = re.compile(rf"""(?P<quote>["']){re.escape(item)}(?P=quote)""")
        found = written.search(text, place) or written.search(text)
        parsed = requirement.match(item)
        if found and parsed:
            place = found.end()
            start = found.start() + 1
            yield from _pin(text, library, parsed["spec"], start + parsed.start("name"), start + parsed.end("spec"))
    if "poetry" in values.get("tool", {}):
        for match in re.finditer(POETRY.format(name), text, re.MULTILINE | re.IGNORECASE):
            yield from _pin(text, library, _plain(match["caret"]), match.start("name"), match.end())


def _dependencies(values: dict[str, Any]) -> Iterator[str]:
    """The requirements of a `pyproject.toml`."""
    project = values.get("project", {})
    groups = (project.get("optional-dependencies", {}), values.get("dependency-groups", {}))
    several = [project.get("dependencies", []), *(items for group in groups for items in group.values())]
    yield from (item for items in several for item in items if isinstance(item, str))


def _pin(text: str, library: str, spec: str, start: int, end: int) -> Iterator[Pin]:
    try:
        admitted = SpecifierSet(spec.strip().strip(","))
    except InvalidSpecifier:
        return
    first = len(text[:start].encode())
    written = text[start:end].rstrip(" ,(\n\r\t")
    yield Pin(library, admitted, Span(first, first + len(written.encode())))


def _plain(caret: str) -> str:
    """Poetry's `^1.13` and `1.13` as a range."""
    if caret in ("", "*"):
        return ""
    if caret[0] not in "^~" or caret.startswith("~="):
        return caret if caret[0] in "<>=!~" else f"=={caret}"
    parts = caret[1:].split(".")
    fixed = 1 if caret[0] == "^" and parts[0] != "0" else 2
    head = [*parts, "0"][:fixed]
    head[-1] = str(int(head[-1]) + 1) if head[-1].isdigit() else head[-1]
    return f">={caret[1:]},<{'.'.join(head)}"


class Advisories:
    """Holds pins against the advisories; `used` says where the project uses the feature of one, below a folder."""

    def __init__(
        self,
        advisories: tuple[Advisory, ...],
        newest: dict[str, str],
        installed: Callable[[str], str],
        used: Callable[[Advisory, str], Related | None],
    ) -> None:
        self._advisories = advisories
        self._newest = newest
        self._installed = installed
        self._used = used

    def affected(self, path: str, text: str) -> Iterator[Affected]:
        """The pins of a file that admit a release of an advisory whose feature is used."""
        folder = path.rpartition("/")[0]
        for advisory in self._advisories:
            if not re.search(re.escape(advisory.library).replace("_", "[-_.]"), text, re.IGNORECASE):
                continue
            for pin in pins(path, text, advisory.library):
                certain = self._admits(advisory, pin)
                related = self._used(advisory, folder) if certain is not None else None
                if certain is not None and related is not None:
                    yield Affected(pin.span, str(pin.range), advisory, certain, related)

    def _admits(self, advisory: Advisory, pin: Pin) -> bool | None:
        """None where no affected release is admitted; else whether the newest that is admitted is one."""
        locked = self._installed(advisory.library)
        exact = re.fullmatch(r"[\d.]+\w*", locked)
        points = [Version(locked)] if exact and not _exact(pin) else self._points(advisory, pin)
        if advisory.splits:
            bound = Version(advisory.splits)
            sides = {point >= bound for point in points}
            return False if sides == {True, False} else None
        inside = SpecifierSet(advisory.versions)
        hit = [point for point in points if inside.contains(point, prereleases=True)]
        return max(points) in hit if hit else None

    def _points(self, advisory: Advisory, pin: Pin) -> list[Version]:
        """The releases that stand for all that a pin admits: the bounds, what lies beside them, and the newest known."""
        words = [each.version for each in (*SpecifierSet(advisory.versions), *pin.range)]
        words += [word for word in (advisory.splits, self._newest.get(advisory.library, "")) if word]
        return [point for word in near(words) if pin.range.contains(point := Version(word), prereleases=True)]


def _exact(pin: Pin) -> bool:
    return any(each.operator == "==" and not each.version.endswith("*") for each in pin.range)
