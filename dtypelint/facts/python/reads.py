"""Who reads a name as an attribute, a key or a string, anywhere below the root."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.readable import base_of, last
from dtypelint.facts.python.scope import Scope

_DUMPS = {"asdict", "astuple", "vars", "fields", "model_dump", "to_dict", "dict", "to_container", "structured", "items"}
_INTERFACE = re.compile(r"__\w+__$|get$|keys$|values$|items$")
_WHOLE = re.compile(r"(?:asdict|astuple|vars|fields|model_dump|to_dict|to_container|attrgetter)\b|__dict__|\*\*")


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A place that reads a name; `base` is the object that it is read from, where one is written."""

    node: ast.expr
    module: Module
    scope: Scope | None
    base: ast.expr | None


class Reads:
    """The reads of one project, by word; each module is walked once."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._words: dict[Module, dict[str, list[Use]]] = {}
        self._scopes: dict[Module, dict[ast.expr, Scope]] = {}

    def of(self, word: str, first: Module | None = None) -> Iterator[Use]:
        """Every place that reads an attribute, key or string of this name, by file; those of one module may come first."""
        if first is not None:
            yield from self.inside(first, word)
        for module in self.names.modules.mentioning(word):
            if module is not first:
                yield from self.inside(module, word)

    def inside(self, module: Module, word: str) -> list[Use]:
        """The places of one module."""
        if module not in self._words:
            self._words[module] = defaultdict(list)
            for name, use in self._all(module):
                self._words[module][name].append(use)
        return self._words[module].get(word, [])

    def _all(self, module: Module) -> Iterator[tuple[str, Use]]:
        scopes = self.scopes(module)
        documentation = {id(n.value) for n in ast.walk(module.tree.root) if isinstance(n, ast.Expr)}
        keys = {id(child) for n in scopes if base_of(n) is not None for child in ast.iter_child_nodes(n)}
        for node in ast.walk(module.tree.root):
            if not isinstance(node, ast.expr | ast.MatchClass):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) not in documentation and id(node) not in keys:
                    for part in node.value.split("."):
                        yield part, Use(node, module, scopes.get(node), None)
            elif isinstance(node, ast.MatchClass):
                for name in node.kwd_attrs:
                    yield name, Use(node.cls, module, None, None)
            elif (base := base_of(node)) is not None:
                yield last(node), Use(node, module, scopes.get(node), base)

    def scopes(self, module: Module) -> dict[ast.expr, Scope]:
        """The scope of every expression of a module."""
        if module not in self._scopes:
            self._scopes[module] = {node: scope for node, _, scope in module.expressions()}
        return self._scopes[module]

    def dumps(self, module: Module) -> Iterator[tuple[ast.expr, Scope]]:
        """The objects of a module that are read whole: `vars(x)`, `asdict(x)`, `**x`, `getattr(x, computed)`."""
        if not _WHOLE.search(module.tree.text) and "getattr" not in module.tree.text:
            return
        for node, scope in self.scopes(module).items():
            for whole in _whole(node):
                own = isinstance(whole, ast.Name) and whole.id == "self"
                if not (own and _INTERFACE.match(scope.name)):
                    yield whole, scope


def _whole(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="getattr" | "hasattr" as name), args=[held, key, *_]):
            if not isinstance(key, ast.Constant) and name == "getattr":
                yield held
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[held, *_]) if name in _DUMPS:
            yield held
        case ast.Call(func=ast.Attribute(value=held, attr=name), args=[]) if name in _DUMPS:
            yield held
        case ast.Attribute(value=held, attr="__dict__"):
            yield held
        case ast.Dict(keys=keys, values=values):
            yield from (value for key, value in zip(keys, values, strict=True) if key is None)
    if isinstance(node, ast.Call):
        yield from (k.value for k in node.keywords if k.arg is None)
