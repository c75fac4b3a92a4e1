"""What the user asks for: `[tool.dtypelint]` in the closest file, and the flags above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dtypelint.errors import UserError, near
from dtypelint.finding import Safety, Severity
from dtypelint.patterns import Patterns
from dtypelint.tables import Table, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dtypelint.knowledge import Rule

Word = TypeVar("Word")

NEVER = "never"
UNREADABLE = "DTL000"
GATES = (*(severity.value for severity in Severity), NEVER)
DEFAULT_EXCLUDE = frozenset(
    {
        *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox"),
        *(".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode"),
        *(
            "__pycache__",
            "__pypackages__",
            "_build",
            "buck-out",
            "build",
            "dist",
            "node_modules",
            "site-packages",
            "venv",
        ),
    }
)
NO_TARGET = "`{}` is no target: write `torch=2.13`, `torch<2.15` or `any`"
NO_VERSION = "`{}` is no version: write `2.13`, `<2.15` or `any`"
TARGET = re.compile(r"\s*(?P<library>[A-Za-z][\w.-]*)\s*(?:=(?!=)\s*)?(?P<version>.*?)\s*")


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for the files of a folder. `codes` are the rules that report, `targets` versions by library."""

    codes: frozenset[str]
    per_file_ignores: tuple[tuple[Patterns, frozenset[str]], ...] = ()
    default_exclude: bool = True
    exclude: tuple[Patterns, ...] = ()
    pedantic: bool = False
    fail_on: str = Severity.WARNING.value
    targets: tuple[tuple[str, str], ...] = ()
    apis: tuple[Path, ...] = ()
    force_exclude: bool = False
    severities: tuple[tuple[str, Severity], ...] = ()
    fixes: tuple[tuple[str, Safety | None], ...] = ()
    configs: bool = True

    def severity(self, code: str) -> Severity | None:
        """The severity that the user gave to a rule."""
        return dict(self.severities).get(code)

    def safety(self, code: str, safety: Safety) -> Safety | None:
        """The safety of a rule's fix as the user sees it; None: there is to be no fix."""
        return dict(self.fixes).get(code, safety)

    def reports(self, code: str, path: Path) -> bool:
        """Whether findings of a rule in a file are wanted."""
        return code in self.codes and not any(
            code in codes and patterns.match(path) for patterns, codes in self.per_file_ignores
        )

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity makes the run fail."""
        return self.fail_on != NEVER and GATES.index(severity.value) <= GATES.index(self.fail_on)


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line or the caller says; None leaves the word to the file."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    pedantic: bool | None = None
    fail_on: str | None = None
    targets: tuple[str, ...] = ()
    force_exclude: bool | None = None
    configs: bool | None = None
    config: Path | None = None
    isolated: bool = False


class Configuration:
    """Settings of every folder: those of its own file or of the closest one above, then the flags."""

    def __init__(self, rules: Sequence[Rule], flags: Flags | None = None) -> None:
        self._rules = rules
        self._flags = flags or Flags()
        self._by_folder: dict[Path, Settings] = {}
        config = self._flags.config
        self._default = self._load(config) if config else self._with_flags(Table({}, "", ""), Path.cwd())

    def for_folder(self, folder: Path) -> Settings:
        """The settings of the files in a folder, which is absolute."""
        if self._flags.config or self._flags.isolated:
            return self._default
        if folder not in self._by_folder:
            self._by_folder[folder] = self._closest(folder)
        return self._by_folder[folder]

    def _closest(self, folder: Path) -> Settings:
        for name in ("dtypelint.toml", "pyproject.toml"):
            path = folder / name
            if path.is_file() and (name == "dtypelint.toml" or b"dtypelint" in path.read_bytes()):
                table = self._table(path)
                if table:
                    return self._with_flags(table, folder)
        if (folder / ".git").exists() or folder.parent == folder:
            return self._default
        return self.for_folder(folder.parent)

    def _load(self, path: Path) -> Settings:
        table = self._table(path)
        if table is None:
            raise UserError(f"{path}: there is no [tool.dtypelint] in it")
        return self._with_flags(table, path.absolute().parent)

    def _table(self, path: Path) -> Table | None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        table = parse(text, str(path))
        if path.name != "pyproject.toml":
            return table
        tool = table.table("tool")
        return tool.table("dtypelint") if "dtypelint" in tool.values else None

    def _with_flags(self, table: Table, base: Path) -> Settings:
        flags = self._flags
        written = {key: table.strings(key) for key in ("select", "ignore", "extend-select")}
        if flags.select is not None:
            written = {"select": flags.select, "ignore": None, "extend-select": None}
        if flags.ignore is not None:
            written["ignore"] = flags.ignore
        if flags.extend_select is not None:
            written["extend-select"] = flags.extend_select
        pick = {key: self.codes(words or (), table, key) for key, words in written.items()}
        chosen = frozenset(rule.code for rule in self._rules) if written["select"] is None else pick["select"]
        ignores = table.table("per-file-ignores")
        per_file = tuple(
            (Patterns(base, (pattern,)), self.codes(ignores.one_or_more(pattern), ignores, pattern))
            for pattern in ignores.values
        )
        exclude = table.strings("exclude")
        extra = table.strings("extend-exclude") or ()
        gate = table.string("fail-on") or Severity.WARNING.value
        pedantic, force = table.flag("pedantic") or False, table.flag("force-exclude") or False
        configs = table.flag("configs")
        if gate not in GATES:
            table.fail(f"`fail-on` is one of {', '.join(GATES)}", "fail-on")
        settings = Settings(
            codes=(chosen | pick["extend-select"] | {UNREADABLE}) - pick["ignore"],
            per_file_ignores=per_file,
            default_exclude=exclude is None,
            exclude=tuple(
                item
                for item in (Patterns(base, (exclude or ()) + extra), Patterns(Path.cwd(), flags.exclude))
                if item.lines
            ),
            pedantic=pedantic if flags.pedantic is None else flags.pedantic,
            fail_on=flags.fail_on or gate,
            targets=self._targets(table.table("target")),
            apis=tuple(base / name for name in table.strings("apis") or ()),
            force_exclude=force if flags.force_exclude is None else flags.force_exclude,
            severities=self._of_rules(table.table("severity"), {word.value: word for word in Severity}),
            fixes=self._of_rules(table.table("fix"), {**{word.value: word for word in Safety}, "none": None}),
            configs=configs is not False if flags.configs is None else flags.configs,
        )
        table.done()
        return settings

    def _targets(self, table: Table) -> tuple[tuple[str, str], ...]:
        written = {library: table.needed(library) for library in table.values}
        for library, word in written.items():
            if not is_version(word):
                table.fail(NO_VERSION.format(word), library)
        given = parse_targets(self._flags.targets)
        return tuple(sorted((given if "*" in given else {**written, **given}).items()))

    def _of_rules(self, table: Table, words: Mapping[str, Word]) -> tuple[tuple[str, Word], ...]:
        """A word for each rule that a table names; a code stands above a longer prefix, and that above a shorter one."""
        found: dict[str, Word] = {}
        names = {rule.name for rule in self._rules}
        for key in sorted(table.values, key=lambda key: (key != "ALL", len("DTL000") if key in names else len(key))):
            word = table.needed(key)
            if word not in words:
                table.fail(f"`{word}` is none of {', '.join(words)}", key)
            found.update(dict.fromkeys(self.codes((key,), table, key), words[word]))
        return tuple(sorted(found.items(), key=lambda item: item[0]))

    def codes(self, words: Iterable[str], table: Table, key: str) -> frozenset[str]:
        """The codes behind codes, prefixes of codes, names and `ALL`."""
        found: set[str] = set()
        for word in words:
            prefix = word.startswith("DTL")
            codes = {
                rule.code
                for rule in self._rules
                if word in ("ALL", rule.name) or (prefix and rule.code.startswith(word))
            }
            if not codes:
                known = [rule.name for rule in self._rules] + [rule.code for rule in self._rules]
                message = f"unknown rule `{word}` in `{key}`{near(word, known)}"
                if key in table.values or table.where:
                    table.fail(message, key)
                raise UserError(message)
            found |= codes
        return frozenset(found)


def is_version(word: str) -> bool:
    """Whether a word is a version, a range of versions or `any`."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        if word != "any":
            SpecifierSet(word) if word[:1] in "<>=!~" else Version(word)
    except (InvalidSpecifier, InvalidVersion):
        return False
    return True


def parse_targets(words: Iterable[str]) -> dict[str, str]:
    """Versions by library from `torch=2.13,accelerate<1.9`; `any` alone means every version of every library, under `*`."""
    found: dict[str, str] = {}
    for word in (part.strip() for item in words for part in re.split(r",(?=\s*[A-Za-z])", item)):
        match = TARGET.fullmatch(word)
        if word == "any":
            found["*"] = "any"
        elif match and match["version"] and is_version(match["version"]):
            found[match["library"].lower()] = match["version"]
        else:
            raise UserError(NO_TARGET.format(word))
    return found
