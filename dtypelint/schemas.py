"""What the configuration files of a library may say, and what becomes of it: the `[[config]]` tables of `rules/apis/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dtypelint.tables import Table

UNKNOWN_KEYS = ("refused", "ignored", "open")
GRADES = ("error", "note")
EFFECTS = ("crash", "override", "ignored")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a key takes in a range of releases; no `values` stand for any. `folds` says that case does not matter."""

    versions: str
    values: tuple[str, ...] = ()
    folds: bool = False

    def takes(self, text: str) -> bool:
        """Whether a value is one of them."""
        known = [each.lower() for each in self.values] if self.folds else self.values
        return not known or (text.lower() if self.folds else text) in known


@dataclass(frozen=True, slots=True)
class Key:
    """A key that a section knows.

    `readings` are the releases that read it (none: all do), `only` what its siblings must say for that, `type` what a value
    must be (`string`, `list`, `bool` or nothing in particular); `instead` is the key that was meant where nothing reads this
    one, `means` the right spellings of values that are commonly written; `never` are releases that refuse every value.
    """

    name: str
    readings: tuple[Reading, ...]
    type: str
    only: Mapping[str, tuple[str, ...]]
    instead: str
    means: Mapping[str, str]
    says: str
    never: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a section does with a key that it does not know, in a range of releases."""

    versions: str
    does: str
    says: str


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping inside of a document.

    `at` are the keys that lead to it, `*` in front for any; `prefix` may stand before its keys or not; `exports` is what stands
    before a key, in upper case, in the environment; `needs` is what keys at
    the top must say for the section to be used; `whole` says that every unknown key is reported and not only those that speak
    of precision.
    """

    at: tuple[str, ...]
    keys: Mapping[str, Key]
    unknown: tuple[Unknown, ...]
    prefix: str
    exports: str
    needs: Mapping[str, tuple[str, ...]]
    whole: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Values that do not go together: dotted keys with the values of each, `-` for a missing key, `!a` for any but `a`.

    The finding stands at the key `at`, or at the first key of `when` where that is missing. `library` is the one whose
    `versions` decide.
    """

    at: str
    when: Mapping[str, tuple[str, ...]]
    effect: str
    library: str
    versions: str
    says: str


@dataclass(frozen=True, slots=True)
class Request:
    """What asking for fp8 does in a range of releases, where the document says `when`.

    `backend` says whether a backend that is written down is read.
    """

    versions: str
    when: Mapping[str, tuple[str, ...]]
    grade: str
    backend: bool
    says: str


@dataclass(frozen=True, slots=True)
class Config:
    """One kind of document: it is one when it has all keys of one of `marks`.

    `repeated` is what its loader says of a key that is written twice; where that is nothing, the last one wins.
    """

    library: str
    name: str
    marks: tuple[tuple[str, ...], ...]
    sections: tuple[Section, ...]
    conflicts: tuple[Conflict, ...]
    requests: tuple[Request, ...]
    repeated: str

    def section(self, path: tuple[str, ...]) -> Section | None:
        """The section at a path."""
        for section in self.sections:
            if section.at == path or (section.at[:1] == ("*",) and path[1 - len(section.at) :] == section.at[1:]):
                return section
        return None


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of a library: `instead` is set for a name that nothing reads."""

    library: str
    name: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Advisory:
    """Releases with a known silent precision bug, and how to see that a project uses what is affected.

    Where `splits` is set, the meaning changes there and a range that holds releases of both sides is affected. `code` are
    patterns (`facts/python/usage.py`) that one Python file fits, `unless` those of a project that has mended it for itself;
    `config` are dotted keys with their values, as in a `Conflict`, in a config of a `kind`. `open` says that code which fits may still be right.
    """

    library: str
    versions: str
    splits: str
    feature: str
    code: tuple[str, ...]
    unless: tuple[str, ...]
    kind: str
    config: Mapping[str, tuple[str, ...]]
    consequence: str
    fixed: str
    source: str
    open: bool


def read_advisory(table: Table) -> Advisory:
    """One `[[advisory]]` table."""
    advisory = Advisory(
        library=table.needed("library"),
        versions=table.versions(),
        splits=table.string("splits") or "",
        feature=table.needed("feature"),
        code=table.strings("code") or (),
        unless=table.strings("unless") or (),
        kind=table.string("kind") or "",
        config=_choices(table.table("config")),
        consequence=table.needed("consequence"),
        fixed=table.string("fixed") or "",
        source=table.needed("source"),
        open=table.flag("open") or False,
    )
    table.done()
    if bool(advisory.versions) is bool(advisory.splits) or not (advisory.code or advisory.config):
        table.fail(f"the advisory about {advisory.feature} needs `versions` or `splits`, and `code` or `config`")
    return advisory


def read_config(table: Table, library: str) -> Config:
    """One `[[config]]` table."""
    config = Config(
        library=library,
        name=table.needed("name"),
        marks=tuple(tuple(words.split()) for words in table.strings("marks") or ()),
        sections=tuple(_section(item) for item in table.tables("section")),
        conflicts=tuple(_conflict(item, library) for item in table.tables("conflict")),
        requests=tuple(_request(item) for item in table.tables("request")),
        repeated=table.string("repeated") or "",
    )
    table.done()
    if not config.marks:
        table.fail(f"`{config.name}` has no marks")
    return config


def read_variables(table: Table, library: str) -> tuple[Variable, ...]:
    """The `[variables]` table: names that are read, and misnames with the right one."""
    known = tuple(Variable(library, name) for name in table.strings("read") or ())
    wrong = table.table("instead")
    found = (*known, *(Variable(library, name, wrong.needed(name)) for name in wrong.values))
    table.done()
    return found


def _section(table: Table) -> Section:
    keys = [_key(item) for item in table.tables("key")]
    keys += [Key(name, (), "", {}, "", {}, "") for name in table.strings("keys") or ()]
    unknown = tuple(
        Unknown(item.versions(), _one_of(item, "does", UNKNOWN_KEYS), item.string("says") or "")
        for item in table.tables("unknown")
    )
    section = Section(
        at=tuple(part for part in (table.string("at") or "").split(".") if part),
        keys=MappingProxyType({key.name: key for key in keys}),
        unknown=unknown,
        prefix=table.string("prefix") or "",
        exports=table.string("exports") or "",
        needs=_choices(table.table("needs")),
        whole=table.flag("whole") or False,
    )
    table.done()
    return section


def _key(table: Table) -> Key:
    readings = tuple(
        Reading(item.versions(), item.strings("values") or (), item.flag("folds") or False)
        for item in table.tables("reading")
    )
    means = table.table("means")
    key = Key(
        name=table.needed("name"),
        readings=readings,
        type=table.string("type") or "",
        only=_choices(table.table("only")),
        instead=table.string("instead") or "",
        means=MappingProxyType({word: means.needed(word) for word in means.values}),
        says=table.string("says") or "",
        never=table.versions("never"),
    )
    table.done()
    return key


def _conflict(table: Table, library: str) -> Conflict:
    conflict = Conflict(
        at=table.needed("at"),
        when=_choices(table.table("when")),
        effect=_one_of(table, "effect", EFFECTS),
        library=table.string("library") or library,
        versions=table.versions(),
        says=table.needed("says"),
    )
    table.done()
    return conflict


def _request(table: Table) -> Request:
    request = Request(
        versions=table.versions(),
        when=_choices(table.table("when")),
        grade=_one_of(table, "grade", GRADES),
        backend=table.flag("backend") or False,
        says=table.needed("says"),
    )
    table.done()
    return request


def _choices(table: Table) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({key: table.one_or_more(key) for key in table.values})


def _one_of(table: Table, key: str, words: tuple[str, ...]) -> str:
    word = table.needed(key)
    if word not in words:
        table.fail(f"`{word}` is not one of {', '.join(words)}", key)
    return word
