"""Names that cannot be read where they stand: bound nowhere, or not yet on this path."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.scope import Bound, Function
from dtypelint.finding import Span
from dtypelint.smoke.sites import moved
from dtypelint.smoke.slices import leading
from dtypelint.smoke.symbols import Unknown

if TYPE_CHECKING:
    from dtypelint.facts.python.module import Module
    from dtypelint.facts.python.scope import Scope
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

GIVEN = frozenset({*dir(builtins), "__name__", "__file__", "__doc__", "__spec__", "__path__", "__class__"})


def unbound(sites: Sites, finding: Finding) -> str:
    """A name that a fix writes and that nothing in its reach binds, or nothing."""
    edits = sites.edits(finding)
    if not finding.position.path.endswith(".py") or not edits:
        return ""
    try:
        module = sites.module(sites.after(finding), finding)
    except Unknown:
        return ""
    starts = [moved(edit.location.span.start, [each for each in edits if each is not edit]) for edit in edits]
    written = [
        Span(start, start + len(edit.text.encode())) for start, edit in zip(starts, edits, strict=True) if edit.text
    ]
    for node in ast.walk(module.tree.root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            span = module.tree.span(node)
            inside = any(each.start <= span.start and span.end <= each.end for each in written)
            if inside and bound_nowhere(node.id, _scope(module, node)):
                return node.id
    return ""


def _scope(module: Module, node: ast.AST) -> Scope:
    way = leading(module.tree.root, node)
    return next((module.scopes[each] for each in reversed(way) if isinstance(each, Function)), module.scope)


def bound_nowhere(name: str, scope: Scope) -> bool:
    """Whether nothing in reach of a scope ever binds a name: reading it is a NameError."""
    if name in GIVEN:
        return False
    scopes = (scope, *scope.enclosing())
    for each in scopes:
        bindings = flow(each).bindings
        if name in bindings or any(one.kind is Bound.STAR for many in bindings.values() for one in many):
            return False
        # comprehensions, lambdas and patterns bind names of their own
        if isinstance(each.node, Function | ast.ClassDef) and name in _stored(each.node):
            return False
    top = scopes[-1].node
    return not any(
        (isinstance(node, ast.Global) and name in node.names)
        or (isinstance(node, ast.Lambda | ast.comprehension) and name in _stored(node))
        for node in ast.walk(top)
    )


def _stored(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    found.update(each.arg for each in ast.walk(node) if isinstance(each, ast.arg))
    found.update(each.name or "" for each in ast.walk(node) if isinstance(each, ast.MatchAs | ast.MatchStar))
    return found


def not_yet(name: str, scope: Scope) -> bool:
    """Whether a local name is bound by plain assignments only, none of them in a loop."""
    found = flow(scope)
    bindings = found.bindings.get(name, ()) if scope.is_function else ()
    places = [found.context.get(each.node) for each in bindings if isinstance(each.node, ast.Assign | ast.AnnAssign)]
    plain = all(each.kind is Bound.ASSIGN for each in bindings) and len(places) == len(bindings)
    return bool(bindings) and plain and not any(place is None or place.loops for place in places)
