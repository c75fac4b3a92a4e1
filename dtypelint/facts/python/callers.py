"""What a function is called with: the classes of the arguments that callers hand to a parameter without an annotation."""

from __future__ import annotations

import ast

from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import argument, last_name

_FILES = 30


class Callers:
    """Answers are kept: each asks for the files that mention a function."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._kept: dict[tuple[Scope, str], tuple[Scope, ...]] = {}

    def classes(self, node: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """The project classes of what an expression holds; of a bare parameter, those that its callers pass."""
        found = self.names.classes(node, scope)
        if found or not isinstance(node, ast.Name):
            return found
        bindings = self.names.bindings(node, scope)
        return tuple(dict.fromkeys(c for b in bindings for c in self._passed(b)))

    def _passed(self, binding: Binding) -> tuple[Scope, ...]:
        function = binding.scope
        if binding.kind is not Bound.PARAMETER or binding.annotation is not None or not function.is_function:
            return ()
        key = (function, binding.name)
        if key not in self._kept:
            self._kept[key] = ()
            self._kept[key] = tuple(dict.fromkeys(self._ask(function, binding.name)))
        return self._kept[key]

    def _ask(self, function: Scope, name: str) -> list[Scope]:
        assert isinstance(function.node, Function)
        order = [a.arg for a in parameters(function.node)]
        if function.parent is not None and function.parent.is_class:
            order = order[1:]
        found: list[Scope] = []
        for path in self.names.modules.files_with(function.name)[:_FILES]:
            module = self.names.modules.module(path)
            for call, _, caller in module.calls if module is not None else ():
                given = argument(call, name, order) if last_name(call.func) == function.name else None
                if given is not None and function in self.names.callees(call.func, caller):
                    found += self.names.classes(given, caller)
        return found
