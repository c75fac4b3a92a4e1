"""Which statements of a function a goal depends on, by the names that they read and write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dtypelint.facts.python.module import blocks, header

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHANGES = frozenset({"update", "setdefault", "append", "extend", "pop"})


def leading(tree: ast.AST, goal: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes from a tree down to a goal inside it, both included; empty when it is not in there."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    found = [goal]
    while found[-1] is not tree:
        parent = parents.get(found[-1])
        if parent is None:
            return ()
        found.append(parent)
    return tuple(reversed(found))


def writes(node: ast.AST) -> set[str]:
    """The names, and the dotted paths of attributes, that a statement and those below it change."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            found |= {dotted(each), dotted(each.value)} - {"self", "cls"}
        elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            found.add(dotted(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _CHANGES:
            found.add(dotted(each.func.value))
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
    return found - {""}


def reads(node: ast.AST) -> set[str]:
    """The names and dotted paths that a node reads."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute):
            found.add(dotted(each))
    return found - {"", "self", "cls"}


def dotted(node: ast.expr) -> str:
    """`a.b` of an attribute of names, else nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            head = dotted(owner)
            return f"{head}.{name}" if head else ""
    return ""


def needed(body: list[ast.stmt], start: Iterable[str]) -> set[str]:
    """The names that decide about some names: closed over the statements of a body."""
    flat = [(writes_own(stmt), reads_own(stmt)) for stmt in _statements(body)]
    need = set(start)
    while True:
        more = set().union(*(read for written, read in flat if written & need)) - need
        if not more:
            return need
        need |= more


def writes_own(stmt: ast.stmt) -> set[str]:
    """What a statement writes; a branch counts with all that is below it, since its test decides."""
    return writes(stmt)


def reads_own(stmt: ast.stmt) -> set[str]:
    """What the header of a statement reads."""
    if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return reads(stmt)
    return set().union(*(reads(part) for part in header(stmt)))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        if not isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for block in blocks(stmt):
                yield from _statements(list(block))
