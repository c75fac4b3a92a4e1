"""What a function is called with: the classes of the arguments that callers hand to a parameter without an annotation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import argument, last_name

_FILES = 30


class Callers:
    """Answers are kept: each asks for the files that mention a function."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._given: dict[tuple[Scope, str], tuple[tuple[ast.expr, Scope], ...]] = {}

    def classes(self, node: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """The project classes of what an expression holds; of a bare parameter, those that its callers pass."""
        found = self.names.classes(node, scope)
        if found or not isinstance(node, ast.Name):
            return found
        bindings = self.names.bindings(node, scope)
        return tuple(dict.fromkeys(c for b in bindings for c in self._passed(b)))

    def given(self, binding: Binding) -> tuple[tuple[ast.expr, Scope], ...]:
        """What the callers of a function hand to one of its parameters, each with the scope of the call."""
        function = binding.scope
        if binding.kind is not Bound.PARAMETER or not function.is_function:
            return ()
        key = (function, binding.name)
        if key not in self._given:
            self._given[key] = ()
            self._given[key] = tuple(self._ask(function, binding.name))
        return self._given[key]

    def _passed(self, binding: Binding) -> Iterator[Scope]:
        if binding.annotation is None:
            for given, caller in self.given(binding):
                yield from self.names.classes(given, caller)

    def _ask(self, function: Scope, name: str) -> Iterator[tuple[ast.expr, Scope]]:
        assert isinstance(function.node, Function)
        order = [a.arg for a in parameters(function.node)]
        if function.parent is not None and function.parent.is_class:
            order = order[1:]
        for path in self.names.modules.files_with(function.name)[:_FILES]:
            module = self.names.modules.module(path)
            for call, _, caller in module.calls if module is not None else ():
                given = argument(call, name, order) if last_name(call.func) == function.name else None
                if given is not None and function in self.names.callees(call.func, caller):
                    yield given, caller
