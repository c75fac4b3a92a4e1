"""Which statements of a function a goal depends on, by the names that they read and write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dtypelint.facts.python.module import blocks, header

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dtypelint.facts.python.scope import Scope

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


class Names:
    """Names and dotted paths that matter; a path is touched by what is written above or, read whole, below it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.read: set[str] = set()
        self._above: set[str] = set()
        self.add(names)

    def add(self, names: Iterable[str]) -> bool:
        """Add some; whether any was new."""
        new = set(names) - self.read
        self.read |= new
        self._above.update(above for name in new for above in prefixes(name))
        return bool(new)

    def touched(self, written: Iterable[str]) -> bool:
        """Whether something that is written matters."""
        return any(name in self._above or not self.read.isdisjoint(prefixes(name)) for name in written)


def prefixes(name: str) -> list[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[: length + 1]) for length in range(len(parts))]


def writes(node: ast.AST) -> frozenset[str]:
    """The names, and the dotted paths of attributes, that a statement and those below it change."""
    found: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Store):
            found.add(dotted(each))
        elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            found.add(dotted(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _CHANGES:
            found.add(dotted(each.func.value))
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
    return frozenset(found - {""})


def reads(node: ast.AST) -> set[str]:
    """The names and the longest dotted paths that a node reads."""
    found: set[str] = set()
    stack = [node]
    while stack:
        each = stack.pop()
        path = dotted(each) if isinstance(each, ast.Name | ast.Attribute) else ""
        if path:
            found.add(path)
        else:
            stack += ast.iter_child_nodes(each)
    return found - {"self", "cls"}


def dotted(node: ast.expr) -> str:
    """`a.b` of an attribute of names, else nothing."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            head = dotted(owner)
            return f"{head}.{name}" if head else ""
    return ""


class Slices:
    """What decides about a goal in each function around it, and about the result of each that is called."""

    def __init__(self, way: Sequence[ast.AST], scopes: Sequence[Scope], follow: str) -> None:
        self._way = frozenset(way)
        self._written: dict[ast.stmt, frozenset[str]] = {}
        self._bodies: dict[ast.AST, Names] = {}
        self._returning: dict[ast.stmt, bool] = {}
        names = {follow} - {""}
        for scope in reversed(scopes):
            self._bodies[scope.node] = self._needed(scope.body, names)
            names = self._bodies[scope.node].read

    def matters(self, stmt: ast.stmt, body: ast.AST, *, called: bool) -> bool:
        """Whether a statement of a function's body has to be read; in a called one, what returns has."""
        if stmt in self._way or self.of(body).touched(self.written(stmt)):
            return True
        return called and self._returns(stmt)

    def of(self, function: ast.AST) -> Names:
        """The names that decide about the goal or, in a function that is called, about its result."""
        if function not in self._bodies:
            body = function.body if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
            returning = (stmt for stmt in _statements(body) if self._returns(stmt))
            self._bodies[function] = self._needed(body, set().union(*map(_header, returning)))
        return self._bodies[function]

    def written(self, stmt: ast.stmt) -> frozenset[str]:
        """What a statement writes; a compound one with all that is below it, since its test decides."""
        if stmt not in self._written:
            self._written[stmt] = writes(stmt)
        return self._written[stmt]

    def _returns(self, stmt: ast.stmt) -> bool:
        if stmt not in self._returning:
            own = isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            below = () if own else _statements([stmt])
            self._returning[stmt] = any(isinstance(each, ast.Return) for each in below)
        return self._returning[stmt]

    def _needed(self, body: Sequence[ast.stmt], start: Iterable[str]) -> Names:
        stmts = list(_statements(body))
        need = Names(start)
        for stmt in stmts:
            if stmt in self._way:
                need.add(self._leading(stmt))
        waiting = [(self.written(stmt), stmt) for stmt in stmts]
        grown = True
        while grown:
            touching = [stmt for written, stmt in waiting if need.touched(written)]
            waiting = [(written, stmt) for written, stmt in waiting if not need.touched(written)]
            grown = need.add(set().union(*(reads(each) if _defines(each) else _header(each) for each in touching)))
        return need

    def _leading(self, stmt: ast.stmt) -> set[str]:
        """What a statement on the way to the goal reads by itself; of a definition only what leads there."""
        return set().union(*(reads(part) for part in header(stmt) if not _defines(stmt) or part in self._way))


def _header(stmt: ast.stmt) -> set[str]:
    return set().union(*map(reads, header(stmt)))


def _defines(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for stmt in body:
        yield stmt
        if not _defines(stmt):
            for block in blocks(stmt):
                yield from _statements(block)
