"""A local that keeps its None on a path that sets the one beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.facts.python.syntax import is_none


def lapses(one: ast.expr, other: ast.expr, stmt: ast.stmt, scope: Scope) -> Iterator[Binding]:
    """What sets `one` on a way to a statement on which `other` keeps its None."""
    if not (isinstance(one, ast.Name) and isinstance(other, ast.Name) and scope.is_function):
        return
    before = flow(scope).before.get(stmt, {})
    several = [b for b in before.get(other.id, ()) if b.kind is Bound.ASSIGN]
    given = [_guards(b) for b in several if not is_none(b.value)]
    if not given or len(given) == len(several):
        return
    for binding in before.get(one.id, ()):
        if binding.kind is Bound.ASSIGN and binding.value is not None and not is_none(binding.value):
            path = _guards(binding)
            if path and not any(each <= path for each in given):
                yield binding


def _guards(binding: Binding) -> frozenset[tuple[ast.expr, bool]]:
    context = flow(binding.scope).context.get(binding.node) if isinstance(binding.node, ast.stmt) else None
    return frozenset((guard.test, guard.holds) for guard in context.guards) if context is not None else frozenset()
