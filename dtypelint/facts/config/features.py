"""Where a project uses the feature that an advisory is about."""

from __future__ import annotations

from collections.abc import Callable

from dtypelint.facts.config.documents import Documents
from dtypelint.facts.config.leaves import MISSING, says
from dtypelint.facts.config.nodes import Mapping, mappings
from dtypelint.finding import Location, Related, Span
from dtypelint.languages import Language, language
from dtypelint.schemas import Advisory


class Features:
    """Looks for them in the configuration files of a project; `does` says where its code fits patterns, below a folder."""

    def __init__(self, documents: Documents, does: Callable[[tuple[str, ...], str], Location | None]) -> None:
        self._documents = documents
        self._does = does

    def used(self, advisory: Advisory, folder: str) -> Related | None:
        """The first place below a folder, if any; none where the project has mended it for itself."""
        if advisory.unless and self._does(advisory.unless, "") is not None:
            return None
        below = f"{folder}/" if folder else ""
        for path in self._documents.files if advisory.config else ():
            if path.startswith(below) and language(path) in (Language.YAML, Language.JSON):
                needed = [key for key, words in advisory.config.items() if MISSING not in words]
                if all(key.rpartition(".")[2] in self._documents.text(path) for key in needed):
                    if (span := self._in_config(advisory, path)) is not None:
                        return Related(Location(path, span), f"{advisory.feature} is used here")
        place = self._does(advisory.code, folder) if advisory.code else None
        return Related(place, f"{advisory.feature} is used here") if place is not None else None

    def _in_config(self, advisory: Advisory, path: str) -> Span | None:
        kind = self._documents.kind_of(path)
        document = self._documents.first(path)
        if document is None or kind is None or kind.name != advisory.kind:
            return None
        spans = [self._span(document, tuple(key.split(".")), wanted) for key, wanted in advisory.config.items()]
        return spans[0] if all(spans) else None

    def _span(self, document: Mapping, key: tuple[str, ...], wanted: tuple[str, ...]) -> Span | None:
        if key[0] == "*":
            return _find(document, key[1:], wanted)
        first = document.get(key[0])
        return (first.span if first else document.span) if says(document, key, wanted) else None


def _find(document: Mapping, key: tuple[str, ...], wanted: tuple[str, ...]) -> Span | None:
    """The place at which a key at any level has one of some values."""
    for path, mapping in mappings(document):
        entry = mapping.get(key[-1]) if path[len(path) - len(key) + 1 :] == key[:-1] else None
        if entry is not None and says(mapping, key[-1:], wanted):
            return entry.span
    return None
