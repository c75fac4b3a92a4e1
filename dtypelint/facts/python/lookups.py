"""Attributes that are asked of mappings: what an expression has to be a mapping, and which precision is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dtypelint.facts.given import Lookup
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.syntax import unquoted
from dtypelint.facts.roles import Roles
from dtypelint.finding import Location

_DEPTH = 6
_MAPPINGS = frozenset(
    [
        *("builtins.dict", "typing.Dict", "typing.Mapping", "typing.MutableMapping", "collections.OrderedDict"),
        *("collections.defaultdict", "typing.DefaultDict", "typing.OrderedDict", "typing.TypedDict"),
        *("collections.abc.Mapping", "collections.abc.MutableMapping", "typing_extensions.TypedDict"),
    ]
)
# functions that return a plain dict
_MAKERS = frozenset(
    [
        *("builtins.dict", "builtins.vars", "dataclasses.asdict", "collections.OrderedDict", "collections.defaultdict"),
        *("json.load", "json.loads", "yaml.safe_load", "tomllib.load", "tomllib.loads", "yaml.load"),
    ]
)

# what binds at least as tightly as `in`
_TIGHT = (ast.Compare, ast.BinOp, ast.Attribute, ast.Subscript)

# why, where, and the module that says so by an annotation
Evidence = tuple[str, Location, Module | None]


class Lookups:
    """Finds the lookups of one module."""

    def __init__(self, module: Module, names: Names, roles: Roles) -> None:
        self.module = module
        self.names = names
        self.roles = roles

    def find(self) -> Iterator[Lookup]:
        if b"getattr" not in self.module.tree.data and b"hasattr" not in self.module.tree.data:
            return
        for node, stmt, scope in self.module.calls:
            match node:
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr" as name) as func,
                    args=[receiver, ast.Constant(value=str(key)) as word, *rest],
                ) if self._speaks(key) and self.names.is_builtin(func, name, scope):
                    evidence = self._mapping(receiver, scope)
                    if evidence is None or self._belied(receiver, evidence):
                        continue
                    if not self._tested(receiver, stmt, scope):
                        tight = (e for e in expressions(stmt) if isinstance(e, _TIGHT))
                        joined = any(node in ast.iter_child_nodes(e) for e in tight)
                        yield self._lookup(node, name, receiver, word, rest, evidence, joined)

    def _speaks(self, key: str) -> bool:
        return self.roles.role(key) is not None or self.roles.flag(key) is not None

    def _lookup(
        self,
        node: ast.Call,
        name: str,
        receiver: ast.expr,
        word: ast.expr,
        rest: list[ast.expr],
        evidence: Evidence,
        joined: bool,
    ) -> Lookup:
        source = self.module.tree.source
        return Lookup(
            self.module.tree.span(node),
            name,
            source(receiver),
            source(word),
            source(rest[0]) if rest else None,
            evidence[0],
            evidence[1],
            joined,
        )

    def _belied(self, receiver: ast.expr, evidence: Evidence) -> bool:
        """Whether the code reads attributes of what an annotation calls a mapping: then the annotation is wrong."""
        if evidence[2] is None:
            return False
        last = ast.unparse(receiver).rpartition(".")[2]
        reads = re.compile(rf"(?<![\w.])(?:self\.)?{re.escape(last)}\.(\w+)")
        texts = (self.module.tree.text, evidence[2].tree.text)
        return any(not hasattr(dict, found[1]) for text in texts for found in reads.finditer(text))

    def _tested(self, receiver: ast.expr, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether a test on the way asks what the object is."""
        text = ast.unparse(receiver)
        context = flow(scope).context.get(stmt)
        tests = [ast.unparse(g.test) for g in context.guards] if context else []
        tests += [ast.unparse(e.test) for e in expressions(stmt) if isinstance(e, ast.IfExp)]
        return any(f"isinstance({text}," in t or f"hasattr({text}," in t for t in tests)

    def _mapping(self, node: ast.expr, scope: Scope, depth: int = 0) -> Evidence | None:
        """Why an expression is a mapping; None where it may be something else."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name():
                found = [self._bound(b, depth) for b in self.names.bindings(node, scope)]
                return found[0] if found and all(found) else None
            case ast.Dict() | ast.DictComp():
                return "a dict is written out", scope.module.at(node), None
            case ast.Attribute(value=base, attr=attr):
                fields = [f for c in self.names.classes(base, scope) for f in self.names.fields(c, attr)]
                reasons = [
                    self._annotated(f.annotation, f.scope)
                    or (self._mapping(f.value, f.scope, depth + 1) if f.value is not None else None)
                    for f in fields
                ]
                return reasons[0] if reasons and all(reasons) else None
            case ast.BinOp(op=ast.BitOr(), left=left):
                return self._mapping(left, scope, depth + 1)
            case ast.Call():
                return self._called(node, scope, depth)
        return None

    def _called(self, node: ast.Call, scope: Scope, depth: int) -> Evidence | None:
        for symbol in self.names.callees(node.func, scope):
            if isinstance(symbol, External) and symbol.path in _MAKERS:
                return f"the result of `{symbol.path.removeprefix('builtins.')}`", scope.module.at(node), None
            if isinstance(symbol, External) and symbol.path in ("copy.copy", "copy.deepcopy") and node.args:
                return self._mapping(node.args[0], scope, depth + 1)
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                return self._annotated(symbol.node.returns, symbol)
        match node.func:
            case ast.Attribute(value=base, attr="copy"):
                return self._mapping(base, scope, depth + 1)
            case ast.Attribute(attr="to_dict"):
                return "the result of `to_dict`", scope.module.at(node), None
        return None

    def _bound(self, binding: Binding, depth: int) -> Evidence | None:
        node = binding.scope.node
        at = binding.scope.module.at
        if binding.kind is Bound.PARAMETER and isinstance(node, Function) and binding.node is node.args.kwarg:
            return f"`**{binding.name}`", at(node.args.kwarg), None
        annotated = self._annotated(binding.annotation, binding.scope)
        if annotated is not None:
            return annotated
        if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
            return self._mapping(binding.value, binding.scope, depth + 1)
        return None

    def _annotated(self, node: ast.expr | None, scope: Scope) -> Evidence | None:
        """Whether an annotation names nothing but mappings, and None."""
        match node:
            case ast.Constant(value=str()):
                return self._annotated(unquoted(node), scope)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return self._union([left, right], scope)
            case ast.Subscript(value=base, slice=index):
                if set(self.names.paths(base, scope)) & {"typing.Optional", "typing.Union"}:
                    return self._union(index.elts if isinstance(index, ast.Tuple) else [index], scope)
                return self._annotated(base, scope)
            case ast.Name() | ast.Attribute():
                for symbol in self.names.symbols(node, scope):
                    paths = {symbol.path} if isinstance(symbol, External) else set()
                    if isinstance(symbol, Scope) and symbol.is_class:
                        paths = set(self.names.bases(symbol)) & {"typing.TypedDict", "typing_extensions.TypedDict"}
                    if paths & _MAPPINGS:
                        return f"annotated as `{ast.unparse(node)}`", scope.module.at(node), scope.module
        return None

    def _union(self, parts: list[ast.expr], scope: Scope) -> Evidence | None:
        found = [self._annotated(p, scope) for p in parts if ast.unparse(p) != "None"]
        return found[0] if found and all(found) else None
