"""One parsed module: its tree, its scopes and its dotted name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.parse import Tree
from dtypelint.facts.python.scope import Binding, Function, Scope
from dtypelint.finding import Location


class Module:
    """A module of the checked project.

    `name` is its dotted name below the project root, so that relative imports resolve; `import_name` the one that others
    import it under (without `src`).
    """

    def __init__(self, path: str, name: str, import_name: str, is_package: bool, text: str) -> None:
        self.path = path
        self.name = name
        self.import_name = import_name
        self.is_package = is_package
        self.tree = Tree(path, text)
        self.scope = Scope(self.tree.root, self, None)

    def absolute(self, target: str, level: int) -> str:
        """The dotted name that `from <level dots><target> import …` names here."""
        if not level:
            return target
        parts = self.name.split(".") if self.name else []
        if not self.is_package:
            parts = parts[:-1]
        base = parts[: len(parts) - (level - 1)] if level > 1 else parts
        return ".".join([*base, *([target] if target else [])])

    def at(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler) -> Location:
        return Location(self.path, self.tree.span(node))

    @cached_property
    def scopes(self) -> dict[ast.AST, Scope]:
        """Every scope by its node, outer ones first."""
        found: dict[ast.AST, Scope] = {self.tree.root: self.scope}
        stack: list[tuple[Sequence[ast.stmt], Scope]] = [(self.tree.root.body, self.scope)]
        while stack:
            body, scope = stack.pop()
            for stmt in body:
                if isinstance(stmt, Function | ast.ClassDef):
                    inner = found[stmt] = Scope(stmt, self, scope)
                    stack.append((stmt.body, inner))
                else:
                    stack.extend((block, scope) for block in blocks(stmt))
        return found

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        """What the module binds at its top level."""
        return flow(self.scope).bindings

    def statements(self) -> Iterator[tuple[ast.stmt, Scope]]:
        """Every statement with its scope."""
        return ((stmt, scope) for scope in self.scopes.values() for stmt in statements(scope.body))

    def expressions(self) -> Iterator[tuple[ast.expr, ast.stmt, Scope]]:
        """Every expression with its statement and its scope."""
        return ((node, stmt, scope) for stmt, scope in self.statements() for node in expressions(stmt))

    @cached_property
    def calls(self) -> tuple[tuple[ast.Call, ast.stmt, Scope], ...]:
        """Every call with its statement and its scope."""
        return tuple((node, stmt, scope) for node, stmt, scope in self.expressions() if isinstance(node, ast.Call))

    @cached_property
    def stored(self) -> frozenset[str]:
        """The attributes that the module assigns."""
        nodes = ast.walk(self.tree.root)
        return frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))

    def functions(self) -> Iterator[Scope]:
        return (s for s in self.scopes.values() if s.is_function)

    def classes(self) -> Iterator[Scope]:
        return (s for s in self.scopes.values() if s.is_class)


def blocks(stmt: ast.stmt | ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """The statement lists below a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(stmt, name, None)
        if block:
            yield block
    for handler in getattr(stmt, "handlers", ()):
        yield handler.body
    for case in getattr(stmt, "cases", ()):
        yield case.body


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body, nested blocks included, nested functions and classes not entered."""
    stack = list(reversed(body))
    while stack:
        stmt = stack.pop()
        yield stmt
        if not isinstance(stmt, Function | ast.ClassDef):
            stack.extend(s for block in blocks(stmt) for s in reversed(block))


def header(stmt: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that belong to a statement itself and not to the statements below it."""
    match stmt:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from stmt.decorator_list
            yield from stmt.args.defaults
            yield from (d for d in stmt.args.kw_defaults if d is not None)
        case ast.With() | ast.AsyncWith():
            for item in stmt.items:
                yield item.context_expr
        case ast.Match():
            yield stmt.subject
            yield from (case.guard for case in stmt.cases if case.guard is not None)
        case ast.ClassDef():
            yield from stmt.decorator_list
            yield from stmt.bases
            yield from (k.value for k in stmt.keywords)
        case _:
            for child in ast.iter_child_nodes(stmt):
                if isinstance(child, ast.expr):
                    yield child


# the parts of an expression that hold expressions, last one first; a lambda's defaults and a comprehension's targets do not count
_NO_PARTS = {"ctx", "op", "ops", "id", "attr", "kind", "conversion", "args"}
_PARTS: dict[type, tuple[str, ...]] = {
    each: tuple(name for name in reversed(each._fields) if name not in _NO_PARTS) for each in ast.expr.__subclasses__()
} | {
    type(None): (),
    ast.Constant: (),
    ast.Call: ("keywords", "args", "func"),
    ast.keyword: ("value",),
    ast.comprehension: ("ifs", "iter"),
}


def expressions(stmt: ast.stmt) -> Iterator[ast.expr]:
    """Every expression inside the header of a statement, outer ones first."""
    stack: list[ast.AST | None] = []
    stack.extend(reversed([*header(stmt)]))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr):
            yield node
        for name in _PARTS[type(node)]:
            part = getattr(node, name)
            if type(part) is list:
                stack += reversed(part)
            else:
                stack.append(part)


def calls(stmt: ast.stmt) -> Iterator[tuple[ast.Call, tuple[tuple[ast.expr, bool], ...]]]:
    """The calls of a statement's header in the order in which they are made, with the tests inside the expression."""
    for expr in header(stmt):
        yield from _tested(expr, ())


def _tested(
    node: ast.AST, tests: tuple[tuple[ast.expr, bool], ...]
) -> Iterator[tuple[ast.Call, tuple[tuple[ast.expr, bool], ...]]]:
    match node:
        case ast.Lambda():
            # runs later
            return
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from _tested(test, tests)
            yield from _tested(body, (*tests, (test, True)))
            yield from _tested(orelse, (*tests, (test, False)))
        case ast.BoolOp(op=op, values=values):
            for index, value in enumerate(values):
                passed = tuple((v, isinstance(op, ast.And)) for v in values[:index])
                yield from _tested(value, (*tests, *passed))
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _tested(child, tests)
    if isinstance(node, ast.Call):
        yield node, tests
