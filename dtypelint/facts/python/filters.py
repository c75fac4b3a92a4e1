"""Which names a filter over modules asks for: a function of a module and its name, as conversions to fp8 take it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults, parameters
from dtypelint.facts.python.syntax import passed

_DEPTH = 6
_FACTORIES = ("builtins.list", "builtins.tuple", "builtins.set", "builtins.frozenset")
Given = Mapping[tuple[Scope, str], tuple[ast.expr, Scope]]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A name that is written out; `beside` says that it is given with the model, and not kept for all of them."""

    node: ast.Constant
    scope: Scope
    beside: bool

    @property
    def name(self) -> str:
        return str(self.node.value)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One test of a `filter`: how it compares (see `Architecture.has`), with which names, and what a match does."""

    filter: ast.AST
    how: str
    entries: tuple[Entry, ...]
    keeps_out: bool | None


class Filters:
    """Reads the filters of one project."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def questions(self, node: ast.expr, scope: Scope, given: Given | None = None, depth: int = 0) -> Iterator[Question]:
        """The questions that a filter asks about names, those whose names are all written out."""
        given = given or {}
        if depth > _DEPTH:
            return
        match node:
            case ast.Lambda():
                if len(names := parameters(node)) > 1:
                    yield from _Reader(self, scope, node, names[1].arg, given).read(node.body, [])
            case ast.Call(func=func, args=args):
                yield from self._made(node, func, args, scope, given, depth)
            case ast.Name() | ast.Attribute():
                for symbol in self.names.symbols(node, scope):
                    if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                        yield from self._function(symbol, given)
                for binding in self.names.bindings(node, scope) if isinstance(node, ast.Name) else ():
                    if binding.kind is Bound.ASSIGN and isinstance(binding.value, ast.Lambda | ast.Call):
                        yield from self.questions(binding.value, binding.scope, given, depth + 1)

    def _made(
        self, node: ast.Call, func: ast.expr, args: list[ast.expr], scope: Scope, given: Given, depth: int
    ) -> Iterator[Question]:
        """The questions of `partial(filter, names=…)`, or of the function that a function makes."""
        if "functools.partial" in self.names.paths(func, scope) and args:
            for symbol in self.names.symbols(args[0], scope):
                if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                    more = {(symbol, k.arg): (k.value, scope) for k in node.keywords if k.arg}
                    yield from self._function(symbol, {**given, **more})
            return
        for symbol in self.names.symbols(func, scope):
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                order = [a.arg for a in parameters(symbol.node)]
                more = {(symbol, name): (arg, scope) for name, arg in zip(order, args, strict=False)}
                more |= {(symbol, k.arg): (k.value, scope) for k in node.keywords if k.arg}
                for stmt in statements(symbol.body):
                    if isinstance(stmt, ast.Return) and stmt.value is not None:
                        yield from self.questions(stmt.value, symbol, {**given, **more}, depth + 1)

    def _function(self, function: Scope, given: Given) -> Iterator[Question]:
        assert isinstance(function.node, Function)
        names = parameters(function.node)
        method = function.parent is not None and function.parent.is_class
        if len(names) > 1 + method:
            reader = _Reader(self, function, function.node, names[1 + method].arg, given)
            for stmt in statements(function.body):
                for node in [stmt.test] if isinstance(stmt, ast.If) else list(_whole(stmt)):
                    yield from reader.read(node, stmt.body if isinstance(stmt, ast.If) else [], stmt)

    # names that are written out

    def entries(self, node: ast.expr, scope: Scope, given: Given, beside: bool = False) -> tuple[Entry, ...]:
        """The names in an expression; empty when one of them is not known."""
        match node:
            case ast.Constant(value=str()):
                return (Entry(node, scope, beside),)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                found = [self.entries(each, scope, given, beside) for each in elements]
                return tuple(entry for each in found for entry in each) if all(found) else ()
            case ast.Starred(value=inner):
                return self.entries(inner, scope, given, beside)
            case ast.Call(func=func, args=[inner]) if set(_FACTORIES).intersection(self.names.paths(func, scope)):
                return self.entries(inner, scope, given, beside)
            case ast.BoolOp(op=ast.Or(), values=[inner, ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Constant()]):
                return self.entries(inner, scope, given, beside)
            case ast.Name():
                bindings = self.names.bindings(node, scope)
                return self._bound(bindings[0], given, beside) if len(bindings) == 1 else ()
            case ast.Attribute(value=base, attr=attr):
                return self._field(base, attr, scope, given, beside)
        return ()

    def _bound(self, binding: Binding, given: Given, beside: bool) -> tuple[Entry, ...]:
        scope = binding.scope
        if binding.kind is Bound.PARAMETER:
            if (scope, binding.name) in given:
                node, where = given[scope, binding.name]
                return self.entries(node, where, given, beside=True)
            default = defaults(scope.node).get(binding.name) if isinstance(scope.node, Function) else None
            return self.entries(default, scope.parent or scope, given) if default is not None else ()
        if binding.kind is Bound.LOOP and binding.value is not None and not binding.path:
            return self.entries(binding.value, scope, given, beside)
        if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
            # a constant of the module is kept for every model
            return self.entries(binding.value, scope, given, beside and scope.is_function)
        return ()

    def _field(self, base: ast.expr, attr: str, scope: Scope, given: Given, beside: bool) -> tuple[Entry, ...]:
        """The names in a field: those that its object is made with, else the default."""
        made = [b.value for b in self.names.bindings(base, scope)] if isinstance(base, ast.Name) else [base]
        for call in made:
            value = passed(call, attr) if isinstance(call, ast.Call) else None
            if value is not None:
                return self.entries(value, scope, given, beside)
        fields = [field for cls in self.names.classes(base, scope) for field in self.names.fields(cls, attr)]
        if len(fields) != 1 or fields[0].value is None:
            return ()
        default = fields[0].value
        if fields[0].in_body and isinstance(default, ast.Call):
            made_by = passed(default, "default_factory")
            inner = made_by.body if isinstance(made_by, ast.Lambda) else passed(default, "default")
            return self.entries(inner, fields[0].scope, given) if inner is not None else ()
        return self.entries(default, fields[0].scope, given)


class _Reader:
    """Finds the questions about one parameter in one function."""

    def __init__(self, filters: Filters, scope: Scope, node: ast.AST, name: str, given: Given) -> None:
        self.filters = filters
        self.scope = scope
        self.node = node
        self.name = name
        self.given = given

    def read(self, whole: ast.expr, body: list[ast.stmt], stmt: ast.stmt | None = None) -> Iterator[Question]:
        """The questions in an expression: the test of an `if` with a body, or what the filter returns."""
        outcome = _outcome(body) if body else True if stmt is None or isinstance(stmt, ast.Return) else None
        loops: dict[str, ast.expr] = {}
        for node in ast.walk(whole):
            for each in getattr(node, "generators", ()):
                if isinstance(each.target, ast.Name):
                    loops[each.target.id] = each.iter
        for node, negated in _tests(whole, False):
            found = self._question(node)
            if found is not None:
                how, names, reverse = found
                named = loops.get(names.id, names) if isinstance(names, ast.Name) else names
                entries = self.filters.entries(named, self.scope, self.given)
                # a match makes the whole true when it is not negated
                keeps_out = None if outcome is None else (negated is not reverse) is outcome
                if entries:
                    yield Question(self.node, how, entries, keeps_out)

    def _question(self, node: ast.expr) -> tuple[str, ast.expr, bool] | None:
        """How a test compares the name, with what, and whether it holds where there is no match."""
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[right]):
                reverse = isinstance(op, ast.NotIn)
                if self._form(right) in ("whole", "parts"):
                    return "contains" if self._form(right) == "whole" else "part", left, reverse
                return self._equal(left, right, reverse)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                reverse = isinstance(op, ast.NotEq)
                return self._equal(left, right, reverse) or self._equal(right, left, reverse)
            case ast.Call(func=ast.Attribute(value=base, attr="startswith" | "endswith" as how), args=[names]):
                return (how.removesuffix("swith") + "s", names, False) if self._form(base) == "whole" else None
        return None

    def _equal(self, left: ast.expr, right: ast.expr, reverse: bool) -> tuple[str, ast.expr, bool] | None:
        form = self._form(left)
        return ("equals" if form == "whole" else "part", right, reverse) if form in ("whole", "last") else None

    def _form(self, node: ast.expr, depth: int = 0) -> str:
        """What an expression is of the name: the `whole`, its `parts`, its `last` part; empty for anything else."""
        match node:
            case ast.Name(id=name) if name == self.name:
                return "whole"
            case ast.Name() if depth < _DEPTH:
                bindings = self.filters.names.bindings(node, self.scope)
                values = [b.value for b in bindings if b.kind is Bound.ASSIGN and not b.path and b.value is not None]
                return self._form(values[0], depth + 1) if len(values) == len(bindings) == 1 else ""
            case ast.Call(func=ast.Attribute(value=base, attr="lower"), args=[]):
                return self._form(base, depth)
            case ast.Call(func=ast.Attribute(value=base, attr="split" | "rsplit"), args=[ast.Constant(value="."), *_]):
                return "parts" if self._form(base, depth) == "whole" else ""
            case ast.Call(func=ast.Attribute(value=base, attr="rpartition"), args=[ast.Constant(value=".")]):
                return "parts" if self._form(base, depth) == "whole" else ""
            case ast.Subscript(value=base, slice=ast.UnaryOp(op=ast.USub()) | ast.Constant(value=2)):
                return "last" if self._form(base, depth) == "parts" else ""
        return ""


def _whole(stmt: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are no part of another one."""
    inside: set[ast.AST] = set()
    for node in expressions(stmt):
        if node not in inside:
            yield node
        inside.update(ast.walk(node))


def _tests(node: ast.expr, negated: bool) -> Iterator[tuple[ast.expr, bool]]:
    """The comparisons and calls in an expression, and whether what they say is turned around."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _tests(inner, not negated)
        case ast.Call(args=[ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner)]):
            yield from _tests(inner, negated)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _tests(value, negated)
        case ast.Compare() | ast.Call():
            yield node, negated


def _outcome(body: list[ast.stmt]) -> bool | None:
    """Whether a body converts, or does not; None when it does something else."""
    match body[-1]:
        case ast.Return(value=ast.Constant(value=bool(value))):
            return value
    return None
