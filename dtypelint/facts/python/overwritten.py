"""Settings that a literal replaces before anybody reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Kind
from dtypelint.facts.arrivals import Overwrite
from dtypelint.facts.python.flow import Flow, flow
from dtypelint.facts.python.module import Module, statements
from dtypelint.facts.python.readable import Readable, at
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.facts.python.trace import Tracer


class Overwrites:
    """Finds the overwritten settings of one module."""

    def __init__(self, module: Module, tracer: Tracer, readable: Readable) -> None:
        self.module = module
        self.tracer = tracer
        self.readable = readable

    def find(self) -> Iterator[Overwrite]:
        for function in self.module.functions():
            state = flow(function)
            for name, bindings in state.bindings.items():
                if self.readable.role(name) is not None and len(bindings) > 1:
                    yield from self._locals(name, bindings, state, function)
            yield from self._attributes(state, function)

    def _locals(self, name: str, bindings: list[Binding], state: Flow, function: Scope) -> Iterator[Overwrite]:
        if name in state.captured or name in state.outer:
            return
        for binding in bindings:
            literal = self._literal(binding, function)
            stmt = binding.node
            if literal is None or not isinstance(stmt, ast.Assign | ast.AnnAssign) or not state.uses.get(binding):
                continue
            before = state.before.get(stmt, {}).get(name, ())
            if not before or any(b.kind is Bound.UNBOUND or state.uses.get(b) for b in before):
                continue
            if not all(self._is_setting(b) for b in before) or not self._always(stmt, state):
                continue
            first = before[0]
            span = self.module.tree.span(stmt)
            yield Overwrite(name, literal, span, at(first), first.kind is Bound.PARAMETER)

    def _always(self, stmt: ast.stmt, state: Flow) -> bool:
        """Whether no test and no failure decides about a statement."""
        context = state.context.get(stmt)
        return context is not None and not (context.guards or context.tries or context.handlers or context.loops)

    def _literal(self, binding: Binding, function: Scope) -> str | None:
        """The dtype or spelling that a binding writes out."""
        if binding.kind is not Bound.ASSIGN or binding.value is None or binding.path:
            return None
        return self._written(binding.value, function)

    def _written(self, node: ast.expr, scope: Scope) -> str | None:
        if isinstance(node, ast.Constant):
            spelled = isinstance(node.value, str) and self.tracer.roles.dtype(node.value) is not None
            return self.module.tree.source(node) if spelled or isinstance(node.value, bool) else None
        return self.tracer.torch_dtype(node, scope) if isinstance(node, ast.Attribute) else None

    def _is_setting(self, binding: Binding) -> bool:
        if binding.kind is Bound.PARAMETER:
            return True
        if binding.kind is not Bound.ASSIGN or binding.value is None or binding.path:
            return False
        return self._reads_setting(binding.value, binding.scope)

    def _reads_setting(self, node: ast.expr, scope: Scope) -> bool:
        traced = self.tracer.trace(node, scope)
        return any(leaf.kind is Kind.SETTING and leaf.role is not None for leaf in (*traced.leaves, *traced.chosen))

    def _attributes(self, state: Flow, function: Scope) -> Iterator[Overwrite]:
        """`self.x = setting`, and `self.x = literal` further down in the same block run, with no read between."""
        kept: dict[str, ast.stmt] = {}
        for stmt in statements(function.body):
            target = stmt.targets[0] if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 else None
            if not isinstance(stmt, ast.Assign) or not isinstance(target, ast.Attribute):
                if _may_read(stmt):
                    kept = {k: v for k, v in kept.items() if not _reads(stmt, k)}
                continue
            text = self.module.tree.source(target)
            kept = {k: v for k, v in kept.items() if not _reads(stmt.value, k)}
            plain = isinstance(target.value, ast.Name) and self.readable.role(target.attr) is not None
            if not plain or not self._always(stmt, state):
                continue
            literal = self._written(stmt.value, function)
            if literal is not None and text in kept:
                first = kept[text]
                yield Overwrite(target.attr, literal, self.module.tree.span(stmt), self.module.at(first), False)
            elif literal is None and self._reads_setting(stmt.value, function):
                kept[text] = stmt


def _may_read(stmt: ast.stmt) -> bool:
    return not isinstance(stmt, ast.Pass | ast.Import | ast.ImportFrom)


def _reads(node: ast.AST, text: str) -> bool:
    """Whether a statement reads an attribute, or may do so: it calls something, or gives the object away."""
    owner = text.partition(".")[0]
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and ast.unparse(each) == text:
            return True
        if isinstance(each, ast.Call) and any(isinstance(n, ast.Name) and n.id == owner for n in ast.walk(each)):
            return True
        if isinstance(each, ast.Return | ast.Yield) and each.value is not None:
            return True
    return False
