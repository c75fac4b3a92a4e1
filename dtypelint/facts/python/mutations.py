"""Assignments to a field of a policy that was built before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dtypelint.facts import Mutation
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import statements
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.sinks import Sinks
from dtypelint.knowledge import Call

_ALIASES = 4


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
                if any(each.handlers and stmt in each.body for each in flow(scope).context[stmt].tries):
                    # the error is expected
                    continue
                built = self._built(target.value, scope)
                if built is not None and target.attr in (*built[0].parameters, *built[0].keyword_only):
                    yield self._mutation(stmt, target, *built, scope)

    def _mutation(self, stmt: ast.Assign, target: ast.Attribute, api: Call, made: ast.AST, scope: Scope) -> Mutation:
        source = self._module.tree.source
        where = self._module.at(made) if isinstance(made, ast.stmt | ast.arg) else self._module.at(stmt)
        copy = self._sinks.imports.get("dataclasses", "replace", self._module.tree.span(stmt).start)
        return Mutation(
            self._module.tree.span(stmt),
            source(target.value),
            target.attr,
            source(stmt.value),
            api,
            where,
            self._is_own(target.value, made, stmt, scope),
            *(copy or ("", ())),
        )

    def _built(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[Call, ast.AST] | None:
        """The api whose object an expression holds, and the statement that gave it the object."""
        if isinstance(node, ast.Name):
            for binding in self._sinks.names.bindings(node, scope):
                api = self._sinks.built(node, scope)
                if api is None and isinstance(binding.value, ast.Name) and not binding.path and depth < _ALIASES:
                    found = self._built(binding.value, binding.scope, depth + 1)
                    api = found[0] if found is not None else None
                if api is not None:
                    return api, binding.node
        elif isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            for owner in self._sinks.names.classes(node.value, scope):
                for field in self._sinks.names.fields(owner, node.attr):
                    api = self._sinks.built(field.value, field.scope) if isinstance(field.value, ast.Call) else None
                    if api is not None and (field.scope is scope or text.startswith("self.")):
                        return api, field.node
        return None

    def _is_own(self, node: ast.expr, made: ast.AST, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether nothing else can hold the object when its field is assigned: it was built here, and only read since."""
        state = flow(scope)
        if not isinstance(made, ast.Assign | ast.AnnAssign) or not isinstance(made.value, ast.Call):
            return False
        if made not in state.order or state.order[made] > state.order[stmt]:
            return False
        if isinstance(node, ast.Name):
            if node.id in state.captured or node.id in state.outer or len(self._sinks.names.bindings(node, scope)) != 1:
                return False
        end = self._module.tree.span(made).end
        text = self._module.tree.data[end : self._module.tree.span(stmt).start].decode()
        name = re.escape(self._module.tree.source(node))
        # a method that is called between may hand an attribute on
        calls = isinstance(node, ast.Attribute) and re.search(r"\bself\.\w+\(", text)
        return not calls and not re.search(rf"(?<![\w.]){name}(?!\w|\s*\.\s*\w)", text)
