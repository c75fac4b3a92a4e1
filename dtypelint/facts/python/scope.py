"""Scopes and bindings: which statements of a module, class or function give a name its meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.facts.python.flow import Flow
    from dtypelint.facts.python.module import Module

Function = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Bound(StrEnum):
    """How a name came to its meaning."""

    IMPORT = "import"
    FUNCTION = "function"
    CLASS = "class"
    PARAMETER = "parameter"
    ASSIGN = "assign"
    AUGMENT = "augment"
    LOOP = "loop"
    WITH = "with"
    EXCEPT = "except"
    MATCH = "match"
    DELETE = "delete"
    STAR = "star"
    UNBOUND = "unbound"


@dataclass(slots=True, eq=False)
class Binding:
    """One place that binds a name.

    `value` is the whole right side, `path` leads from it to the name through unpacking (`0`, `1`, … or `*`);
    `target` is the dotted name of an import. Compared by identity: two bindings are never the same.
    """

    name: str
    kind: Bound
    node: ast.AST
    scope: Scope
    value: ast.expr | None = None
    annotation: ast.expr | None = None
    path: tuple[int | str, ...] = ()
    target: str = ""


@dataclass(slots=True, eq=False)
class Scope:
    """A module, a class body or a function; comprehensions and lambdas belong to the scope around them.

    What it binds comes from its flow (`flow.flow`), which is made when first asked for.
    """

    node: ScopeNode
    module: Module
    parent: Scope | None
    flow: Flow | None = None

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, Function)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def name(self) -> str:
        return "<module>" if isinstance(self.node, ast.Module) else self.node.name

    @property
    def body(self) -> list[ast.stmt]:
        return self.node.body

    @property
    def owner(self) -> Scope | None:
        """The class that a method belongs to, closures inside the method included."""
        scope: Scope | None = self
        while scope is not None and not scope.is_class:
            scope = scope.parent
        return scope

    def enclosing(self) -> Iterator[Scope]:
        """The scopes in which a free name is looked up: functions and the module, never a class body."""
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                yield scope
            scope = scope.parent


def parameters(node: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters in the order in which a call fills them; `*args` and `**kwargs` last."""
    args = node.args
    rest = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def defaults(node: Function | ast.Lambda) -> dict[str, ast.expr]:
    """The default of each parameter that has one."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    found = dict(zip((a.arg for a in reversed(positional)), reversed(args.defaults), strict=False))
    found.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
    return found


def targets(target: ast.expr, path: tuple[int | str, ...] = ()) -> Iterator[tuple[ast.Name, tuple[int | str, ...]]]:
    """The names that an assignment target binds, each with its way through the unpacking."""
    match target:
        case ast.Name():
            yield target, path
        case ast.Starred(value=inner):
            yield from targets(inner, (*path, "*"))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for index, element in enumerate(elements):
                yield from targets(element, (*path, index))


def bindings_of(stmt: ast.stmt, scope: Scope) -> list[Binding]:
    """What one statement binds by itself: its header, not the blocks below it."""
    found: list[Binding] = []

    def add(target: ast.expr, kind: Bound, value: ast.expr | None, annotation: ast.expr | None = None) -> None:
        for name, path in targets(target):
            found.append(Binding(name.id, kind, stmt, scope, value, annotation, path))

    match stmt:
        case ast.Assign(targets=several, value=value):
            for target in several:
                add(target, Bound.ASSIGN, value)
        case ast.AnnAssign(target=target, value=value, annotation=annotation):
            if value is not None or scope.is_class:
                add(target, Bound.ASSIGN, value, annotation)
        case ast.AugAssign(target=target, value=value):
            add(target, Bound.AUGMENT, value)
        case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
            add(target, Bound.LOOP, iterable)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    add(item.optional_vars, Bound.WITH, item.context_expr)
        case ast.Delete(targets=several):
            for target in several:
                add(target, Bound.DELETE, None)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            found.append(Binding(name, Bound.FUNCTION, stmt, scope))
        case ast.ClassDef(name=name):
            found.append(Binding(name, Bound.CLASS, stmt, scope))
        case ast.Import(names=names):
            for alias in names:
                bound = alias.asname or alias.name.partition(".")[0]
                found.append(Binding(bound, Bound.IMPORT, stmt, scope, target=alias.name if alias.asname else bound))
        case ast.ImportFrom(names=names):
            base = scope.module.absolute(stmt.module or "", stmt.level)
            for alias in names:
                kind = Bound.STAR if alias.name == "*" else Bound.IMPORT
                source = base if alias.name == "*" else f"{base}.{alias.name}"
                found.append(Binding(alias.asname or alias.name, kind, stmt, scope, target=source))
    return found


def patterns(pattern: ast.pattern) -> Iterator[str]:
    """The names that a match pattern binds."""
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
