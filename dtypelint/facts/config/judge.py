"""Which keys of a document arrive: the document held against the schema of its kind, for the targeted releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from dtypelint.facts import Role
from dtypelint.facts.config.leaves import MISSING, entry_at, said, says, value_of
from dtypelint.facts.config.nodes import Entry, Scalar, Type, mappings
from dtypelint.facts.config.nodes import Mapping as Map
from dtypelint.facts.config.verdicts import When, answers, refusal, taken
from dtypelint.facts.configs import Answer, ConfigKey, Fate
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.finding import Edit, Location, Related, Span
from dtypelint.schemas import Config, Conflict, Key, Section, Unknown

FATES = {"crash": Fate.CLASH, "override": Fate.OVERRIDDEN, "ignored": Fate.UNREAD}


class Judge:
    """The keys of one document that do not arrive."""

    def __init__(
        self, path: str, document: Map, config: Config, targets: Targets, roles: Roles, given: Mapping[str, str]
    ) -> None:
        self._path = path
        self._document = document
        self._config = config
        self._targets = targets
        self._roles = roles
        self._given = given

    def keys(self) -> Iterator[ConfigKey]:
        """Every key that gets lost, once."""
        answers = self.answers()
        deaf = bool(answers) and not any(answer.reads_backend for answer in answers)
        unused: set[int] = set()
        for path, mapping in mappings(self._document):
            section = self._config.section(path)
            if section is None or id(mapping) in unused:
                continue
            if section.needs and mapping.entries:
                lost = self._unused(path, section)
                if lost is not None:
                    yield from lost
                    continue
                if deaf:
                    continue
            last = {entry.name: entry for entry in mapping.entries}
            for entry in mapping.entries:
                if last[entry.name] is not entry:
                    unused.add(id(entry.value))
                    yield from self._repeated(path, section, entry, last[entry.name])
                else:
                    yield from self._key(path, mapping, section, entry)
        yield from self._conflicts()

    def answers(self) -> tuple[Answer, ...]:
        """What asking for fp8 does, when the document does."""
        asked = self._top("mixed_precision")
        if asked is None or asked.lower() != "fp8":
            return ()
        return answers(self._config, self._targets, self._applies)

    def _top(self, name: str) -> str | None:
        """The value of a key at the top, as a launch command overrides it; None for an unknown one, `-` for a missing one."""
        if name in self._given:
            return self._given[name]
        return value_of(self._document, name)

    def _unused(self, path: tuple[str, ...], section: Section) -> list[ConfigKey] | None:
        """The finding about a section that is not used; an empty list where that is unknown, None where it is used."""
        for name, wanted in section.needs.items():
            value = self._top(name)
            if value is not None and value.lower() not in wanted:
                entry = entry_at(self._document, path)
                assert entry is not None
                said = f"`{name}` is `{value}`" if value != MISSING else f"`{name}` is not set"
                other = self._document.get(name)
                related = (Related(Location(self._path, other.span), f"`{name}` is set here"),) if other else ()
                key = self._made(
                    path, entry, Fate.UNREAD, f"is not used: {said}", sure=value != MISSING, related=related
                )
                return [replace(key, repair=self._asked_for(other, wanted))]
            if value is None:
                return []
        return None

    def _key(self, path: tuple[str, ...], mapping: Map, section: Section, entry: Entry) -> Iterator[ConfigKey]:
        name = entry.name.removeprefix(section.prefix) if section.prefix else entry.name
        key = section.keys.get(name)
        here = (*path, entry.name)
        if key is None:
            yield from self._unknown(here, section, entry)
            return
        if key.instead and not self._is_read(key):
            prefix = section.prefix if entry.name != name else ""
            why = f"is not read: the key is `{prefix}{key.instead}`"
            taken = mapping.get(key.instead) is not None or mapping.get(section.prefix + key.instead) is not None
            instead = "" if taken else prefix + key.instead
            yield self._made(here, entry, Fate.UNREAD, why, instead=instead, is_spelling=True)
            return
        if not self._is_read(key):
            versions = " or ".join(reading.versions for reading in key.readings)
            yield self._made(here, entry, Fate.UNREAD, f"is read by {self._config.library} {versions} only")
            return
        unread = self._unread(mapping, section, key, entry)
        if unread:
            yield self._made(here, entry, Fate.UNREAD, unread)
            return
        yield from self._value(here, key, entry)

    def _repeated(self, path: tuple[str, ...], section: Section, entry: Entry, last: Entry) -> Iterator[ConfigKey]:
        """The first of two keys of one name, which only says the same by chance."""
        same = (
            isinstance(entry.value, Scalar) and isinstance(last.value, Scalar) and entry.value.text == last.value.text
        )
        if self._speaks(section, entry.name) and (self._config.repeated or not same):
            fate = Fate.REFUSED_KEY if self._config.repeated else Fate.UNREAD
            why = "is written twice" if self._config.repeated else "is written again below, and the last one wins"
            again = Related(Location(self._path, last.span), f"`{entry.name}` is written again here")
            here = (*path, entry.name)
            yield self._made(here, entry, fate, why, says=self._config.repeated, related=(again,))

    def _is_read(self, key: Key) -> bool:
        if key.instead and not key.readings:
            return False
        return not key.readings or any(self._affects(reading.versions) for reading in key.readings)

    def _affects(self, versions: str) -> bool:
        return self._targets.affects(self._config.library, versions)

    def _unread(self, mapping: Map, section: Section, key: Key, entry: Entry) -> str:
        """Why the siblings of a key keep it from being read."""
        if isinstance(entry.value, Scalar) and entry.value.type is Type.BOOL and not entry.value.on:
            return ""
        for name, wanted in key.only.items():
            sibling = next((n for n in (name, section.prefix + name) if mapping.get(n)), name)
            value = value_of(mapping, sibling)
            if value is None or any(value.lower() == word.lower() for word in wanted):
                continue
            if MISSING in wanted and len(wanted) == 1:
                return f"is not read: `{name}` is set"
            known = {option for each in section.keys.values() for reading in each.readings for option in reading.values}
            if value.upper() in known or wanted == (MISSING,):
                return f"is not read: `{name}` is `{value}`"
        return ""

    def _value(self, here: tuple[str, ...], key: Key, entry: Entry) -> Iterator[ConfigKey]:
        value = entry.value
        if not isinstance(value, Scalar) or (value.type is Type.UNKNOWN and not _is_auto(value, key)):
            return
        if key.type == "string" and value.type is Type.BOOL and not value.quoted:
            why = f"is the boolean {'true' if value.on else 'false'} for a loader of YAML"
            yield self._made(
                here, entry, Fate.BOOLEAN, why, quotes=value.text.lower() in ("no", "off") and not value.on
            )
            return
        if key.type == "list":
            yield self._made(here, entry, Fate.REFUSED_VALUE, "must be a list", says=key.says)
            return
        reading = refusal(key, value.text, self._affects)
        if reading is not None:
            instead = key.means.get(value.text.lower(), "")
            yield self._made(
                here,
                entry,
                Fate.REFUSED_VALUE,
                taken(reading),
                says=key.says,
                versions=reading.versions,
                instead=instead,
                is_spelling=instead.lower() == value.text.lower(),
            )

    def _unknown(self, here: tuple[str, ...], section: Section, entry: Entry) -> Iterator[ConfigKey]:
        unknown = next((each for each in section.unknown if self._affects(each.versions)), None)
        if unknown is None or unknown.does == "open" or not (section.whole or self._speaks(section, entry.name)):
            return
        if isinstance(entry.value, Scalar) and entry.value.type is Type.UNKNOWN and not entry.value.text:
            return
        yield self._lost(here, section, entry, unknown)

    def _speaks(self, section: Section, name: str) -> bool:
        """Whether an unknown key speaks of precision, by its words or because a key that does was meant."""
        if self._roles.role(name) is not None:
            return True
        return any(self._roles.role(near) for near in get_close_matches(name, list(section.keys), 1, 0.85))

    def _lost(self, here: tuple[str, ...], section: Section, entry: Entry, unknown: Unknown) -> ConfigKey:
        near = get_close_matches(entry.name.removeprefix(section.prefix), list(section.keys), 1, 0.75)
        if near and self._roles.flag(near[0]):
            near = []  # `bf16`, `fp16` and `fp8` are one letter apart
        if unknown.does == "refused":
            where = f"`{'.'.join(here[:-1])}`" if here[1:] else f"the {self._config.name}"
            why = f"is no key of {where}"
            fate = Fate.REFUSED_KEY
        else:
            why, fate = "is read by nothing", Fate.UNREAD
        return self._made(
            here, entry, fate, why, says=unknown.says, versions=unknown.versions, near=near[0] if near else ""
        )

    def _conflicts(self) -> Iterator[ConfigKey]:
        for conflict in self._config.conflicts:
            if not self._targets.affects(conflict.library, conflict.versions) or not self._applies(conflict.when):
                continue
            at = (conflict.at, *conflict.when)
            path, entry = next((p, e) for p in at if (e := entry_at(self._document, tuple(p.split(".")))))
            fate = FATES[conflict.effect]
            related = tuple(
                Related(Location(self._path, other.span), f"`{name}` is set here")
                for name in conflict.when
                if name != path and (other := entry_at(self._document, tuple(name.split("."))))
            )
            versions = f"{conflict.library} {conflict.versions}" if conflict.versions else ""
            made = self._made(
                tuple(path.split(".")),
                entry,
                fate,
                "",
                says=conflict.says,
                versions=versions,
                related=related,
                is_fp8=fate is not Fate.UNREAD,
            )
            yield replace(made, repair=self._switched_off(conflict, path)) if fate is Fate.OVERRIDDEN else made

    def _switched_off(self, conflict: Conflict, path: str) -> tuple[Edit, ...]:
        """The edits that turn the flags off which win over a key."""
        others = [entry_at(self._document, tuple(name.split("."))) for name in conflict.when if name != path]
        return tuple(
            Edit(Location(self._path, other.value.span), "false")
            for other in others
            if other and not other.shared and isinstance(other.value, Scalar) and other.value.on
        )

    def _asked_for(self, setting: Entry | None, wanted: tuple[str, ...]) -> tuple[Edit, ...]:
        """The edit that gives a setting the one value with which a section is used."""
        if setting is None or setting.shared or setting.name in self._given or len(wanted) != 1:
            return ()
        value = setting.value
        if not isinstance(value, Scalar):
            return ()
        span = Span(value.span.start + value.quoted, value.span.end - value.quoted)
        return (Edit(Location(self._path, span), wanted[0]),)

    def _applies(self, when: When) -> bool:
        for name, wanted in when.items():
            if name in self._given:
                fits = said(self._given[name], wanted)
            else:
                fits = says(self._document, tuple(name.split(".")), wanted)
            if not fits:
                return False
        return True

    def _made(
        self,
        here: tuple[str, ...],
        entry: Entry,
        fate: Fate,
        why: str,
        *,
        says: str = "",
        versions: str = "",
        instead: str = "",
        near: str = "",
        is_spelling: bool = False,
        sure: bool = True,
        quotes: bool = False,
        related: tuple[Related, ...] = (),
        is_fp8: bool = False,
    ) -> ConfigKey:
        value = entry.value
        span = value.span
        if isinstance(value, Scalar) and value.quoted:
            span = Span(span.start + 1, span.end - 1)
        if entry.shared:
            span = entry.span
        return ConfigKey(
            path=".".join(here),
            span=entry.span,
            value=value.text if isinstance(value, Scalar) else "",
            type=value.type if isinstance(value, Scalar) else Type.UNKNOWN,
            value_span=span,
            fate=fate,
            kind=self._config.name,
            why=why,
            says=says,
            versions=f"{self._config.library} {versions}" if versions and " " not in versions else versions,
            instead=instead,
            near=near,
            is_spelling=is_spelling,
            editable=not entry.shared,
            is_fp8=is_fp8 or self._is_fp8(here),
            sure=sure,
            is_quoted=entry.quoted,
            quotes=quotes,
            related=related,
        )

    def _is_fp8(self, here: tuple[str, ...]) -> bool:
        return any(self._roles.role(name) is Role.FP8 for name in here)


def _is_auto(value: Scalar, key: Key) -> bool:
    """Whether `auto` stands where only names are taken."""
    return value.text == "auto" and bool(key.means)
