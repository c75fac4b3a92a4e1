"""Every dtype that an expression can be, where that is written down: literals, tables, choices, enums."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from dtypelint.facts.python.module import statements
from dtypelint.facts.python.names import Field, Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.syntax import is_none, passed
from dtypelint.facts.python.trace import Tracer

_DEEPEST = 8
Answer = frozenset[str] | None


class Ranges:
    """Answers for one project; None where anything may come."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer

    def dtypes(self, node: ast.expr, scope: Scope, depth: int = 0) -> Answer:
        """The dtypes by their canonical names; None is no dtype and adds nothing."""
        if depth > _DEEPEST:
            return None

        def inner(each: ast.expr) -> Answer:
            return self.dtypes(each, scope, depth + 1)

        match node:
            case ast.Constant(value=None):
                return frozenset()
            case ast.IfExp(body=body, orelse=orelse):
                return _union([inner(body), inner(orelse)])
            case ast.BoolOp(values=values):
                return _union(map(inner, values))
            case ast.Subscript(value=table, slice=key):
                return self._looked_up(table, key, scope, depth)
            case ast.Call(func=func, args=args):
                if isinstance(func, ast.Attribute) and func.attr == "get" and args:
                    default = inner(args[1]) if len(args) > 1 else frozenset[str]()
                    return _union([self._looked_up(func.value, args[0], scope, depth), default])
                if self.names.is_builtin(func, "getattr", scope) and len(args) >= 2:
                    return self.spelled(self.words(args[1], scope, depth + 1))
                return self._returned(func, scope, depth)
        exact = self.tracer.torch_dtype(node, scope) if isinstance(node, ast.Attribute | ast.Name) else None
        if exact is not None:
            return frozenset({exact})
        return self._held(node, scope, depth, self.dtypes, self.spelled)

    def is_dtype(self, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether an expression is a dtype (or None) and no spelling of one, by annotations and by what is assigned."""
        if depth > _DEEPEST:
            return False
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                return all(self.is_dtype(each, scope, depth + 1) for each in (body, orelse))
            case ast.BoolOp(values=values):
                return all(self.is_dtype(each, scope, depth + 1) for each in values)
            case ast.Call(func=func, args=[_, _, *_]) if self.names.is_builtin(func, "getattr", scope):
                return self.dtypes(node, scope) is not None or "torch" in self.names.paths(node.args[0], scope)
            case ast.Call(func=func):
                symbols = self.names.callees(func, scope)
                return bool(symbols) and all(
                    isinstance(s, Scope) and isinstance(s.node, Function) and _says_dtype(s.node.returns)
                    for s in symbols
                )
            case ast.Name():
                bindings = self.names.bindings(node, scope)
                found = [
                    self._is_dtype(b.annotation, b.value if not b.path else None, b.scope, depth) for b in bindings
                ]
            case ast.Attribute(value=base, attr=attr):
                fields = [f for c in self.names.classes(base, scope) for f in self.names.fields(c, attr)]
                found = [self._is_dtype(f.annotation, f.value, f.scope, depth) for f in fields]
            case _:
                found = []
        known = self.dtypes(node, scope, depth)
        return known is not None or (bool(found) and all(found))

    def _is_dtype(self, annotation: ast.expr | None, value: ast.expr | None, scope: Scope, depth: int) -> bool:
        if annotation is not None:
            return _says_dtype(annotation)
        return value is not None and self.is_dtype(value, scope, depth + 1)

    def words(self, node: ast.expr, scope: Scope, depth: int = 0) -> Answer:
        """The strings that an expression can be."""
        if depth > _DEEPEST:
            return None

        def inner(each: ast.expr) -> Answer:
            return self.words(each, scope, depth + 1)

        match node:
            case ast.Constant(value=str(text)):
                return frozenset({text})
            case ast.IfExp(body=body, orelse=orelse):
                return _union([inner(body), inner(orelse)])
            case ast.BoolOp(values=values):
                return _union(map(inner, values))
            case ast.Attribute(value=base, attr="value" | "name"):
                return inner(base)
        return self._held(node, scope, depth, self.words, lambda words: words)

    def choices(self, call: ast.Call, scope: Scope) -> Answer:
        """The choices of a command-line option."""
        given = passed(call, "choices")
        return self._listed(given, scope) if given is not None else None

    def _listed(self, node: ast.expr, scope: Scope) -> Answer:
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return _union(self.words(each, scope) for each in elements)
            case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" | "set"), args=[inner]):
                return self._listed(inner, scope)
            case ast.Call(func=ast.Attribute(value=table, attr="keys"), args=[]):
                return self._listed(table, scope)
        found = self.table(node, scope)
        return _union(self.words(key, found[1]) if key else None for key in found[0].keys) if found else None

    def spelled(self, words: Answer) -> Answer:
        """The dtypes that strings spell."""
        if words is None:
            return None
        found = {word: self.tracer.roles.dtype(word) for word in words}
        return frozenset(name for name in found.values() if name) if all(found.values()) else None

    def table(self, node: ast.expr, scope: Scope) -> tuple[ast.Dict, Scope] | None:
        """The dict that an expression always is, written out."""
        if isinstance(node, ast.Dict):
            return node, scope
        bindings = self.names.bindings(node, scope) if isinstance(node, ast.Name) else ()
        values = [(b.value, b.scope) for b in bindings if b.kind is Bound.ASSIGN and not b.path]
        for binding in bindings:
            if binding.kind is Bound.IMPORT:
                values += self.names.module_values(binding)
        if len(values) != 1 or len(bindings) != 1:
            return None
        value, where = values[0]
        return (value, where) if isinstance(value, ast.Dict) else None

    def _looked_up(self, node: ast.expr, key: ast.expr, scope: Scope, depth: int) -> Answer:
        table = self.table(node, scope)
        if table is None:
            return None
        wanted = self.words(key, scope, depth + 1)
        found = []
        for each, value in zip(table[0].keys, table[0].values, strict=True):
            if not (wanted and isinstance(each, ast.Constant) and each.value not in wanted):
                found.append(self.dtypes(value, table[1], depth + 1))
        return _union(found)

    def _returned(self, func: ast.expr, scope: Scope, depth: int) -> Answer:
        found: list[Answer] = []
        for symbol in self.names.callees(func, scope):
            if not isinstance(symbol, Scope) or not isinstance(symbol.node, Function):
                return None
            returns = [stmt for stmt in statements(symbol.body) if isinstance(stmt, ast.Return)]
            found += [self.dtypes(stmt.value, symbol, depth + 1) if stmt.value else None for stmt in returns] or [None]
        return _union(found or [None])

    def _held(
        self,
        node: ast.expr,
        scope: Scope,
        depth: int,
        follow: Callable[[ast.expr, Scope, int], Answer],
        say: Callable[[Answer], Answer],
    ) -> Answer:
        """What a name or an attribute can be: by the annotation of each of its definitions, or by what it is assigned."""
        found: list[Answer] = []
        if isinstance(node, ast.Name):
            found += [self._bound(binding, depth, follow, say) for binding in self.names.bindings(node, scope)]
        elif isinstance(node, ast.Attribute):
            for cls in self.names.classes(node.value, scope):
                fields = self.names.fields(cls, node.attr)
                found += [self._field(field, depth, follow, say) for field in fields] or [None]
        return _union(found or [None])

    def _bound(
        self,
        binding: Binding,
        depth: int,
        follow: Callable[[ast.expr, Scope, int], Answer],
        say: Callable[[Answer], Answer],
    ) -> Answer:
        words = self._annotated(binding.annotation, binding.scope)
        if words is not None:
            return say(words)
        if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
            return follow(binding.value, binding.scope, depth + 1)
        if binding.kind is Bound.IMPORT:
            return _union(
                [follow(value, where, depth + 1) for value, where in self.names.module_values(binding)] or [None]
            )
        return None

    def _field(
        self,
        field: Field,
        depth: int,
        follow: Callable[[ast.expr, Scope, int], Answer],
        say: Callable[[Answer], Answer],
    ) -> Answer:
        words = self._annotated(field.annotation, field.scope)
        if words is not None:
            return say(words)
        # the default of a field is no proof: a user changes it
        return None if field.in_body or field.value is None else follow(field.value, field.scope, depth + 1)

    def _annotated(self, node: ast.expr | None, scope: Scope) -> Answer:
        """The strings of a `Literal`, or the values of an enum."""
        match node:
            case ast.Subscript(value=base, slice=inner) if ast.unparse(base).rpartition(".")[2] == "Literal":
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                chosen = [part for part in parts if not is_none(part)]
                return _union(self.words(part, scope) for part in chosen)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                sides = [s for s in (left, right) if not is_none(s)]
                return _union(self._annotated(side, scope) for side in sides)
            case ast.Subscript(value=base, slice=inner) if ast.unparse(base).rpartition(".")[2] == "Optional":
                return self._annotated(inner, scope)
            case ast.Name() | ast.Attribute():
                for symbol in self.names.symbols(node, scope):
                    if (
                        isinstance(symbol, Scope)
                        and symbol.is_class
                        and any("Enum" in b for b in self.names.bases(symbol))
                    ):
                        values = [s.value for s in symbol.body if isinstance(s, ast.Assign)]
                        return _union(self.words(value, symbol) for value in values)
        return None


def _says_dtype(annotation: ast.expr | None) -> bool:
    text = ast.unparse(annotation) if annotation is not None else ""
    return "dtype" in text and "str" not in text


def _union(answers: Iterable[Answer]) -> Answer:
    found: set[str] = set()
    for answer in answers:
        if answer is None:
            return None
        found |= answer
    return frozenset(found)
