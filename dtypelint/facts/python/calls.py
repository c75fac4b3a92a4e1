"""Calls of the project's own functions that leave out a precision which the caller holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dtypelint.facts import Form, Role
from dtypelint.facts.arrivals import Omission
from dtypelint.facts.python.flow import Context, flow
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.readable import Readable, at
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults, parameters
from dtypelint.facts.python.syntax import is_none, passed
from dtypelint.facts.python.trace import Tracer

_SPECIFIC = (Role.PARAM, Role.REDUCE, Role.BUFFER, Role.OUTPUT, Role.AUTOCAST, Role.MASTER, Role.GENERAL, Role.FP8)
_REASON = re.compile(r"bf16|bfloat16|fp16|float16|half|fp32|float32|dtype|precision|default", re.IGNORECASE)
_POLICIES = ("mp_policy", "mixed_precision_policy", "policy_mp")


class Omissions:
    """Finds the calls of one module that do not pass on what they hold."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, readable: Readable) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.readable = readable

    def find(self) -> Iterator[Omission]:
        yield from self._roots()
        for function in self.module.functions():
            held = {name for name in flow(function).bindings if self._role(name) is not None}
            if not held:
                continue
            for stmt in statements(function.body):
                for node in expressions(stmt):
                    if isinstance(node, ast.Call):
                        yield from self._missing(node, stmt, function, held)

    def _roots(self) -> Iterator[Omission]:
        """Roots that `fully_shard` gets without the policy that it got for their blocks."""
        if b"mp_policy" not in self.module.tree.data:
            return
        for function in self.module.functions():
            context = flow(function).context
            found = [
                (node, stmt)
                for stmt in statements(function.body)
                for node in expressions(stmt)
                if isinstance(node, ast.Call) and self._shards(node, function)
            ]
            blocks = [(n, s) for n, s in found if _in_loop(context, s) and passed(n, "mp_policy") is not None]
            for node, stmt in found:
                if _in_loop(context, stmt) or not blocks or len(node.args) > 1 or not _is_plain(node, "mp_policy"):
                    continue
                block, inner = blocks[0]
                value = passed(block, "mp_policy")
                outer = {id(g.test) for g in context[stmt].guards}
                shared = outer <= {id(g.test) for g in context[inner].guards}
                if value is not None and shared and isinstance(value, ast.Name | ast.Attribute):
                    source = self.module.tree.source
                    yield Omission(
                        *("mp_policy", source(node.func), source(value), self.module.tree.span(node)),
                        self.module.at(value),
                        None,
                        slot(self.module.tree, node),
                        (),
                        root=True,
                    )

    def _shards(self, call: ast.Call, scope: Scope) -> bool:
        apis = (self.tracer.calls.get(path) for path in self.names.paths(call.func, scope))
        return any(api is not None and api.kind == "shard" and api.family == "fsdp2" for api in apis)

    def _role(self, name: str) -> Role | None:
        if name in _POLICIES:
            return Role.PARAM
        role = self.readable.role(name)
        return role if role in _SPECIFIC else None

    def _missing(self, call: ast.Call, stmt: ast.stmt, function: Scope, held: set[str]) -> Iterator[Omission]:
        if not _is_plain(call, ""):
            return
        callees = self.names.callees(call.func, function)
        if len(callees) != 1 or not isinstance(callees[0], Scope):
            return
        callee = self.names.method(callees[0], "__init__") if callees[0].is_class else callees[0]
        if callee is None or not isinstance(callee.node, Function) or callee is function:
            return
        given = {k.arg for k in call.keywords} | set(self._positional(call, callee))
        before = flow(function).before.get(stmt, {})
        for name, default in defaults(callee.node).items():
            if name not in held or name in given or not is_none(default):
                continue
            bindings = tuple(b for b in before.get(name, ()) if b.kind is not Bound.UNBOUND)
            if len(bindings) != len(before.get(name, ())) or not bindings:
                continue
            if not self._holds(bindings, name) or not self._reads(callee, name) or self._another(call, name):
                continue
            if self._on_purpose(call, callee, name, function):
                continue
            place = slot(self.module.tree, call)
            parameter = next(a for a in parameters(callee.node) if a.arg == name)
            yield Omission(
                name=name,
                callee=self.module.tree.source(call.func),
                text=name,
                span=self.module.tree.span(call),
                held=at(bindings[0]),
                parameter=callee.module.at(parameter),
                slot=place,
                siblings=self._siblings(call),
                guarded=self._guarded(name, stmt, function),
                fills=_fills(callee, name),
                used=name in flow(function).captured or any(flow(function).uses.get(b) for b in bindings),
            )

    def _positional(self, call: ast.Call, callee: Scope) -> Iterator[str]:
        assert isinstance(callee.node, Function)
        names = [a.arg for a in (*callee.node.args.posonlyargs, *callee.node.args.args)]
        bound = callee.parent is not None and callee.parent.is_class
        static = any(ast.unparse(d) == "staticmethod" for d in callee.node.decorator_list)
        if bound and not static:
            names = names[1:]
        yield from names[: len(call.args)]

    def _holds(self, bindings: tuple[Binding, ...], name: str) -> bool:
        """Whether a name holds what a user chose, and not a literal or what a tensor has."""
        found = list(self.readable.named(name, bindings, 1))
        return bool(found) and not any(s.dead and s.form is Form.FLAG for s in found)

    def _reads(self, callee: Scope, name: str) -> bool:
        """Whether the function uses the parameter: a default of None that nobody reads is nothing to pass."""
        state = flow(callee)
        return name in state.captured or any(
            b.kind is Bound.PARAMETER and state.uses.get(b) for b in state.bindings.get(name, ())
        )

    def _another(self, call: ast.Call, name: str) -> bool:
        """Whether the call carries the setting in some other argument already."""
        return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(call))

    def _on_purpose(self, call: ast.Call, callee: Scope, name: str, function: Scope) -> bool:
        """Whether another call of the same function does pass the setting, or a comment speaks of precision."""
        lines = self.module.tree.text.splitlines()[call.lineno - 1 : call.end_lineno]
        if any(_REASON.search(line.partition("#")[2]) for line in lines):
            return True
        target = self.module.tree.source(call.func)
        return any(
            isinstance(node, ast.Call)
            and node is not call
            and self.module.tree.source(node.func) == target
            and (passed(node, name) is not None or name in self._positional(node, callee))
            for stmt in statements(function.body)
            for node in expressions(stmt)
        )

    def _siblings(self, call: ast.Call) -> tuple[str, ...]:
        """What the call passes on under its own name: the sign of a call that forwards."""
        return tuple(
            k.arg
            for k in call.keywords
            if k.arg
            and isinstance(k.value, ast.Name | ast.Attribute)
            and self.module.tree.source(k.value).rpartition(".")[2] == k.arg
        )

    def _guarded(self, name: str, stmt: ast.stmt, function: Scope) -> bool:
        """Whether a test of the setting leads to the call."""
        context = flow(function).context.get(stmt)
        tests = [g.test for g in context.guards] if context else []
        return any(isinstance(n, ast.Name) and n.id == name for test in tests for n in ast.walk(test))


def _in_loop(context: dict[ast.stmt, Context], stmt: ast.stmt) -> bool:
    return stmt in context and bool(context[stmt].loops)


def _is_plain(call: ast.Call, name: str) -> bool:
    """Whether a call leaves out a keyword for sure."""
    spread = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    return not spread and passed(call, name) is None


def _fills(callee: Scope, name: str) -> bool:
    """Whether a function puts a default of its own in the place of None."""
    for node in (n for stmt in statements(callee.body) for n in expressions(stmt)):
        match node:
            case ast.Compare(left=ast.Name(id=held), ops=[ast.Is() | ast.IsNot()]) if held == name:
                return True
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=held), *_]) if held == name:
                return True
    return False
