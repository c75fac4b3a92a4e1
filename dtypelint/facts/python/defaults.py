"""Changes of the default dtype that are not undone on every way out of their function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from dtypelint.facts import LOW_PRECISION
from dtypelint.facts.defaults import Leak
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Function, Scope
from dtypelint.facts.python.trace import Tracer

_SET = "torch.set_default_dtype"
_GET = "torch.get_default_dtype"
_FIXTURES = {"pytest.fixture", "pytest.yield_fixture"}

Call = tuple[ast.Call, ast.stmt]


class Defaults:
    """Finds them in one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer

    def find(self) -> Iterator[Leak]:
        if b"set_default_dtype" not in self.module.tree.data:
            return
        for function in self.module.functions():
            calls = self._calls(function)
            undoing = [call for call in calls if self._undoes(call[0], function)]
            for call in calls:
                if call not in undoing:
                    yield from self._leak(call, undoing, function)

    def _calls(self, function: Scope) -> list[Call]:
        """The calls that set the default."""
        return [
            (node, stmt)
            for stmt in statements(function.body)
            for node in expressions(stmt)
            if isinstance(node, ast.Call) and node.args and _SET in self.names.paths(node.func, function)
        ]

    def _undoes(self, call: ast.Call, function: Scope) -> bool:
        """Whether a call brings back what `get_default_dtype` gave, or float32."""
        value = call.args[0]
        if self.tracer.torch_dtype(value, function) == "float32":
            return True
        held = self.names.bindings(value, function) if isinstance(value, ast.Name) else ()
        if isinstance(value, ast.Attribute) and function.owner is not None:
            return any(self._is_kept(f.value, f.scope) for f in self.names.fields(function.owner, value.attr))
        return any(self._is_kept(binding.value, binding.scope) for binding in held)

    def _is_kept(self, node: ast.expr | None, scope: Scope) -> bool:
        return isinstance(node, ast.Call) and _GET in self.names.paths(node.func, scope)

    def _leak(self, call: Call, undoing: list[Call], function: Scope) -> Iterator[Leak]:
        node, stmt = call
        order = flow(function).order
        later = [each for each in undoing if order.get(each[1], -1) > order.get(stmt, 0)]
        if any(each in _finally(function) for _, each in later) or self._is_fixture(function):
            return
        span, text = self.module.tree.span(node), self.module.tree.source(node.args[0])
        if later:
            between = [s for s, place in order.items() if order[stmt] < place < order[later[0][1]]]
            if any(isinstance(n, ast.Call | ast.Yield | ast.Await) for s in between for n in expressions(s)):
                yield Leak(span, text, function.name, self.module.at(later[0][0]))
        elif self.tracer.value(node.args[0], function).hardcoded in LOW_PRECISION and not self._is_meant(function):
            yield Leak(span, text, function.name, None)

    def _is_meant(self, function: Scope) -> bool:
        """Whether a script sets it up once, or another method of the object brings the old default back."""
        cls = function.owner
        others = [s for s in self.module.functions() if cls is not None and s.owner is cls and s is not function]
        return function in self._script or any(self._calls(other) for other in others)

    @cached_property
    def _script(self) -> frozenset[Scope]:
        """The functions that run when the module does."""
        found: set[Scope] = set()
        waiting = [self.module.scope]
        while waiting:
            caller = waiting.pop()
            calls = (node for node, _, scope in self.module.calls if scope is caller)
            called = {c for node in calls for c in self.names.callees(node.func, caller) if isinstance(c, Scope)}
            waiting += called - found
            found |= called
        return frozenset(found)

    def _is_fixture(self, function: Scope) -> bool:
        """A fixture of pytest is resumed whatever the test raised."""
        assert isinstance(function.node, Function)
        around = function.parent or function
        makers = (d.func if isinstance(d, ast.Call) else d for d in function.node.decorator_list)
        return any(_FIXTURES.intersection(self.names.paths(each, around)) for each in makers)


def _finally(function: Scope) -> set[ast.stmt]:
    """The statements that run on every way out of a block."""
    tries = [s for s in statements(function.body) if isinstance(s, ast.Try | ast.TryStar)]
    return {stmt for each in tries for stmt in statements(each.finalbody)}
