"""The environment variables that a module writes, and the readers that ran before."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dtypelint.facts.config.environment import Write
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.targets import Targets
from dtypelint.finding import Related, Span
from dtypelint.knowledge import Call

ENVIRON = External("os.environ")
SETTERS = ("setdefault", "__setitem__")


class Writes:
    """Finds them; `calls` are the constructors of the tables, of which some look variables up (`asks`)."""

    def __init__(self, module: Module, names: Names, calls: Mapping[str, Call], targets: Targets) -> None:
        self.module = module
        self.names = names
        self.calls = calls
        self.targets = targets

    def find(self) -> Iterator[Write]:
        """Every variable that is written under a name that stands in the text."""
        text = self.module.tree.text
        if "environ" not in text and "putenv" not in text:
            return
        for stmt, scope in self.module.statements():
            for name, value in self._written(stmt, scope):
                literal = value.value if isinstance(value, ast.Constant) else None
                yield Write(
                    str(name.value),
                    self._inner(name),
                    literal if isinstance(literal, str) else None,
                    self._inner(value),
                    self._late(str(name.value), stmt, scope),
                )

    def _written(self, stmt: ast.stmt, scope: Scope) -> Iterator[tuple[ast.Constant, ast.expr]]:
        if isinstance(stmt, ast.Assign):
            for target in stmt.targets:
                match target:
                    case ast.Subscript(value=base, slice=ast.Constant(value=str()) as name) if self._is(base, scope):
                        yield name, stmt.value
        for node in expressions(stmt):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=base, attr=attr), args=[ast.Constant(value=str()) as name, value]
                ):
                    if (attr in SETTERS and self._is(base, scope)) or (attr == "putenv" and ast.unparse(base) == "os"):
                        yield name, value
                case ast.Call(func=ast.Attribute(value=base, attr="update"), args=args, keywords=_):
                    if args and isinstance(args[0], ast.Dict) and self._is(base, scope):
                        for key, value in zip(args[0].keys, args[0].values, strict=True):
                            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                                yield key, value

    def _is(self, node: ast.expr, scope: Scope) -> bool:
        return ENVIRON in self.names.symbols(node, scope)

    def _inner(self, node: ast.expr) -> Span:
        """The span of a string without its quotes, of anything else as it is."""
        span = self.module.tree.span(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = self.module.tree.source(node)
            if len(text) == len(node.value) + 2:
                return Span(span.start + 1, span.end - 1)
        return span

    def _late(self, name: str, stmt: ast.stmt, scope: Scope) -> Related | None:
        """The call before a write, on every path to it, that has looked the variable up already."""
        if not name.startswith("ACCELERATE_"):
            return None
        state = flow(scope)
        here = state.context.get(stmt)
        for other in statements(scope.body):
            there = state.context.get(other)
            if here is None or there is None or other is stmt or state.order[other] >= state.order[stmt]:
                continue
            if here.loops or there.loops or here.guards[: len(there.guards)] != there.guards:
                continue
            for node in expressions(other):
                reader = self._reader(node, scope, name) if isinstance(node, ast.Call) else None
                if reader is not None:
                    return Related(self.module.at(node), f"`{reader.name}` has read the environment here")
        return None

    def _reader(self, node: ast.Call, scope: Scope, name: str) -> Call | None:
        """The constructor that a call is of, where it looks a variable up."""
        paths = self.names.paths(node.func, scope)
        classes = self.names.class_symbols(node.func, scope)
        for path in (*paths, *(base for each in classes for base in self.names.bases(each))):
            api = self.calls.get(path)
            rows: Iterable[Mapping[str, Any]] = api.extra.get("asks", ()) if api is not None else ()
            for row in rows:
                assert api is not None
                if name.startswith(row["variables"]) and self.targets.affects(api.library, row.get("versions", "")):
                    return api
        return None
