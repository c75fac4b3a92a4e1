"""Calls of one function that do the same, of which some pass a precision and others leave it out."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dtypelint.facts import Role
from dtypelint.facts.arrivals import Held, Omission
from dtypelint.facts.python.flow import Guard, flow
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.readable import last
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import argument, passed
from dtypelint.knowledge import Call


@dataclass(frozen=True, slots=True, eq=False)
class _Twin:
    """A call with its statement; `takes` is the parameter in question where a library's table names it."""

    call: ast.Call
    stmt: ast.stmt
    takes: str = ""
    order: tuple[str, ...] = ()


class Twins:
    """Finds them in one module; `role` tells what a parameter's dtype is for."""

    def __init__(
        self, module: Module, names: Names, calls: Mapping[str, Call], role: Callable[[str], Role | None]
    ) -> None:
        self.module = module
        self.names = names
        self.calls = calls
        self.role = role

    def find(self) -> Iterator[Omission]:
        for function in self.module.functions():
            for several in self._groups(function).values():
                if len(several) > 1:
                    yield from self._uneven(several, function)

    def _groups(self, function: Scope) -> dict[str, list[_Twin]]:
        """The calls of a function by what they call: a sharding wrapper by the library's table, others by their text."""
        found: dict[str, list[_Twin]] = defaultdict(list)
        for stmt in statements(function.body):
            for node in expressions(stmt):
                if isinstance(node, ast.Call):
                    api = self._shards(node, function)
                    if api is not None:
                        twin = _Twin(node, stmt, api.extra["policy"], api.parameters)
                        found[f"{api.kind} {api.family}"].append(twin)
                    elif not (self._is_builtin(node.func, function) or _is_asked(node.func)):
                        found[ast.unparse(node.func)].append(_Twin(node, stmt))
        return found

    def _is_builtin(self, func: ast.expr, scope: Scope) -> bool:
        """Whether a builtin is called: what a `dict(…)` is for stands elsewhere."""
        return any(path.startswith("builtins.") for path in self.names.paths(func, scope))

    def _shards(self, call: ast.Call, scope: Scope) -> Call | None:
        """The wrapper that a call, or a partial of it, applies."""
        paths = self.names.paths(call.func, scope)
        if "functools.partial" in paths and call.args:
            paths = self.names.paths(call.args[0], scope)
        apis = (self.calls.get(path) for path in paths)
        return next((a for a in apis if a is not None and a.kind == "shard" and a.extra.get("policy")), None)

    def _uneven(self, several: list[_Twin], function: Scope) -> Iterator[Omission]:
        named = {k.arg for twin in several if not twin.takes for k in twin.call.keywords if k.arg}
        for name in sorted(named | {twin.takes for twin in several if twin.takes}):
            if self.role(name) in (None, Role.GENERAL):
                continue
            full = [t for t in several if self._is_setting(_given(t, name), function)]
            short = [t for t in several if self._lacks(t, name, full)]
            for twin in short:
                found = self._omission(twin, name, full, short, several, function)
                if found is not None:
                    yield found

    def _lacks(self, twin: _Twin, name: str, full: list[_Twin]) -> bool:
        """Whether a call leaves out an argument for sure: a `**` that a twin has beside it does not hold it."""
        spread = {ast.unparse(k.value) for k in twin.call.keywords if k.arg is None}
        beside = [{ast.unparse(k.value) for k in t.call.keywords if k.arg is None} for t in full]
        known = not spread or any(spread <= each for each in beside)
        return known and _given(twin, name) is None and not any(isinstance(a, ast.Starred) for a in twin.call.args)

    def _omission(
        self,
        twin: _Twin,
        name: str,
        full: list[_Twin],
        short: list[_Twin],
        several: list[_Twin],
        function: Scope,
    ) -> Omission | None:
        context = flow(function).context
        for other in full:
            value = _given(other, name)
            assert value is not None
            text = self.module.tree.source(value)
            if not self._is_there(value, twin.stmt, function):
                continue
            tests = [ast.unparse(g.test) for t in (twin, other) for g in context[t.stmt].guards]
            if any(text in test or name in test for test in tests):
                continue
            alike = [t for t in full if self.module.tree.source(_given(t, name) or t.call) == text]
            opposed = _are_arms(context[twin.stmt].guards, context[other.stmt].guards)
            if not twin.takes and len(alike) < 2 and not (opposed and len(several) == 2):
                continue
            made = Omission(
                name=name,
                callee=self.module.tree.source(twin.call.func),
                text=text,
                span=self.module.tree.span(twin.call),
                held=self.module.at(value),
                how=Held.TWIN,
                role=self.role(name) or Role.GENERAL,
                slot=slot(self.module.tree, twin.call),
                used=len(short) > 1 or (len(alike) < 2 and not opposed),
            )
            if twin.takes and self._is_root(twin, other, function):
                return replace(made, how=Held.BLOCKS)
            return made
        return None

    def _is_setting(self, value: ast.expr | None, function: Scope) -> bool:
        """Whether a value is read from a setting, and no literal: `torch.bfloat16` is one of a library."""
        if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
            return False
        return self.role(last(value)) is not None and not self.names.symbols(value, function)

    def _is_root(self, root: _Twin, block: _Twin, function: Scope) -> bool:
        """Whether one call shards the whole model whose blocks another one shards in a loop."""
        context = flow(function).context
        return bool(context[block.stmt].loops) and not context[root.stmt].loops

    def _is_there(self, value: ast.expr, stmt: ast.stmt, function: Scope) -> bool:
        """Whether the value can be read at a statement as it is where it is passed."""
        before = flow(function).before[stmt]
        own = flow(function).bindings
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and node.id in own:
                bound = before.get(node.id, ())
                if not bound or any(b.kind is Bound.UNBOUND for b in bound) or set(bound) != set(own[node.id]):
                    return False
        return True


def _is_asked(func: ast.expr) -> bool:
    """Whether a class is asked of an object, `weight.__class__` or `type(weight)`: it is another one on another path."""
    return isinstance(func, ast.Call) or (isinstance(func, ast.Attribute) and func.attr == "__class__")


def _given(twin: _Twin, name: str) -> ast.expr | None:
    return argument(twin.call, name, twin.order) if twin.order else passed(twin.call, name)


def _are_arms(first: tuple[Guard, ...], second: tuple[Guard, ...]) -> bool:
    """Whether two statements stand in the two arms of one `if`."""
    tests = {id(guard.test): guard.holds for guard in first}
    return any(tests.get(id(guard.test), guard.holds) != guard.holds for guard in second)
