"""Assignments that change nothing: global switches that nobody reads, and casts that are copied back."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from dtypelint.facts.given import Switch
from dtypelint.facts.python.module import Module, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_WIDE = ("float32", "float64")


class Switches:
    """Finds the dead assignments of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, calls: Mapping[str, Call]) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.dead = {path: str(call.extra["live"]) for path, call in calls.items() if call.kind == "switch"}

    def find(self) -> Iterator[Switch]:
        words = {path.rpartition(".")[2].encode() for path in self.dead}
        switches = any(word in self.module.tree.data for word in words)
        copies = b".copy_(" in self.module.tree.data
        for stmt, scope in self.module.statements() if switches or copies else ():
            if switches:
                yield from self._switched(stmt, scope)
            if copies and isinstance(stmt, ast.Expr):
                yield from self._copied(stmt, scope)

    def _switched(self, stmt: ast.stmt, scope: Scope) -> Iterator[Switch]:
        for target, path in self._assigned(stmt, scope):
            if path in self.dead:
                live = self.dead[path]
                yield Switch(
                    self.module.tree.span(stmt),
                    self.module.tree.source(target),
                    self.module.tree.span(target),
                    self._named(target, path, live),
                    already=self._set(live, scope),
                )

    def _assigned(self, stmt: ast.stmt, scope: Scope) -> Iterator[tuple[ast.Attribute, str]]:
        """The attributes of libraries that a statement assigns, by their dotted names."""
        targets = stmt.targets if isinstance(stmt, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute):
                yield from ((target, f"{base}.{target.attr}") for base in self.names.paths(target.value, scope))

    def _named(self, target: ast.Attribute, path: str, live: str) -> str:
        """The live switch, reached the way the dead one is."""
        base = self.module.tree.source(target.value)
        return f"{base}{live.removeprefix(path.rpartition('.')[0])}"

    def _set(self, live: str, scope: Scope) -> Location | None:
        for stmt in statements(scope.body):
            for target, path in self._assigned(stmt, scope):
                if path == live:
                    return self.module.at(target)
        return None

    def _copied(self, stmt: ast.Expr, scope: Scope) -> Iterator[Switch]:
        """`p.data.copy_(p.data.float())`: the copy is cast to the dtype of `p`."""
        match stmt.value:
            case ast.Call(
                func=ast.Attribute(value=into, attr="copy_"),
                args=[ast.Call(func=ast.Attribute(value=source, attr=cast)) as value],
            ) if self._bare(into) == self._bare(source):
                wide = cast in ("float", "double")
                if cast == "to" and value.args:
                    wide = self.tracer.value(value.args[-1], scope).hardcoded in _WIDE
                if cast == "to" and not value.args:
                    given = [k.value for k in value.keywords if k.arg == "dtype"]
                    wide = bool(given) and self.tracer.value(given[0], scope).hardcoded in _WIDE
                if wide:
                    text = self.module.tree.source
                    yield Switch(
                        self.module.tree.span(stmt), text(into), self.module.tree.span(into), value=text(value)
                    )

    def _bare(self, node: ast.expr) -> str:
        return ast.unparse(node).removesuffix(".data")
