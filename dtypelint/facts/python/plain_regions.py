"""Regions of TransformerEngine's autocast, and the models that run in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from dtypelint.facts.modules import PlainRegion
from dtypelint.facts.python.architecture import Architecture
from dtypelint.facts.python.models import Made, Models
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.syntax import argument
from dtypelint.finding import Related
from dtypelint.knowledge import Call

_HARMLESS = frozenset({"torch", "builtins", "math", "contextlib", "time", "logging"})
# methods of tensors and of what a loop reads its data from
_METHODS = frozenset(
    [
        *("backward", "to", "cuda", "float", "mean", "sum", "item", "view", "reshape", "detach", "squeeze"),
        *("unsqueeze", "zero_grad", "size", "flatten", "transpose", "contiguous", "append", "items", "step"),
        *("half", "bfloat16"),
    ]
)
# code that may put other modules in the place of those of a model
_REPLACES = re.compile(r"setattr|_modules|named_children|set_submodule|convert|replace|inject|patch")
_RECIPE = re.compile(r"transformer_engine\.common\b")


class PlainRegions:
    """Finds those of one module in which only modules of torch run."""

    def __init__(self, module: Module, names: Names, calls: Mapping[str, Call]) -> None:
        self.module = module
        self.names = names
        self.calls = calls
        self.models = Models(names, calls)

    def find(self) -> Iterator[PlainRegion]:
        if b"autocast" not in self.module.tree.data or b"transformer_engine" not in self.module.tree.data:
            return
        for stmt, scope in self.module.statements():
            if isinstance(stmt, ast.With | ast.AsyncWith):
                for item in stmt.items:
                    if isinstance(item.context_expr, ast.Call) and self._is_on(item.context_expr, scope):
                        yield from self._region(item.context_expr, stmt, scope)

    def _is_on(self, call: ast.Call, scope: Scope) -> bool:
        apis = [self.calls[path] for path in self.names.paths(call.func, scope) if path in self.calls]
        if not apis or apis[0].kind != "fp8_autocast":
            return False
        enabled = argument(call, "enabled", apis[0].parameters)
        return not (isinstance(enabled, ast.Constant) and not enabled.value)

    def _region(self, region: ast.Call, stmt: ast.With | ast.AsyncWith, scope: Scope) -> Iterator[PlainRegion]:
        models: dict[str, tuple[Made, ...]] = {}
        inner = [node for each in statements(stmt.body) for node in expressions(each) if isinstance(node, ast.Call)]
        for node in inner:
            made = self.models.made(node.func, scope)
            if made:
                models[ast.unparse(node.func)] = made
            elif not self._is_harmless(node, scope):
                return
        words = Architecture(self.names)
        for each in (each for made in models.values() for each in made):
            words.add(each)
        if not models or words.opaque or any(self._is_changed(name, scope, made) for name, made in models.items()):
            return
        tree = self.module.tree
        places = [(call, where) for made in models.values() for call, where in made if call is not None]
        related = tuple(Related(where.module.at(call), "made of modules of torch") for call, where in places)
        yield PlainRegion(tree.span(region), tree.source(region.func), tuple(models), related)

    def _is_harmless(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call runs no module, as far as is known."""
        symbols = self.names.callees(node.func, scope)
        if not symbols:
            return isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
        return all(
            isinstance(symbol, External) and (symbol.path.partition(".")[0] in _HARMLESS or symbol.path in self.calls)
            for symbol in symbols
        )

    def _is_changed(self, name: str, scope: Scope, made: tuple[Made, ...]) -> bool:
        """Whether a model is handed to something that may put modules of TransformerEngine into it."""
        modules = {scope.module, *(where.module for _, where in made)}
        if any(map(self._uses_more, modules)):
            return True
        names = {name, name.rpartition(".")[2], "self", *self._aliases(made)}
        for module in modules:
            for node, _, where in module.calls:
                given = [*node.args, *(k.value for k in node.keywords)]
                if any(ast.unparse(each) in names for each in given) and self._may_change(node, where):
                    return True
        return False

    def _uses_more(self, module: Module) -> bool:
        """Whether a module uses more of TransformerEngine than its autocast and its recipes."""
        for node, _, scope in module.expressions():
            if isinstance(node, ast.Name | ast.Attribute):
                for path in self.names.paths(node, scope):
                    known = any(f"{each}.".startswith(f"{path}.") for each in self.calls)
                    if path.startswith("transformer_engine.") and not known and not _RECIPE.match(path):
                        return True
        return False

    def _aliases(self, made: tuple[Made, ...]) -> Iterator[str]:
        """The names that a model is assigned to where it is made."""
        for call, where in made:
            for stmt in statements(where.body):
                if call is not None and isinstance(stmt, ast.Assign) and call in set(ast.walk(stmt.value)):
                    yield from map(ast.unparse, stmt.targets)

    def _may_change(self, node: ast.Call, scope: Scope) -> bool:
        symbols = self.names.callees(node.func, scope)
        for symbol in symbols:
            if isinstance(symbol, External):
                if symbol.path.partition(".")[0] not in _HARMLESS:
                    return True
            elif _REPLACES.search(ast.unparse(symbol.node)):
                return True
        return not symbols and not (isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS)
