"""Calls that leave out an optional precision which the caller holds: as a local, or in the object that it forwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from dtypelint.facts import Form, Role
from dtypelint.facts.arrivals import Held, Omission
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.holdings import Holdings
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.readable import Readable, at, base_of, last
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.facts.python.syntax import is_none, last_name, passed
from dtypelint.facts.python.takes import Taken, Takes, function_of
from dtypelint.finding import Location

_SPECIFIC = (Role.PARAM, Role.REDUCE, Role.BUFFER, Role.OUTPUT, Role.AUTOCAST, Role.MASTER, Role.GENERAL, Role.FP8)
_REASON = re.compile(r"bf16|bfloat16|fp16|float16|half|fp32|float32|dtype|precision|default", re.IGNORECASE)
_POLICIES = ("mp_policy", "mixed_precision_policy", "policy_mp")
_FILES = 40


class Omissions:
    """Finds the calls of one module that do not pass on what they hold."""

    def __init__(self, module: Module, names: Names, readable: Readable, takes: Takes, holdings: Holdings) -> None:
        self.module = module
        self.names = names
        self.readable = readable
        self.takes = takes
        self.holdings = holdings
        self.roles = readable.tracer.roles
        self.held = cache(self._held)

    def find(self) -> Iterator[Omission]:
        for call, stmt, scope in self.module.calls:
            held = self.held(scope)
            sources = self.holdings.sources(call, scope) if not scope.is_class else {}
            if not held and not sources:
                continue
            for name, taken in self.takes.left_out(call, scope).items():
                if self.role(name) is None or self._on_purpose(call, taken, scope):
                    continue
                found = self._by_name(call, stmt, scope, taken) if name in held else None
                found = found or next(self._by_object(call, stmt, scope, taken, sources), None)
                if found is not None:
                    yield found

    def _held(self, scope: Scope) -> frozenset[str]:
        """The locals of a function whose name says that they are about precision."""
        names = flow(scope).bindings if scope.is_function else ()
        return frozenset(name for name in names if self.role(name) is not None)

    def role(self, name: str) -> Role | None:
        if name in _POLICIES:
            return Role.PARAM
        role = self.readable.role(name)
        return role if role in _SPECIFIC else None

    # held under the same name

    def _by_name(self, call: ast.Call, stmt: ast.stmt, scope: Scope, taken: Taken) -> Omission | None:
        name = taken.name
        if taken.function in (None, scope) or not is_none(taken.default) or not _is_plain(call):
            return None
        before = flow(scope).before.get(stmt, {}).get(name, ())
        bindings = tuple(b for b in before if b.kind is not Bound.UNBOUND)
        if len(bindings) != len(before) or not bindings or not self._holds(bindings, name) or _mentions(call, name):
            return None
        used = name in flow(scope).captured or any(flow(scope).uses.get(b) for b in bindings)
        return self._made(call, stmt, scope, taken, Held.NAME, name, at(bindings[0]), used)

    def _holds(self, bindings: tuple[Binding, ...], name: str) -> bool:
        """Whether a name holds what a user chose, and not a literal or what a tensor has."""
        found = list(self.readable.named(name, bindings, 1))
        return bool(found) and not any(s.dead and s.form is Form.FLAG for s in found)

    # held by the object whose other fields the call forwards

    def _by_object(
        self,
        call: ast.Call,
        stmt: ast.stmt,
        scope: Scope,
        taken: Taken,
        sources: dict[str, list[tuple[str, ast.expr]]],
    ) -> Iterator[Omission]:
        if taken.default is not None and not _is_switch(taken.default):
            return
        for text, forwarded in sources.items():
            base = base_of(forwarded[0][1])
            assert base is not None
            for name, where in self._fields(base, taken, scope):
                if _mentions(call, name) or _mentions(call, taken.name):
                    continue
                read = f"{text}.{name}" if isinstance(forwarded[0][1], ast.Attribute) else f'{text}["{name}"]'
                used = self._reads(scope, text, name, call)
                made = self._made(call, stmt, scope, taken, Held.OBJECT, read, where, used)
                if made is not None:
                    yield made

    def _fields(self, base: ast.expr, taken: Taken, scope: Scope) -> Iterator[tuple[str, Location]]:
        """The fields of an object that a parameter could be filled from, the same name first."""

        def fits(name: str) -> bool:
            if taken.function is None:
                return self.roles.names_policy(name)
            return name == taken.name or self.roles.alike(name, taken.name)

        found = dict(reversed(list(self.holdings.find(base, fits, scope))))
        if not found and (place := self.holdings.elsewhere(base, taken.name, scope)) is not None:
            found[taken.name] = place
        yield from sorted(found.items(), key=lambda each: each[0] != taken.name)

    def _reads(self, scope: Scope, text: str, name: str, call: ast.Call) -> bool:
        """Whether a function reads a field of an object beside a call."""
        inside = set(map(id, ast.walk(call)))
        return any(
            last(node) == name and (base := base_of(node)) is not None and ast.unparse(base) == text
            for stmt in statements(scope.body)
            for node in expressions(stmt)
            if id(node) not in inside
        )

    # what stands around the call

    def _made(
        self,
        call: ast.Call,
        stmt: ast.stmt,
        scope: Scope,
        taken: Taken,
        how: Held,
        text: str,
        held: Location,
        used: bool,
    ) -> Omission | None:
        callee = taken.function
        if callee is not None and not _is_read(callee, taken.name):
            return None
        parameter = taken.node
        return Omission(
            name=taken.name,
            callee=self.module.tree.source(call.func),
            text=text,
            span=self.module.tree.span(call),
            held=held,
            how=how,
            role=self.role(taken.name) or Role.GENERAL,
            parameter=callee.module.at(parameter) if callee is not None and parameter is not None else None,
            default=ast.unparse(taken.default) if taken.default is not None else "None",
            slot=slot(self.module.tree, call),
            siblings=self._siblings(call),
            guarded=self._guarded(last_name(ast.parse(text, mode="eval").body) or taken.name, stmt, scope),
            fills=callee is not None and _fills(callee, taken.name),
            used=used,
            open=not _is_plain(call),
            others=self._others(call, taken),
        )

    def _others(self, call: ast.Call, taken: Taken) -> Location | None:
        """Another call of the same function that is given a setting of this name."""
        if taken.function is None:
            return None
        owner = taken.function.owner if taken.function.name == "__init__" else taken.function
        name = owner.name if owner is not None else taken.function.name
        for path in self.names.modules.files_with(name, taken.name)[:_FILES]:
            module = self.names.modules.module(path)
            for node, _, where in module.calls if module is not None else ():
                value = passed(node, taken.name)
                if value is None or node is call or last(value) != taken.name or isinstance(value, ast.Name):
                    continue
                symbols = self.takes.callees(node.func, where)
                if any(function_of(symbol, self.names) is taken.function for symbol in symbols):
                    return module.at(value) if module is not None else None
        return None

    def _on_purpose(self, call: ast.Call, taken: Taken, scope: Scope) -> bool:
        """Whether another call of the same function does pass the setting, or a comment speaks of precision."""
        lines = self.module.tree.text.splitlines()[call.lineno - 1 : call.end_lineno]
        if any(_REASON.search(line.partition("#")[2]) for line in lines):
            return True
        target = self.module.tree.source(call.func)
        return any(
            isinstance(node, ast.Call)
            and node is not call
            and self.module.tree.source(node.func) == target
            and (
                passed(node, taken.name) is not None
                or (taken.function is not None and taken.name in self.takes.positional(node, taken.function))
            )
            for stmt in statements(scope.body)
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

    def _guarded(self, name: str, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether a test of the setting leads to the call."""
        context = flow(scope).context.get(stmt)
        tests = [g.test for g in context.guards] if context else []
        return any(last(n) == name for test in tests for n in ast.walk(test) if isinstance(n, ast.expr))


def _is_plain(call: ast.Call) -> bool:
    """Whether a call leaves out a keyword for sure."""
    return not any(isinstance(a, ast.Starred) for a in call.args) and not any(k.arg is None for k in call.keywords)


def _is_switch(default: ast.expr) -> bool:
    """Whether a default is None or a flag."""
    return isinstance(default, ast.Constant) and (default.value is None or isinstance(default.value, bool))


def _mentions(call: ast.Call, name: str) -> bool:
    """Whether a call carries a setting in some other argument already."""
    return any(last(n) == name for n in ast.walk(call) if isinstance(n, ast.expr))


def _is_read(callee: Scope, name: str) -> bool:
    """Whether a function uses a parameter: a default that nobody reads is nothing to pass."""
    state = flow(callee)
    return name in state.captured or any(
        b.kind is Bound.PARAMETER and state.uses.get(b) for b in state.bindings.get(name, ())
    )


def _fills(callee: Scope, name: str) -> bool:
    """Whether a function puts a default of its own in the place of None."""
    for node in (n for stmt in statements(callee.body) for n in expressions(stmt)):
        match node:
            case ast.Compare(left=ast.Name(id=held), ops=[ast.Is() | ast.IsNot()]) if held == name:
                return True
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=held), *_]) if held == name:
                return True
    return False
