"""Casts, new tensors and loads in a 16-bit dtype that is written out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import LOW_PRECISION, Kind, Role, Sink
from dtypelint.facts.python.fills import Filled
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.sinks import Sinks
from dtypelint.facts.python.syntax import last_name
from dtypelint.knowledge import Call

_ROLES = (Role.GENERAL, Role.PARAM, Role.AUTOCAST, Role.MASTER)


class Pins:
    """Finds those of one module."""

    def __init__(self, sinks: Sinks) -> None:
        self.sinks = sinks
        self.module = sinks.module
        self.names = sinks.names

    def find(self) -> Iterator[Sink]:
        for node, stmt, scope in self.module.calls:
            role, value = self._dtype(node, scope) if scope.is_function else (Role.GENERAL, None)
            if value is not None and self._is_written_out(value, scope):
                name = last_name(node.func)
                api = Call("torch", "pin", name, "any", (), ("dtype",), (), {"dtype": role}, False, {})
                keyword = any(value is k.value for k in node.keywords)
                yield self.sinks.made(api, node, stmt, scope, Filled({"dtype": (value, True, keyword)}), "call")

    def _dtype(self, node: ast.Call, scope: Scope) -> tuple[Role, ast.expr | None]:
        """The dtype that a call casts to, or is told to work in, and what it is for."""
        for keyword in node.keywords:
            role = self.sinks.tracer.roles.role(keyword.arg) if keyword.arg else None
            if role in _ROLES and not self.sinks.knows(node, scope):
                return role, keyword.value
        if last_name(node.func) == "to" and isinstance(node.func, ast.Attribute):
            return Role.GENERAL, next((a for a in reversed(node.args) if isinstance(a, ast.Attribute)), None)
        return Role.GENERAL, None

    def _is_written_out(self, value: ast.expr, scope: Scope) -> bool:
        if not isinstance(value, ast.Attribute):
            return False
        leaves = self.sinks.tracer.trace(value, scope).leaves
        return len(leaves) == 1 and leaves[0].kind is Kind.DTYPE and leaves[0].text in LOW_PRECISION
