"""Which definition reaches a use, and what must have held to come to a statement.

One structural pass over the statements of a scope: branches join, loops run twice (enough for a union of definitions), a
`return`, `raise`, `break` or `continue` ends its path, a handler sees every state of its `try` body.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, bindings_of, parameters, patterns, targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Env = dict[str, tuple[Binding, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A condition that dominates a statement, and whether it holds there."""

    test: ast.expr
    holds: bool


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What stands around a statement inside its scope, outermost first."""

    guards: tuple[Guard, ...] = ()
    items: tuple[ast.withitem, ...] = ()
    loops: tuple[ast.stmt, ...] = ()
    tries: tuple[ast.Try | ast.TryStar, ...] = ()
    handlers: tuple[ast.ExceptHandler, ...] = ()


@dataclass(slots=True, eq=False)
class Flow:
    """The result of the pass over one scope."""

    reaching: dict[ast.Name, tuple[Binding, ...]] = field(default_factory=dict)
    before: dict[ast.stmt, Env] = field(default_factory=dict)
    context: dict[ast.stmt, Context] = field(default_factory=dict)
    order: dict[ast.stmt, int] = field(default_factory=dict)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    nested: list[ast.AST] = field(default_factory=list)
    outer: set[str] = field(default_factory=set)
    uses: dict[Binding, list[ast.Name]] = field(default_factory=lambda: defaultdict(list))
    after: Env | None = None
    _captured: set[str] | None = None

    @property
    def captured(self) -> set[str]:
        """The names that a nested function, class or lambda may read later."""
        if self._captured is None:
            self._captured = {n.id for node in self.nested for n in ast.walk(node) if isinstance(n, ast.Name)}
        return self._captured


def flow(scope: Scope) -> Flow:
    """The flow of a scope, made once."""
    if scope.flow is None:
        scope.flow = _Pass(scope).run()
    return scope.flow


class _Pass:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.out = Flow()
        self.ctx = Context()
        self.env: Env | None = {}
        self.no_value: dict[str, Binding] = {}
        self.known: dict[tuple[ast.AST, str, tuple[int | str, ...]], Binding] = {}
        self.breaks: list[list[Env]] = []
        self.continues: list[list[Env]] = []
        self.raised: list[list[Env]] = []
        self.ends: list[Env] = []

    def run(self) -> Flow:
        node = self.scope.node
        if isinstance(node, Function):
            for arg in parameters(node):
                self.assign(Binding(arg.arg, Bound.PARAMETER, arg, self.scope, annotation=arg.annotation))
        self.block(node.body)
        self.out.after = self.join(self.env, *self.ends)
        for name, found in self.out.reaching.items():
            for binding in found:
                self.out.uses[binding].append(name)
        return self.out

    def join(self, *states: Env | None) -> Env | None:
        """The union of what several paths know; None is a path that does not get here."""
        alive = [s for s in states if s is not None]
        if not alive:
            return None
        first = alive[0]
        if all(s is first for s in alive):
            return first
        out: Env = {}
        for name in dict.fromkeys(n for s in alive for n in s):
            found: dict[Binding, None] = {}
            for state in alive:
                found.update(dict.fromkeys(state.get(name) or (self.unbound(name),)))
            out[name] = tuple(found)
        return out

    def unbound(self, name: str) -> Binding:
        return self.no_value.setdefault(name, Binding(name, Bound.UNBOUND, self.scope.node, self.scope))

    # statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        outer = self.ctx
        for stmt in body:
            if self.env is None:
                # unreachable code still gets facts, from nowhere
                self.env = {}
                self.stmt(stmt)
                self.env = None
                continue
            self.stmt(stmt)
            if isinstance(stmt, ast.If) and self.env is not None:
                ended = self._ends(stmt.body)
                if ended != self._ends(stmt.orelse):
                    self.ctx = self._guarded(stmt.test, not ended)
            elif isinstance(stmt, ast.Assert):
                self.ctx = self._guarded(stmt.test, True)
        self.ctx = outer

    def _guarded(self, test: ast.expr, holds: bool) -> Context:
        c = self.ctx
        return Context((*c.guards, Guard(test, holds)), c.items, c.loops, c.tries, c.handlers)

    def _ends(self, body: Sequence[ast.stmt]) -> bool:
        """Whether a block never falls through to what follows it."""
        if not body:
            return False
        last = body[-1]
        if isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return True
        if isinstance(last, ast.If):
            return self._ends(last.body) and self._ends(last.orelse)
        if isinstance(last, ast.With | ast.AsyncWith):
            return self._ends(last.body)
        return False

    def stmt(self, stmt: ast.stmt) -> None:
        assert self.env is not None
        self.out.before[stmt] = self.env
        self.out.context[stmt] = self.ctx
        self.out.order.setdefault(stmt, len(self.out.order))
        match stmt:
            case ast.If():
                self.branches([(stmt.test, stmt.body, stmt.orelse)])
            case ast.For() | ast.AsyncFor():
                self.expr(stmt.iter)
                self.loop(stmt, None)
            case ast.While():
                self.loop(stmt, stmt.test)
            case ast.With() | ast.AsyncWith():
                for item in stmt.items:
                    self.expr(item.context_expr)
                self.bind(stmt)
                outer = self.ctx
                self.ctx = Context(outer.guards, (*outer.items, *stmt.items), outer.loops, outer.tries, outer.handlers)
                self.block(stmt.body)
                self.ctx = outer
            case ast.Try() | ast.TryStar():
                self.attempt(stmt)
            case ast.Match():
                self.match(stmt)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.exprs([*stmt.decorator_list, *stmt.args.defaults, *(d for d in stmt.args.kw_defaults if d)])
                self.out.nested.append(stmt)
                self.bind(stmt)
            case ast.ClassDef():
                self.exprs([*stmt.decorator_list, *stmt.bases, *(k.value for k in stmt.keywords)])
                self.out.nested.append(stmt)
                self.bind(stmt)
            case ast.Return():
                if stmt.value is not None:
                    self.expr(stmt.value)
                self.leave()
                self.env = None
            case ast.Raise():
                self.exprs([e for e in (stmt.exc, stmt.cause) if e is not None])
                self.env = None
            case ast.Break() | ast.Continue():
                stack = self.breaks if isinstance(stmt, ast.Break) else self.continues
                if stack:
                    stack[-1].append(self.env)
                self.env = None
            case ast.AugAssign():
                self.expr(stmt.value)
                self.load(stmt.target)
                self.bind(stmt)
            case _:
                for child in ast.iter_child_nodes(stmt):
                    if isinstance(child, ast.expr):
                        self.expr(child)
                self.bind(stmt)
        for states in self.raised:
            if self.env is not None:
                states.append(self.env)

    def leave(self) -> None:
        assert self.env is not None
        self.ends.append(self.env)

    def branches(self, arms: list[tuple[ast.expr, list[ast.stmt], list[ast.stmt]]]) -> None:
        for test, body, orelse in arms:
            self.expr(test)
            start, outer = self.env, self.ctx
            self.ctx = self._guarded(test, True)
            self.block(body)
            first = self.env
            self.env, self.ctx = start, outer
            if orelse:
                self.ctx = self._guarded(test, False)
                self.block(orelse)
            self.env, self.ctx = self.join(first, self.env), outer

    def loop(self, stmt: ast.For | ast.AsyncFor | ast.While, test: ast.expr | None) -> None:
        entry, outer = self.env, self.ctx
        state = entry
        self.breaks.append([])
        for _ in range(2):
            self.breaks[-1].clear()
            self.continues.append([])
            self.env = state
            if test is not None:
                self.expr(test)
            else:
                self.bind(stmt)
            guards = (*outer.guards, Guard(test, True)) if test is not None else outer.guards
            self.ctx = Context(guards, outer.items, (*outer.loops, stmt), outer.tries, outer.handlers)
            self.block(stmt.body)
            state = self.join(entry, self.env, *self.continues.pop())
        self.ctx = outer
        self.env = state
        if test is not None and isinstance(test, ast.Constant) and test.value:
            self.env = None
        if stmt.orelse:
            if self.env is None:
                self.env = state
            self.block(stmt.orelse)
        self.env = self.join(self.env, *self.breaks.pop())

    def attempt(self, stmt: ast.Try | ast.TryStar) -> None:
        outer = self.ctx
        entry = self.env
        assert entry is not None
        self.raised.append([entry])
        self.ctx = Context(outer.guards, outer.items, outer.loops, (*outer.tries, stmt), outer.handlers)
        self.block(stmt.body)
        self.ctx = outer
        normal = self.env
        caught = self.join(*self.raised.pop())
        if stmt.orelse and normal is not None:
            self.block(stmt.orelse)
            normal = self.env
        ways = [normal]
        for handler in stmt.handlers:
            self.env = caught
            if handler.type is not None:
                self.expr(handler.type)
            if handler.name:
                self.assign(Binding(handler.name, Bound.EXCEPT, handler, self.scope))
            self.ctx = Context(outer.guards, outer.items, outer.loops, outer.tries, (*outer.handlers, handler))
            self.block(handler.body)
            self.ctx = outer
            ways.append(self.env)
        self.env = self.join(*ways)
        if stmt.finalbody:
            # an exception comes through here too, and goes on from there: what follows sees only the other ways
            alive = self.env
            if alive is not None:
                self.block(stmt.finalbody)
            after = self.env
            self.env = self.join(alive, caught)
            self.block(stmt.finalbody)
            self.env = after

    def match(self, stmt: ast.Match) -> None:
        self.expr(stmt.subject)
        start, outer = self.env, self.ctx
        ways: list[Env | None] = []
        whole = False
        for case in stmt.cases:
            self.env = start
            self.ctx = self._guarded(_pattern_test(stmt.subject, case), True)
            for name in patterns(case.pattern):
                self.assign(Binding(name, Bound.MATCH, case.pattern, self.scope, stmt.subject))
            for node in ast.walk(case.pattern):
                if isinstance(node, ast.MatchValue):
                    self.expr(node.value)
            if case.guard is not None:
                self.expr(case.guard)
            whole |= isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
            self.block(case.body)
            ways.append(self.env)
            self.ctx = outer
        self.env = self.join(*ways, None if whole else start)

    # names

    def assign(self, binding: Binding) -> None:
        if self.env is None:
            self.env = {}
        key = (binding.node, binding.name, binding.path)
        known = self.known.setdefault(key, binding)
        if known is binding and binding.kind is not Bound.DELETE:
            self.out.bindings.setdefault(binding.name, []).append(binding)
        self.env = {**self.env, binding.name: (self.unbound(binding.name) if binding.kind is Bound.DELETE else known,)}

    def bind(self, stmt: ast.stmt) -> None:
        if isinstance(stmt, ast.Global | ast.Nonlocal):
            self.out.outer.update(stmt.names)
        for binding in bindings_of(stmt, self.scope):
            if binding.name not in self.out.outer:
                self.assign(binding)

    def load(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and self.env is not None and node.id in self.env:
            found = self.env[node.id]
            before = self.out.reaching.get(node, ())
            self.out.reaching[node] = tuple(dict.fromkeys((*before, *found))) if before else found
        elif isinstance(node, ast.Attribute | ast.Subscript):
            self.expr(node)

    def exprs(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self.expr(node)

    def expr(self, node: ast.AST) -> None:
        match node:
            case ast.Name():
                if isinstance(node.ctx, ast.Load):
                    self.load(node)
            case ast.NamedExpr():
                self.expr(node.value)
                if node.target.id not in self.out.outer:
                    self.assign(Binding(node.target.id, Bound.ASSIGN, node, self.scope, node.value))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                self.comprehension(node.generators, [node.elt])
            case ast.DictComp():
                self.comprehension(node.generators, [node.key, node.value])
            case ast.Lambda():
                self.exprs([*node.args.defaults, *(d for d in node.args.kw_defaults if d)])
                self.out.nested.append(node)
                outer = self.env
                if outer is not None:
                    self.env = {k: v for k, v in outer.items() if k not in {a.arg for a in parameters(node)}}
                    self.expr(node.body)
                self.env = outer
            case ast.Constant():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    self.expr(child)

    def comprehension(self, generators: list[ast.comprehension], results: list[ast.expr]) -> None:
        outer = self.env
        bound: set[str] = set()
        for generator in generators:
            self.expr(generator.iter)
            for name, path in targets(generator.target):
                self.assign(Binding(name.id, Bound.LOOP, generator, self.scope, generator.iter, path=path))
                bound.add(name.id)
            self.exprs(generator.ifs)
        self.exprs(results)
        if outer is not None and self.env is not None:
            # a walrus inside a comprehension binds in the scope around it
            kept = {name: found for name, found in self.env.items() if name not in bound}
            self.env = kept | {name: found for name, found in outer.items() if name in bound}


def _pattern_test(subject: ast.expr, case: ast.match_case) -> ast.expr:
    """A case as the comparison that it stands for, so that guards are expressions everywhere."""
    values = [n.value for n in ast.walk(case.pattern) if isinstance(n, ast.MatchValue)]
    test = ast.Compare(left=subject, ops=[ast.Eq() for _ in values], comparators=values) if values else subject
    return ast.copy_location(test, subject)
