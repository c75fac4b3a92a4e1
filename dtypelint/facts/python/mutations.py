"""Assignments to a field of a policy that was built before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Mutation
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import statements
from dtypelint.facts.python.scope import Binding, Scope
from dtypelint.facts.python.sinks import Sinks
from dtypelint.knowledge import Call


class Mutations:
    """Finds the mutations of one module."""

    def __init__(self, sinks: Sinks) -> None:
        self._sinks = sinks
        self._module = sinks.module

    def find(self) -> Iterator[Mutation]:
        """Assignments to a field of a policy that was built before."""
        for scope in self._module.functions():
            for stmt in statements(scope.body):
                if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
                    continue
                target = stmt.targets[0]
                if not isinstance(target, ast.Attribute):
                    continue
                api = self._sinks.built(target.value, scope)
                if api is not None and target.attr in (*api.parameters, *api.keyword_only):
                    yield self._mutation(stmt, target, api, scope)

    def _mutation(self, stmt: ast.Assign, target: ast.Attribute, api: Call, scope: Scope) -> Mutation:
        source = self._module.tree.source
        bindings = self._sinks.names.bindings(target.value, scope) if isinstance(target.value, ast.Name) else ()
        built = bindings[0].node if bindings else stmt
        where = self._module.at(built) if isinstance(built, ast.stmt | ast.arg) else self._module.at(stmt)
        fresh = len(bindings) == 1 and isinstance(bindings[0].value, ast.Call) and bindings[0].scope is scope
        owned = fresh and not self._shared(bindings[0], stmt, scope)
        copy = self._sinks.imports.get("dataclasses", "replace", self._module.tree.span(stmt).start)
        return Mutation(
            self._module.tree.span(stmt),
            source(target.value),
            target.attr,
            source(stmt.value),
            api,
            where,
            owned,
            *(copy or ("", ())),
        )

    def _shared(self, binding: Binding, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether anything else may hold the object already when its field is assigned."""
        state = flow(scope)
        if binding.name in state.captured or binding.name in state.outer:
            return True
        place = (stmt.lineno, stmt.col_offset)
        return any(
            (use.lineno, use.col_offset) < place and not _is_field_access(use, self._module)
            for use in state.uses.get(binding, ())
        )


def _is_field_access(use: ast.Name, module: Module) -> bool:
    """Whether a use only reads or writes a field: the text goes on with a dot."""
    end = module.tree.span(use).end
    return module.tree.data[end : end + 1] == b"."
