"""What a call could pass and does not: the optional parameters of its callee, followed through `**kwargs`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import External, Names, Symbol
from dtypelint.facts.python.scope import Function, Scope, defaults, parameters
from dtypelint.facts.python.syntax import argument
from dtypelint.knowledge import Call

_DEPTH = 3


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A parameter that may be left out; a library's has no `default` here."""

    name: str
    function: Scope | None = None
    default: ast.expr | None = None

    @property
    def node(self) -> ast.arg | None:
        """Where the project declares it."""
        function = self.function.node if self.function is not None else None
        several = parameters(function) if isinstance(function, Function) else []
        return next((a for a in several if a.arg == self.name), None)


class Takes:
    """Answers for the calls of one project."""

    def __init__(self, names: Names, calls: Mapping[str, Call]) -> None:
        self.names = names
        self.calls = calls

    def left_out(self, call: ast.Call, scope: Scope) -> dict[str, Taken]:
        """What every callee that a call may have takes and does not get, by name; a `**` of the call is not looked into."""
        if any(isinstance(each, ast.Starred) for each in call.args):
            return {}
        several = [self._of(symbol, call, scope, 0) for symbol in self.callees(call.func, scope)]
        if not several:
            return {}
        return {name: taken for name, taken in several[0].items() if all(name in other for other in several)}

    def callees(self, func: ast.expr, scope: Scope) -> tuple[Symbol, ...]:
        """What a call may call: `super().__init__` is that of the first base that has one."""
        match func:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name) if scope.owner is not None:
                methods = (self.names.method(base, name) for base in self.names.mro(scope.owner)[1:])
                return tuple(m for m in methods if m is not None)[:1]
        return self.names.callees(func, scope)

    def positional(self, call: ast.Call, callee: Scope) -> list[str]:
        """The parameters of a function that a call fills by their place."""
        return _order(callee)[: len(call.args)]

    def _of(self, symbol: Symbol, call: ast.Call, scope: Scope, depth: int) -> dict[str, Taken]:
        if isinstance(symbol, External):
            api = self.calls.get(symbol.path)
            policy = api.extra.get("policy") if api is not None and api.kind == "shard" else None
            if api is None or policy is None or argument(call, policy, api.parameters) is not None:
                return {}
            return {policy: Taken(policy)}
        callee = function_of(symbol, self.names)
        if callee is None or not isinstance(callee.node, Function):
            return {}
        given = {k.arg for k in call.keywords} | set(self.positional(call, callee))
        found = {
            name: Taken(name, callee, default) for name, default in defaults(callee.node).items() if name not in given
        }
        rest = callee.node.args.kwarg
        if rest is not None and depth < _DEPTH:
            for name, taken in self._through(callee, rest.arg, call, scope, depth):
                if name not in given and not any(a.arg == name for a in parameters(callee.node)):
                    found.setdefault(name, taken)
        return found

    def _through(
        self, callee: Scope, rest: str, call: ast.Call, scope: Scope, depth: int
    ) -> Iterator[tuple[str, Taken]]:
        """What the calls take that get the rest of the keywords."""
        for stmt in statements(callee.body):
            for node in expressions(stmt):
                if isinstance(node, ast.Call) and any(_is_rest(k, rest) for k in node.keywords):
                    for symbol in self._inner(node, callee, call, scope):
                        yield from self._of(symbol, node, callee, depth + 1).items()

    def _inner(self, node: ast.Call, callee: Scope, call: ast.Call, scope: Scope) -> tuple[Symbol, ...]:
        """What a function calls: itself, or what it was given to call."""
        if isinstance(node.func, ast.Name) and node.func.id in (order := _order(callee)):
            given = argument(call, node.func.id, order)
            return self.names.symbols(given, scope) if given is not None else ()
        return self.callees(node.func, callee)


def function_of(symbol: Symbol, names: Names) -> Scope | None:
    """The function that runs when something of the project is called."""
    if isinstance(symbol, External):
        return None
    return names.method(symbol, "__init__") if symbol.is_class else symbol if symbol.is_function else None


def _order(callee: Scope) -> list[str]:
    """The parameters that may be given by their place, without the object of a method."""
    assert isinstance(callee.node, Function)
    names = [a.arg for a in (*callee.node.args.posonlyargs, *callee.node.args.args)]
    bound = callee.parent is not None and callee.parent.is_class
    static = any(ast.unparse(d) == "staticmethod" for d in callee.node.decorator_list)
    return names[1:] if bound and not static else names


def _is_rest(keyword: ast.keyword, rest: str) -> bool:
    return keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id == rest
