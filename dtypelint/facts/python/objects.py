"""Which object an expression means, and which tests lead to a statement, in words that compare across functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import is_none
from dtypelint.facts.steps import Branch

_DEPTH = 6
_PURE = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Attribute, ast.Name)


@dataclass(frozen=True, eq=False)
class Frame:
    """A function in the middle of a trace: what its parameters stand for, and the path that led to its call.

    `label` keeps the locals of an inlined function apart from those of its caller; `site` is the call in the function that
    the trace is of.
    """

    scope: Scope
    arguments: Mapping[str, tuple[ast.expr, Frame]] = field(default_factory=dict)
    label: str = ""
    path: tuple[Branch, ...] = ()
    loops: tuple[str, ...] = ()
    depth: int = 0
    site: tuple[ast.Call, ast.stmt, Frame] | None = None


class Objects:
    """Names objects and conditions of one project."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def key(self, node: ast.expr, frame: Frame, depth: int = 0) -> str:
        """The name of an object: the same for every alias of it in one trace; empty for a loop variable."""
        if depth > _DEPTH:
            return ""
        match node:
            case ast.Name():
                return self._name(node, frame, depth)
            case ast.Attribute(value=base, attr=attr):
                inner = self.key(base, frame, depth + 1)
                return f"{inner}.{attr}" if inner else ""
            case ast.NamedExpr(target=target):
                return self.key(target, frame, depth + 1)
        return self.text(node, frame)

    def _name(self, node: ast.Name, frame: Frame, depth: int) -> str:
        value, where = self.alias(node, frame)
        if value is not None:
            return self.key(value, where, depth + 1)
        bindings = self.names.bindings(node, frame.scope)
        if any(b.kind is Bound.LOOP for b in bindings):
            return ""
        local = any(b.scope is frame.scope for b in bindings)
        return f"{frame.label}{node.id}" if local else node.id

    def alias(self, node: ast.expr, frame: Frame) -> tuple[ast.expr | None, Frame]:
        """What a name only stands for: the argument of its parameter, or the object that it was assigned."""
        if not isinstance(node, ast.Name):
            return None, frame
        bindings = self.names.bindings(node, frame.scope)
        if len(bindings) != 1 or bindings[0].scope is not frame.scope:
            return None, frame
        only = bindings[0]
        if only.kind is Bound.PARAMETER:
            return frame.arguments.get(node.id, (None, frame))
        if only.kind is Bound.ASSIGN and not only.path and isinstance(only.value, ast.Name | ast.Attribute):
            return only.value, frame
        return None, frame

    def resolve(self, node: ast.expr, frame: Frame) -> tuple[ast.expr, Frame]:
        """An expression with its aliases followed."""
        for _ in range(_DEPTH):
            value, where = self.alias(node, frame)
            if value is None:
                break
            node, frame = value, where
        return node, frame

    def text(self, node: ast.expr, frame: Frame) -> str:
        """The text of an expression with every name in it made canonical."""
        try:
            return ast.unparse(self._renamed(node, frame))
        except RecursionError:
            return ast.unparse(node)

    def _renamed(self, node: ast.AST, frame: Frame) -> ast.AST:
        """A copy with canonical names; the original stays as it is, because what binds its names is known by identity."""
        if isinstance(node, ast.Name):
            value, where = self.alias(node, frame)
            if value is not None:
                return ast.Name(self.key(value, where, 1) or node.id)
            local = frame.label and any(b.scope is frame.scope for b in self.names.bindings(node, frame.scope))
            return ast.Name(f"{frame.label}{node.id}" if local else node.id)
        made = type(node)()
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(made, name, [self._renamed(v, frame) if isinstance(v, ast.AST) else v for v in value])
            else:
                setattr(made, name, self._renamed(value, frame) if isinstance(value, ast.AST) else value)
        return made

    # conditions

    def branches(self, test: ast.expr, holds: bool, frame: Frame, depth: int = 0) -> Iterator[Branch]:
        """What an outcome of a test says, one part at a time."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                yield from self.branches(inner, not holds, frame, depth)
                return
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
                for each in values:
                    yield from self.branches(each, holds, frame, depth)
                return
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                yield from self.branches(left, holds is isinstance(op, ast.IsNot), frame, depth)
                return
            case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
                inner = ast.copy_location(ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), test)
                yield Branch(self.text(inner, frame), not holds)
                return
            case ast.Name() if depth < _DEPTH:
                expanded = self._expanded(test, frame)
                if expanded is not None:
                    yield from self.branches(expanded[0], holds, expanded[1], depth + 1)
                    return
            case ast.Constant():
                return
        yield Branch(self.text(test, frame), holds)

    def _expanded(self, node: ast.Name, frame: Frame) -> tuple[ast.expr, Frame] | None:
        """The test behind a name: what it was computed from, or what decided that it is not None."""
        value, where = self.alias(node, frame)
        if value is not None:
            return value, where
        bindings = self.names.bindings(node, frame.scope)
        if len(bindings) == 2 and all(b.scope is frame.scope for b in bindings):
            return self._decided(bindings[0], bindings[1], frame)
        if len(bindings) != 1 or bindings[0].kind is not Bound.ASSIGN or bindings[0].path:
            return None
        only = bindings[0]
        inside = frame if only.scope is frame.scope else Frame(only.scope)
        if isinstance(only.value, _PURE):
            return only.value, inside
        if isinstance(only.value, ast.IfExp) and is_none(only.value.orelse):
            return only.value.test, inside
        return None

    def _decided(self, first: Binding, second: Binding, frame: Frame) -> tuple[ast.expr, Frame] | None:
        """The test that gives a name an object in one branch and None in the other."""
        if not is_none(first.value) and not is_none(second.value):
            return None
        made, none = (second, first) if is_none(first.value) else (first, second)
        context = flow(frame.scope).context
        if not isinstance(made.node, ast.stmt) or not isinstance(none.node, ast.stmt) or is_none(made.value):
            return None
        outer = {id(g.test) for g in context[none.node].guards if made.node in context}
        here = context[made.node].guards if made.node in context else ()
        if len(here) != 1 or not here[0].holds or (outer and outer != {id(here[0].test)}):
            return None
        return here[0].test, frame

    def path(self, stmt: ast.stmt, frame: Frame) -> tuple[Branch, ...]:
        """The tests that were passed to come to a statement, the caller's first."""
        found = dict.fromkeys(frame.path)
        context = flow(frame.scope).context.get(stmt)
        if context is None:
            return tuple(found)
        for guard in context.guards:
            found.update(dict.fromkeys(self.branches(guard.test, guard.holds, frame)))
        for attempt in context.tries:
            for handler in attempt.handlers:
                found[Branch(_place(handler, frame), False)] = None
        for handler in context.handlers:
            found[Branch(_place(handler, frame), True)] = None
        return tuple(found)

    def loops(self, stmt: ast.stmt, frame: Frame) -> tuple[str, ...]:
        context = flow(frame.scope).context.get(stmt)
        return (*frame.loops, *(_place(loop, frame) for loop in (context.loops if context else ())))

    def _me(self, frame: Frame) -> tuple[ast.expr, Frame]:
        """The object whose method a frame runs."""
        args = parameters(frame.scope.node) if isinstance(frame.scope.node, Function) else []
        name = args[0].arg if args else "self"
        return frame.arguments.get(name) or (ast.Name(name), frame)

    def called(self, call: ast.Call, callee: Scope, stmt: ast.stmt, frame: Frame) -> Frame:
        """The frame of a function that a statement calls."""
        assert isinstance(callee.node, Function)
        names = [a.arg for a in parameters(callee.node)]
        given: dict[str, tuple[ast.expr, Frame]] = {}
        method = callee.parent is not None and callee.parent.is_class
        static = any(ast.unparse(d) == "staticmethod" for d in callee.node.decorator_list)
        if method and names and not static:
            me = names.pop(0)
            if isinstance(call.func, ast.Attribute):
                base = call.func.value
                # `super().step()` and `Base.step(self)` act on the object itself
                if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
                    given[me] = self._me(frame)
                else:
                    given[me] = (base, frame)
        for name, arg in zip(names, call.args, strict=False):
            if isinstance(arg, ast.Starred):
                break
            given[name] = (arg, frame)
        given.update({k.arg: (k.value, frame) for k in call.keywords if k.arg})
        label = f"{callee.name}@{call.lineno}."
        site = frame.site or (call, stmt, frame)
        return Frame(callee, given, label, self.path(stmt, frame), self.loops(stmt, frame), frame.depth + 1, site)


def _place(node: ast.stmt | ast.ExceptHandler, frame: Frame) -> str:
    return f"{frame.scope.module.path}:{node.lineno}:{node.col_offset}"
