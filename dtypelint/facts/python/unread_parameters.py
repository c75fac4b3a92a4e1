"""Parameters about a precision that their function never reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Kind
from dtypelint.facts.arrivals import Declaration, Proof, Unread
from dtypelint.facts.python.callers import Callers
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.python.unread import is_precision, reads_locals

_PLAIN = frozenset({"builtins.staticmethod", "builtins.classmethod", "torch.no_grad", "torch.inference_mode"})
_FILES = 40


class UnreadParameters:
    """Finds them in one module, where callers pass what a user wrote and nobody else says what the signature must be."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, callers: Callers) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.callers = callers

    def find(self) -> Iterator[Unread]:
        for function in self.module.functions():
            for binding in self._unread(function):
                given = next((place for place in self.callers.given(binding) if self._is_setting(*place)), None)
                if given is not None and self._is_free(function, binding.name):
                    value, caller = given
                    assert isinstance(binding.node, ast.arg)
                    span = self.module.tree.span(binding.node)
                    place = caller.module.at(value)
                    yield Unread(binding.name, Declaration.PARAMETER, span, function.name, Proof.USERS, given=place)

    def _unread(self, function: Scope) -> Iterator[Binding]:
        state = flow(function)
        for name, bindings in state.bindings.items():
            first = bindings[0]
            if first.kind is not Bound.PARAMETER or not is_precision(name, self.tracer.roles):
                continue
            if not state.uses.get(first) and name not in state.captured and not reads_locals(function):
                yield first

    def _is_setting(self, value: ast.expr, caller: Scope) -> bool:
        """Whether a caller passes what a user wrote, and no literal."""
        return any(
            leaf.kind is Kind.SETTING and leaf.role is not None for leaf in self.tracer.trace(value, caller).leaves
        )

    # whether anybody else says what the signature must be

    def _is_free(self, function: Scope, parameter: str) -> bool:
        node, owner = function.node, function.owner
        assert isinstance(node, Function)
        if function.name.startswith("__") or _is_stub(node.body):
            return False
        around = function.parent or function
        if any(not _PLAIN.intersection(self.names.paths(_called(d), around)) for d in node.decorator_list):
            return False
        if owner is not None:
            bases = self.names.mro(owner)[1:]
            foreign = [path for path in self.names.bases(owner) if not self.names.lookup(path, owner.module)]
            if any(self.names.method(base, function.name) is not None for base in bases) or foreign:
                return False
        return not self._has_twins(function, parameter)

    def _has_twins(self, function: Scope, parameter: str) -> bool:
        """Whether another function of the name takes the parameter too, or this one is handed on as a value."""
        for path in self.names.modules.files_with(function.name)[:_FILES]:
            module = self.names.modules.module(path)
            if module is None:
                continue
            for other in module.functions():
                if other is not function and other.name == function.name and parameter in flow(other).bindings:
                    return True
            called = {id(call.func) for call, _, _ in module.calls}
            for node, _, scope in module.expressions():
                if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
                    name = node.id if isinstance(node, ast.Name) else node.attr
                    if name == function.name and function in self.names.symbols(node, scope):
                        return True
        return False


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _is_stub(body: list[ast.stmt]) -> bool:
    """Whether a body does nothing, or only says that it is not there."""
    rest = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, ast.Pass | ast.Raise) or (isinstance(s, ast.Return) and s.value is None) for s in rest)
