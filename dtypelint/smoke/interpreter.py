"""Statements of the user's code on the way to a goal: read, branched on and bound, never run."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import header
from dtypelint.facts.python.scope import parameters
from dtypelint.smoke.calls import NULL, Calls
from dtypelint.smoke.expressions import STEPS
from dtypelint.smoke.symbols import Built, Crash, Frame, Knob, Refused, Unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dtypelint.facts.python.scope import Scope
    from dtypelint.smoke.slices import Slices
    from dtypelint.smoke.symbols import Routine

MOST = 32


class Return(Exception):
    """The function returns."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Reached(Exception):
    """The goal has its value, and nothing that follows can change it."""


class Elsewhere(Exception):
    """An empty context stands in the place of the goal."""


class Inner(Exception):
    """The goal lies in a function or class that is defined here."""


class Left(Exception):
    """`break` or `continue` in a loop that is read step by step."""


class Interpreter(Calls):
    """Reads the functions around a goal.

    `follow` names the place that holds the goal's value where later statements change it (`policy`, `self.policy`);
    `lenient` takes the branches around the goal even where their test cannot hold.
    """

    slices: Slices
    lenient = False
    follow = ""
    found: Built | None = None
    inside: ast.AST

    def run(self, scopes: Sequence[Scope]) -> Built:
        """The value of the goal: a Built, or what stands in its place; `scopes` lead to it, the outermost first."""
        frame: Frame | None = None
        try:
            for scope in scopes:
                frame = Frame(scope, {}, frame)
                self.inside = scope.node
                self._parameters(scope, frame)
                self._body(scope, frame)
        except (Reached, Return):
            pass
        assert frame is not None
        return self._result(frame)

    def _result(self, frame: Frame) -> Built:
        if self.found is None:
            raise Unknown("the place is not reached")
        if self.follow:
            held = self.places.get(self.follow) or frame.env.get(self.follow)
            if isinstance(held, Built):
                return held
        return self.found

    def reached(self, value: Built) -> None:
        """Take note of the value of the goal."""
        self.found = value
        if not self.follow:
            raise Reached

    def _parameters(self, scope: Scope, frame: Frame) -> None:
        if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
            for arg in parameters(scope.node):
                frame.env[arg.arg] = Knob(arg.arg)

    def _body(self, scope: Scope, frame: Frame) -> None:
        with suppress(Inner):
            self.block(scope.body, frame)

    def _sliced(self, stmt: ast.stmt, frame: Frame) -> None:
        if self.slices.matters(stmt, self.inside, called=self.depth > 0):
            self.statement(stmt, frame)

    def block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Read the statements of a block that matter."""
        for stmt in body:
            self._sliced(stmt, frame)

    def body(self, routine: Routine, frame: Frame) -> Any:
        """What a function returns, given its frame."""
        if isinstance(routine.node, ast.Lambda):
            return self.value(routine.node.body, frame)
        outer, self.inside = self.inside, routine.node
        try:
            self.block(routine.node.body, frame)
        except Return as returned:
            return returned.value
        finally:
            self.inside = outer
        return None

    def statement(self, stmt: ast.stmt, frame: Frame) -> None:
        """Read one statement."""
        self.steps += 1
        if self.steps > STEPS:
            raise Unknown("too many steps")
        match stmt:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value, frame)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign([target], value, frame)
            case ast.AugAssign(target=target):
                self.bind(target, self.opaque(target), frame)
            case ast.Expr(value=value):
                self._expression(value, frame)
            case ast.If():
                self._if(stmt, frame)
            case ast.Match():
                self._match(stmt, frame)
            case ast.With() | ast.AsyncWith():
                self._with(stmt, frame)
            case ast.Try() | ast.TryStar():
                self._try(stmt, frame)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(stmt, frame)
            case ast.Return(value=value):
                result = self.value(value, frame) if value is not None else None
                raise Return(result)
            case ast.Raise():
                if self.depth or stmt in self.path:
                    raise Refused(f"`{self.text(stmt)}`")
            case ast.Break() | ast.Continue():
                raise Left
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if stmt in self.path:
                for part in header(stmt):
                    if part in self.path:
                        self.value(part, frame)
                raise Inner

    def _assign(self, targets: list[ast.expr], value: ast.expr, frame: Frame) -> None:
        result = self.value(value, frame) if value in self.path else self._soft(value, frame)
        if value is self.goal and self.found is not None:
            result = self.found
        for target in targets:
            self.bind(target, self._named(target, result, frame), frame)

    def _named(self, target: ast.expr, value: Any, frame: Frame) -> Any:
        """A value under the name that it is kept in, where that says more than the call that made it."""
        if isinstance(value, Knob) and "(" in value.path and isinstance(target, ast.Name):
            if len(flow(frame.scope).bindings.get(target.id, ())) == 1:
                return Knob(target.id, value.default)
        return value

    def _soft(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression beside the goal; what cannot be evaluated becomes a knob."""
        try:
            return self.value(node, frame)
        except Refused:
            raise
        except Unknown:
            return self.opaque(node)

    def _expression(self, node: ast.expr, frame: Frame) -> None:
        if node in self.path:
            self.value(node, frame)
        elif isinstance(node, ast.Call):
            self._soft(node, frame)

    def _if(self, stmt: ast.If, frame: Frame) -> None:
        for block, holds in ((stmt.body, True), (stmt.orelse, False)):
            if any(each in self.path for each in block):
                self._assume(stmt.test, holds, frame)
                return self.block(block, frame)
        if stmt.test in self.path:
            self.value(stmt.test, frame)
        return self.block(stmt.body if self.knobs.truth(self._soft(stmt.test, frame)) else stmt.orelse, frame)

    def _assume(self, test: ast.expr, holds: bool, frame: Frame) -> None:
        """Refuse the choices under which a branch that holds the goal is not taken; a test that is unknown is taken."""
        value = self._soft(test, frame)
        if isinstance(value, Knob) or self.lenient:
            self.knobs.assumed[f"`{self.text(test)}` is {'true' if holds else 'false'}"] = None
        elif self.knobs.truth(value) is not holds:
            raise Refused("the branch is not taken")

    def choice(self, node: ast.IfExp, frame: Frame) -> Any:
        """One side of a conditional expression; an empty context in the place of the goal ends the reading."""
        value = super().choice(node, frame)
        if node in self.path and self.found is None:
            if value == NULL:
                raise Elsewhere
            raise Refused("the place is not reached")
        return value

    def _match(self, stmt: ast.Match, frame: Frame) -> None:
        for case in stmt.cases:
            if any(each in self.path for each in case.body):
                self.knobs.assumed[f"`case {ast.unparse(case.pattern)}` is taken"] = None
                return self.block(case.body, frame)
        subject = self._soft(stmt.subject, frame)
        for case in stmt.cases:
            if case.guard is None and self._fits(case.pattern, subject, frame):
                return self.block(case.body, frame)
        return None

    def _fits(self, pattern: ast.pattern, subject: Any, frame: Frame) -> bool:
        match pattern:
            case ast.MatchValue(value=value):
                return self.knobs.equals(subject, self._soft(value, frame)) is True
            case ast.MatchSingleton(value=single):
                return self.knobs.equals(subject, single) is True
            case ast.MatchOr(patterns=patterns):
                return any(self._fits(each, subject, frame) for each in patterns)
            case ast.MatchAs(pattern=None, name=name):
                if name:
                    frame.env[name] = subject
                return True
        return False

    def _with(self, stmt: ast.With | ast.AsyncWith, frame: Frame) -> None:
        for item in stmt.items:
            if item in self.path:
                self.value(item.context_expr, frame)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, self.opaque(item.optional_vars), frame)
        self.block(stmt.body, frame)

    def _try(self, stmt: ast.Try | ast.TryStar, frame: Frame) -> None:
        for handler in stmt.handlers:
            if handler in self.path:
                self.knobs.assumed["an exception is caught"] = None
                return self.block(handler.body, frame)
        self.block(stmt.body, frame)
        self.block(stmt.orelse, frame)
        return self.block(stmt.finalbody, frame)

    def _loop(self, stmt: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> None:
        if stmt in self.path:
            if isinstance(stmt, ast.While):
                if stmt.test in self.path:
                    self.value(stmt.test, frame)
            elif stmt.iter in self.path:
                self.value(stmt.iter, frame)
            else:
                self.bind(stmt.target, self._first(stmt, frame), frame)
            try:
                return self.block([*stmt.body, *stmt.orelse], frame)
            except Left:
                raise Unknown("the loop is left before the place") from None
        items = self._soft(stmt.iter, frame) if isinstance(stmt, ast.For) else None
        if isinstance(stmt, ast.For) and isinstance(items, dict | list | tuple) and len(items) <= MOST:
            return self._unroll(stmt, list(items), frame)
        for name in self.slices.written(stmt):
            if name in frame.env and "." not in name:
                frame.env[name] = Knob(name)
        return None

    def _first(self, stmt: ast.For | ast.AsyncFor, frame: Frame) -> Any:
        items = self._soft(stmt.iter, frame)
        return items[0] if isinstance(items, list | tuple) and items else self.opaque(stmt.target)

    def _unroll(self, stmt: ast.For, items: list[Any], frame: Frame) -> None:
        for item in items:
            self.bind(stmt.target, item, frame)
            try:
                self.block(stmt.body, frame)
            except Left:
                continue

    def assign_member(self, owner: Any, name: str, value: Any) -> None:
        """Assign an attribute of a value; a frozen policy refuses it."""
        if isinstance(owner, Built):
            if owner.call.frozen:
                raise Crash("FrozenInstanceError")
            owner.fields[name] = value
        else:
            super().assign_member(owner, name, value)
