"""Which configuration files the code of a project loads itself, and whether it may read any key of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from dtypelint.facts.config.own import WORD, Known, Readers
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import External, Field, Names
from dtypelint.facts.python.scope import Bound, Function, Scope
from dtypelint.facts.python.syntax import last_name

LOADS = re.compile(r"\b(?:safe_load|OmegaConf\.load|yaml\.load|json\.loads?|YAML\(|hydra)\b|\bload_yaml|read_yaml")
LOADERS = ("safe_load", "load", "loads", "load_yaml", "read_yaml")
FILE = re.compile(r"""["'](?:[\w./-]*/)?([\w.-]+\.(?:ya?ml|json))["']""")
HYDRA = re.compile(r"""\bconfig_name\s*=\s*["']([\w./-]+?)(?:\.yaml)?["']""")
# what only shows a config that it gets, or copies it
HEARERS = ("builtins.", "logging.", "copy.", "pprint.", "omegaconf.", "json.", "yaml.")
# what takes keys by whatever name they have
OPEN_CALLS = frozenset(
    {
        *(
            "setattr",
            "vars",
            "instantiate",
            "structured",
            "merge",
            "update",
            "add_argument",
            "set_defaults",
            "parse_dict",
        ),
        *(
            "from_dict",
            "parse_known_args",
            "parse_yaml_file",
            "parse_json_file",
            "load_state_dict",
            "locals",
            "globals",
        ),
    }
)
PYDANTIC = re.compile(r"pydantic\.|pydantic_settings\.")


class Loading:
    """Reads it out of the code of one project: `texts` gives each Python file with its text, `module` parses one."""

    def __init__(
        self,
        names: Names,
        texts: Callable[[], Iterable[tuple[str, str]]],
        module: Callable[[str], Module | None],
    ) -> None:
        self.names = names
        self.texts = texts
        self.module = module

    def is_loaded(self, path: str) -> bool:
        """Whether some module loads files and names this one."""
        return path.rpartition("/")[2] in self._loaders

    def readers(self, path: str) -> Readers | None:
        """Who loads a file by its name; None where nobody does, or where any key of it may be read."""
        found: list[tuple[Module, list[Field]]] = []
        for loader in self._loaders.get(path.rpartition("/")[2], ()):
            module = self.module(loader)
            fields = self._fields_of(module) if module is not None else None
            if module is None or fields is None:
                return None
            found.append((module, fields))
        if not found:
            return None
        known = tuple(
            Known(field.name, field.owner.module.at(field.node), field.owner.name)
            for _, fields in found
            for field in fields
        )
        return Readers(found[0][0].path, self._words, known)

    @cached_property
    def _loaders(self) -> dict[str, list[str]]:
        """The modules that load configuration files, by the names of files that stand in them as strings."""
        found: dict[str, list[str]] = {}
        for path, text in self.texts():
            if LOADS.search(text):
                named = {match[1] for match in FILE.finditer(text)}
                if "hydra" in text:
                    named |= {f"{match[1].rpartition('/')[2]}.yaml" for match in HYDRA.finditer(text)}
                for name in named:
                    found.setdefault(name, []).append(path)
        return found

    @cached_property
    def _words(self) -> frozenset[str]:
        """Every name, and every word inside of a string, in the code of the project."""
        return frozenset(word for _, text in self.texts() for word in WORD.findall(text))

    def _fields_of(self, module: Module) -> list[Field] | None:
        """The fields that a module fills from what it loads; None where it may read any key."""
        fields: list[Field] = []
        for node, _, scope in module.calls:
            taken = self._takes(node, scope) if not self._hands_on(node, scope) else None
            if taken is None:
                return None
            fields += taken
        return fields

    def _takes(self, node: ast.Call, scope: Scope) -> list[Field] | None:
        """The fields that a call takes out of a mapping, None where it may take any key."""
        last = last_name(node.func)
        if last == "model_validate" and isinstance(node.func, ast.Attribute):
            classes = self._classes(node.func.value, scope)
            return list(_fields(self.names, classes)) if classes and all(map(self._drops, classes)) else None
        if last in OPEN_CALLS:
            return None
        spreads = [keyword.value for keyword in node.keywords if keyword.arg is None]
        if not spreads:
            return []
        classes = self._classes(node.func, scope)
        drops = bool(classes) and all(map(self._drops, classes))
        if not drops and not all(_is_filtered(spread) or _is_passed_on(spread, scope) for spread in spreads):
            return None
        return list(_fields(self.names, classes))

    def _hands_on(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call gives the whole config to something outside of the project, which may read any key."""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not any(isinstance(each, ast.Name) and self._is_loaded(each, scope) for each in given):
            return False
        symbols = self.names.callees(node.func, scope)
        return any(isinstance(symbol, External) and not symbol.path.startswith(HEARERS) for symbol in symbols)

    def _is_loaded(self, node: ast.Name, scope: Scope) -> bool:
        """Whether a name is what a loader returned, or what Hydra gives to the function that it starts."""
        for binding in self.names.bindings(node, scope):
            if isinstance(binding.value, ast.Call) and last_name(binding.value.func) in LOADERS:
                return True
            home = binding.scope.node
            if binding.kind is Bound.PARAMETER and isinstance(home, Function):
                if any("hydra" in ast.unparse(each) for each in home.decorator_list):
                    return True
        return False

    def _classes(self, node: ast.expr, scope: Scope) -> list[Scope]:
        return [symbol for symbol in self.names.symbols(node, scope) if isinstance(symbol, Scope) and symbol.is_class]

    def _drops(self, cls: Scope) -> bool:
        """Whether a class is a pydantic model that drops keys which it does not know, as they do by default."""
        if not any(PYDANTIC.match(base) for base in self.names.bases(cls)):
            return False
        return not any(re.search(r"extra.*(?:forbid|allow)", ast.unparse(each.node)) for each in self.names.mro(cls))


def _fields(names: Names, classes: list[Scope]) -> Iterator[Field]:
    for cls in classes:
        yield from (entries[0] for entries in names.all_fields(cls).values() if entries[0].in_body)


def _is_filtered(spread: ast.expr) -> bool:
    """Whether a spread mapping lets only some keys through: `**{k: v for … if k in known}`."""
    return isinstance(spread, ast.DictComp) and any(each.ifs for each in spread.generators)


def _is_passed_on(spread: ast.expr, scope: Scope) -> bool:
    """Whether a spread only passes the keywords of its own function on."""
    node = scope.node
    if not isinstance(spread, ast.Name) or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.args.kwarg is not None and node.args.kwarg.arg == spread.id
