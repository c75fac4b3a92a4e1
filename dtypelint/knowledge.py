"""What is known: the rule pages, the calls of each library and the names of the roles, read from `rules/` on demand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dtypelint.errors import UserError, near
from dtypelint.finding import Safety, Severity
from dtypelint.languages import Language
from dtypelint.schemas import Advisory, Config, Variable, read_advisory, read_config, read_variables
from dtypelint.tables import Table, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

CONVERTER = "converter"
HEADING = re.compile(r"# `([a-z0-9]+(?:-[a-z0-9]+)*)` \(`(DTL\d{3})`\)\s*")
EXTRA = frozenset(
    {
        *(
            "asks",
            "behaves",
            "choices",
            "default_dtype",
            "device",
            "does",
            "drops",
            "excludes",
            "filter",
            "flags",
            "grad",
            "ignores",
            "live",
            "method",
            "module",
        ),
        *("policy", "policy_dict", "required", "settings", "switch", "takes", "unset", "words"),
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A page: its metadata and its text. `fixes` is empty where the page says what to do by hand."""

    code: str
    name: str
    summary: str
    severities: tuple[Severity, ...]
    fixes: tuple[Safety, ...]
    since: str
    smoke: str
    seen: tuple[str, ...]
    pedantic: bool
    triggers: tuple[bytes, ...]
    reads: frozenset[Language]
    page: str

    @property
    def own(self) -> bool:
        """Whether the tool reports it about itself and its comments: no check yields it."""
        return self.code.startswith("DTL0")

    @property
    def prose(self) -> str:
        """What the page says between its metadata and its examples."""
        return self.page.partition("```toml\n")[2].partition("\n```\n")[2].partition("\n## ")[0].strip()


@dataclass(frozen=True, slots=True)
class Library:
    """A library that the tables know, with the newest release that was read."""

    name: str
    newest: str


@dataclass(frozen=True, slots=True)
class Call:
    """A constructor or function of a library; `roles` maps its parameters to what their dtype is for.

    Where `extra["method"]` is true, `name` is a method of any class below `paths`.
    """

    library: str
    kind: str
    name: str
    family: str
    paths: tuple[str, ...]
    parameters: tuple[str, ...]
    keyword_only: tuple[str, ...]
    roles: Mapping[str, str]
    frozen: bool
    extra: Mapping[str, Any]


def rules_dir() -> Traversable:
    """The folder of the pages: inside an installed package, beside the package in a checkout."""
    package = files("dtypelint")
    inside = package / "rules"
    return inside if inside.is_dir() else package / ".." / "rules"


@cache
def _rules_url() -> str:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("dtypelint").get_all("Project-URL") or []
        urls = dict(entry.split(", ", 1) for entry in entries)
    except PackageNotFoundError:
        project = files("dtypelint") / ".." / "pyproject.toml"
        urls = parse(project.read_text(encoding="utf-8"), "pyproject.toml").values["project"]["urls"]
    return str(urls["Rules"])


def rule_url(name: str) -> str:
    """The address of a rule's page."""
    return f"{_rules_url()}/{name}.md"


def freeze(value: Any) -> Any:
    """The same data with mappings and sequences that cannot be changed."""
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return tuple(map(freeze, value)) if isinstance(value, list) else value


def read_page(text: str, file: str) -> Rule:
    """The rule of one page; an error names file and line."""
    lines = text.splitlines()
    heading = HEADING.fullmatch(lines[0]) if lines else None
    if not heading or f"{heading[1]}.md" != file.rpartition("/")[2]:
        raise UserError(f"{file}:1: the heading must be # `name` (`CODE`) with the name of the file")
    if "```toml" not in lines:
        raise UserError(f"{file}:1: the page has no toml block")
    start = lines.index("```toml")
    end = lines.index("```", start) if "```" in lines[start:] else len(lines)
    head = "\n".join(lines[1:start]).strip()
    table = parse("\n".join(lines[start + 1 : end]), file, start + 1)
    rule = Rule(
        code=heading[2],
        name=heading[1],
        summary=" ".join(head.split("\n\n")[0].split()),
        severities=tuple(_severity(table, word) for word in table.one_or_more("severity")),
        fixes=tuple(_safety(table, word) for word in table.one_or_more("fix") if word != "none"),
        since=table.needed("since"),
        smoke=table.string("smoke") or "",
        seen=table.strings("seen") or (),
        pedantic=table.flag("pedantic") or False,
        triggers=tuple(_trigger(table, word) for word in table.strings("triggers") or ()),
        reads=frozenset(_language(table, word) for word in table.strings("reads") or (Language.PYTHON,)),
        page=text,
    )
    table.done()
    if not rule.summary:
        raise UserError(f"{file}:2: the page has no summary before its toml block")
    if not rule.severities:
        table.fail("`severity` is missing")
    return rule


def _severity(table: Table, word: str) -> Severity:
    if word not in [*Severity]:
        table.fail(f"`{word}` is no severity: error, warning or note", "severity")
    return Severity(word)


def _safety(table: Table, word: str) -> Safety:
    if word not in [*Safety]:
        table.fail(f"`{word}` is no fix: safe, unsafe or none", "fix")
    return Safety(word)


def _language(table: Table, word: str) -> Language:
    if word not in [*Language]:
        table.fail(f"`{word}` is nothing that is read: {', '.join(Language)}", "reads")
    return Language(word)


def _trigger(table: Table, word: str) -> bytes:
    try:
        re.compile(word.encode(), re.MULTILINE)
    except re.error as error:
        table.fail(f"the trigger `{word}` is not a pattern: {error}", "triggers")
    return word.encode()


@dataclass(frozen=True, slots=True)
class Api:
    """What one file of `rules/apis/` says, or a user's own, which may also name settings by their roles."""

    library: Library
    calls: tuple[Call, ...]
    configs: tuple[Config, ...] = ()
    variables: tuple[Variable, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """The words that a user's own file may use: the kinds of calls and the roles."""

    kinds: frozenset[str]
    roles: frozenset[str]


def read_api(text: str, file: str, own: Words | None = None) -> Api:
    """One file of `rules/apis/`, or a user's own; an error names file and line."""
    table = parse(text, file)
    about = table.table("library")
    if own:
        library = Library(about.string("name") or file, about.string("newest") or "0")
    else:
        library = Library(about.needed("name"), about.needed("newest"))
    about.string("read")
    about.done()
    calls = []
    for item in table.tables("call"):
        roles = item.table("roles")
        call = Call(
            library=library.name,
            kind=item.needed("kind"),
            name=item.needed("name"),
            family=item.string("family") or "any",
            paths=item.strings("paths") or (),
            parameters=item.strings("parameters") or (),
            keyword_only=item.strings("keyword_only") or (),
            roles=MappingProxyType({key: roles.needed(key) for key in roles.values}),
            frozen=item.flag("frozen") or False,
            extra=freeze(item.free(EXTRA)),
        )
        item.done()
        if not call.paths:
            item.fail(f"`{call.name}` has no paths")
        if own:
            _check_word(item, "kind", call.kind, own.kinds)
            for parameter, role in call.roles.items():
                _check_word(item, parameter, role, own.roles)
        _check_ranges(item, call.extra)
        calls.append(call)
    configs = tuple(read_config(item, library.name) for item in table.tables("config"))
    variables = read_variables(table.table("variables"), library.name)
    settings: list[tuple[str, str]] = []
    if own:
        named = table.table("roles")
        for name in named.values:
            _check_word(named, name, named.needed(name), own.roles)
            settings.append((name, named.needed(name)))
    table.done()
    return Api(library, tuple(calls), configs, variables, tuple(settings))


def _check_word(table: Table, key: str, word: str, known: frozenset[str]) -> None:
    if word not in known:
        table.fail(f"`{word}` is none of {', '.join(sorted(known))}", key)


def _check_ranges(table: Table, value: Any) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if isinstance(value, tuple):
        for item in value:
            _check_ranges(table, item)
    elif isinstance(value, MappingProxyType):
        for key, item in value.items():
            if key == "versions":
                try:
                    SpecifierSet(item)
                except (InvalidSpecifier, AttributeError, TypeError):
                    table.fail(f"`{item}` is no range of versions", "versions")
            _check_ranges(table, item)


class Knowledge:
    """Everything in `rules/`, and the user's own api files; each part is read when it is first asked for."""

    def __init__(self, apis: tuple[Path, ...] = (), folder: Traversable | None = None) -> None:
        self._folder = folder if folder is not None else rules_dir()
        self._apis = apis

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The pages, by code."""
        pages = sorted(
            (item for item in self._folder.iterdir() if item.name.endswith(".md")), key=lambda item: item.name
        )
        rules = [read_page(page.read_text(encoding="utf-8"), f"rules/{page.name}") for page in pages]
        return tuple(sorted(rules, key=lambda rule: rule.code))

    def rule(self, word: str) -> Rule:
        """The rule of a code or a name."""
        for rule in self.rules:
            if word in (rule.code, rule.name):
                return rule
        known = [rule.name for rule in self.rules] + [rule.code for rule in self.rules]
        raise UserError(f"unknown rule `{word}`{near(word, known)}")

    @cached_property
    def _shipped(self) -> tuple[tuple[str, str], ...]:
        folder = self._folder / "apis"
        files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
        return tuple((f"rules/apis/{item.name}", item.read_text(encoding="utf-8")) for item in files)

    @cached_property
    def _own(self) -> tuple[tuple[str, str], ...]:
        own = []
        for path in self._apis:
            try:
                own.append((str(path), path.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise UserError(f"{path}: the api file cannot be read: {error}") from None
        return tuple(own)

    @cached_property
    def _read(self) -> tuple[Api, ...]:
        shipped = [read_api(text, file) for file, text in self._shipped]
        calls = [call for api in shipped for call in api.calls]
        roles = {role for call in calls for role in call.roles.values()} | {
            entry["name"] for entry in self._roles.get("role", ())
        }
        words = Words(frozenset({CONVERTER, *(call.kind for call in calls)}), frozenset(roles))
        return (*shipped, *(read_api(text, file, words) for file, text in self._own))

    @cached_property
    def own_names(self) -> frozenset[str]:
        """The names that the user's own files speak of: of calls and of settings."""
        own = self._read[len(self._shipped) :]
        called = {path.rpartition(".")[2] for api in own for call in api.calls for path in call.paths}
        return frozenset(called | {name for api in own for name, _ in api.roles})

    @cached_property
    def libraries(self) -> Mapping[str, Library]:
        """Libraries by name."""
        return MappingProxyType({api.library.name: api.library for api in self._read})

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call of every library; the user's own come last."""
        return tuple(call for api in self._read for call in api.calls)

    @cached_property
    def configs(self) -> tuple[Config, ...]:
        """The kinds of configuration files; the user's own come first."""
        return tuple(config for api in reversed(self._read) for config in api.configs)

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """Environment variables by name."""
        return MappingProxyType({variable.name: variable for api in self._read for variable in api.variables})

    @cached_property
    def by_path(self) -> Mapping[str, Call]:
        """Calls by dotted path, without the methods; a user's own call takes the place of a shipped one."""
        plain = [call for call in self.calls if not call.extra.get("method")]
        return MappingProxyType({path: call for call in plain for path in call.paths})

    @cached_property
    def advisories(self) -> tuple[Advisory, ...]:
        """`advisories.toml`."""
        text = (self._folder / "advisories.toml").read_text(encoding="utf-8")
        table = parse(text, "rules/advisories.toml")
        return tuple(read_advisory(item) for item in table.tables("advisory"))

    @cached_property
    def roles(self) -> Mapping[str, Any]:
        """`roles.toml` as it is written, and under `own` the settings that the user's own files name."""
        own = {name: role for api in self._read for name, role in api.roles}
        return MappingProxyType({**self._roles, "own": MappingProxyType(own)})

    @cached_property
    def _roles(self) -> Mapping[str, Any]:
        text = (self._folder / "roles.toml").read_text(encoding="utf-8")
        frozen: Mapping[str, Any] = freeze(parse(text, "rules/roles.toml").values)
        return frozen

    @cached_property
    def digest(self) -> str:
        """Changes with everything that facts can depend on."""
        from hashlib import blake2b

        digest = blake2b(digest_size=16)
        for _, text in (*self._shipped, *self._own):
            digest.update(text.encode() + b"\0")
        digest.update((self._folder / "roles.toml").read_bytes())
        return digest.hexdigest()
