"""How a module turns the spelling of a precision into a dtype: `TABLE[x]`, `getattr(torch, x)`, `to_dtype(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.ranges import Ranges
from dtypelint.facts.python.scope import Function, Scope


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """An expression that makes a dtype of `read`; `outer` are the names that it takes besides."""

    read: str
    before: str
    after: str
    outer: tuple[ast.Name, ...]
    scope: Scope

    def of(self, read: str) -> str:
        """The same conversion of something else."""
        return f"{self.before}{read}{self.after}"


class Conversions:
    """Finds them for the modules of one project; what a module does is kept."""

    def __init__(self, names: Names, ranges: Ranges) -> None:
        self.names = names
        self.ranges = ranges
        self._kept: dict[Module, list[Conversion]] = {}

    def convert(self, read: str, scope: Scope, *, exactly: bool) -> str | None:
        """A reading of a setting as a dtype, the way this module converts it, or (unless `exactly`) another one."""
        module = scope.module
        if module not in self._kept:
            self._kept[module] = list(self._find(module))
        found = [each for each in self._kept[module] if self._visible(each, scope)]
        same = [each for each in found if each.read == read]
        near = [each for each in found if each.scope is scope]
        best = next(iter([*same, *([] if exactly else [*near, *found])]), None)
        return best.of(read) if best is not None else None

    def _find(self, module: Module) -> Iterator[Conversion]:
        for scope in (module.scope, *module.functions()):
            for stmt in statements(scope.body):
                for node in expressions(stmt):
                    inner = self._converted(node, scope)
                    if inner is not None and isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
                        yield self._made(node, inner, scope)

    def _converted(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        """What a conversion converts; None for every other expression."""
        match node:
            case ast.Subscript(value=table, slice=key) if not isinstance(key, ast.Constant | ast.Slice | ast.Tuple):
                return key if self._holds_dtypes(table, scope) else None
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
                return key if self._holds_dtypes(table, scope) else None
            case ast.Call(func=func, args=[target, key]) if self.names.is_builtin(func, "getattr", scope):
                return key if External("torch") in self.names.symbols(target, scope) else None
            case ast.Call(func=func, args=[key], keywords=[]):
                return key if self._makes_dtypes(func, scope) else None
        return None

    def _holds_dtypes(self, node: ast.expr, scope: Scope) -> bool:
        table = self.ranges.table(node, scope)
        if table is None or not table[0].values:
            return False
        return all(self.ranges.dtypes(value, table[1]) for value in table[0].values)

    def _makes_dtypes(self, func: ast.expr, scope: Scope) -> bool:
        symbols = self.names.callees(func, scope)
        return bool(symbols) and all(
            isinstance(symbol, Scope)
            and isinstance(symbol.node, Function)
            and symbol.node.returns is not None
            and ast.unparse(symbol.node.returns) in ("torch.dtype", "dtype")
            for symbol in symbols
        )

    def _made(self, node: ast.expr, inner: ast.expr, scope: Scope) -> Conversion:
        tree = scope.module.tree
        whole, part = tree.span(node), tree.span(inner)
        within = set(ast.walk(inner))
        outer = tuple(n for n in ast.walk(node) if isinstance(n, ast.Name) and n not in within)
        before, after = tree.data[whole.start : part.start].decode(), tree.data[part.end : whole.end].decode()
        return Conversion(tree.source(inner), before, after, outer, scope)

    def _visible(self, conversion: Conversion, scope: Scope) -> bool:
        """Whether the names of a conversion mean the same in another scope."""
        if conversion.scope is scope:
            return True
        return all(
            _holder(name.id, conversion.scope) is _holder(name.id, scope)
            or self._both_self(name, conversion.scope, scope)
            for name in conversion.outer
        )

    def _both_self(self, name: ast.Name, one: Scope, other: Scope) -> bool:
        return name.id == "self" and one.owner is not None and one.owner is other.owner


def _holder(name: str, scope: Scope) -> Scope | None:
    """The scope that a name is looked up in; None where nothing binds it."""
    return next((each for each in (scope, *scope.enclosing()) if name in flow(each).bindings), None)
