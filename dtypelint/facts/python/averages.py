"""Running averages of weights: which object holds them, where it is updated in place, where it gets its dtype."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dtypelint.facts import LOW_PRECISION
from dtypelint.facts.averages import Average
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Bound, Function, Scope, defaults, parameters
from dtypelint.facts.python.syntax import argument, passed
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location

_WORTH = re.compile(rb"\.lerp_\(|\.mul_\(|(?i:ema|average|shadow)\w*\(")
_NAMED = re.compile(r"ema|average|avg|shadow|teacher|momentum|target|swa", re.IGNORECASE)
_HELD = frozenset({"parameters", "buffers", "values", "named_parameters", "items"})
_NARROW = {"half": "float16", "bfloat16": "bfloat16"}
_SAME = frozenset({"eval", "train", "requires_grad_", "cuda", "cpu", "to", "deepcopy", "clone", "detach"})


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A cast of the object that holds an average, where it is updated, and in which function it is cast."""

    holder: str
    cast: ast.Call
    scope: Scope
    update: Location


class Averages:
    """Finds the averages of one module, and the calls that give those of other modules their dtype."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer

    def find(self) -> Iterator[Average]:
        if not _WORTH.search(self.module.tree.data):
            return
        for cls in (self.module.scope, *self.module.classes()):
            for kept in self._kept(cls):
                yield from self._cast(kept)
        for node, _, scope in self.module.calls:
            if _NAMED.search(ast.unparse(node.func)):
                yield from self._called(node, scope)

    # what is kept

    def _kept(self, owner: Scope) -> Iterator[Kept]:
        """The casts of the averages that a class, or a function of a module, keeps."""
        functions = [s for s in owner.module.functions() if s.owner is (owner if owner.is_class else None)]
        updates = [u for s in functions for u in self._updates(s)]
        for holder, where, home in updates:
            shared = holder.startswith("self.")
            for scope in functions if shared else [home]:
                for stmt in statements(scope.body):
                    for cast in self._casts(stmt, holder):
                        yield Kept(holder, cast, scope, where)

    def _updates(self, scope: Scope) -> Iterator[tuple[str, Location, Scope]]:
        """In-place updates of one set of weights by another: what holds the first."""
        for stmt in statements(scope.body):
            for node in expressions(stmt):
                match node:
                    case (
                        ast.Call(
                            func=ast.Attribute(
                                value=ast.Call(func=ast.Attribute(value=target, attr="mul_")), attr="add_"
                            )
                        )
                        | ast.Call(func=ast.Attribute(value=target, attr="lerp_"))
                    ):
                        holder = self._holder(target, scope)
                        if holder:
                            yield holder, scope.module.at(node), scope

    def _holder(self, node: ast.expr, scope: Scope) -> str:
        """What the weights that a loop goes over belong to: `self.shadow` of `zip(self.shadow.parameters(), …)`."""
        match node:
            case ast.Attribute(value=inner, attr="data"):
                return self._holder(inner, scope)
            case ast.Subscript(value=base) if _NAMED.search(ast.unparse(base)):
                return ast.unparse(base)
            case ast.Name():
                for binding in self.names.bindings(node, scope):
                    if binding.kind is Bound.LOOP and binding.value is not None:
                        return self._looped(binding.value, binding.path)
        return ""

    def _looped(self, value: ast.expr, path: tuple[int | str, ...]) -> str:
        match value:
            case ast.Call(func=ast.Name(id="zip"), args=args) if path and isinstance(path[0], int):
                others = [a for i, a in enumerate(args) if i != path[0]]
                return self._looped(args[path[0]], path[1:]) if path[0] < len(args) and others else ""
            case ast.Call(func=ast.Attribute(value=base, attr=attr), args=[]) if attr in _HELD:
                return ast.unparse(base).removesuffix(".state_dict()")
        return ""

    def _casts(self, stmt: ast.stmt, holder: str) -> Iterator[ast.Call]:
        """The casts that a statement applies to an object: of its own, or while it is made."""
        match stmt:
            case ast.Expr(value=ast.Call() as value):
                if self._root(value) == holder:
                    yield from _chain(value)
            case ast.Assign(targets=[target], value=ast.Call() as value) if ast.unparse(target) == holder:
                yield from _chain(value)
            case ast.Assign(targets=[target], value=ast.DictComp(value=ast.Call() as value)) if (
                ast.unparse(target) == holder
            ):
                yield from _chain(value)

    def _root(self, node: ast.expr) -> str:
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        return ast.unparse(node)

    # where the dtype comes from

    def _cast(self, kept: Kept) -> Iterator[Average]:
        """A cast whose dtype is written out."""
        assert isinstance(kept.cast.func, ast.Attribute)
        source, span = self.module.tree.source, self.module.tree.span
        name = kept.cast.func.attr
        at = kept.scope.module.at(kept.cast)
        if name in _NARROW:
            whole = source(kept.cast)
            wide = f"{source(kept.cast.func.value)}.float()"
            edit = span(kept.cast)
            yield Average(edit, whole, wide, edit, _NARROW[name], kept.holder, at, kept.update)
            return
        dtype = _dtype_argument(kept.cast)
        found = self.tracer.value(dtype, kept.scope).hardcoded if dtype is not None else None
        if dtype is not None and found in LOW_PRECISION:
            yield Average(
                span(kept.cast), source(dtype), "torch.float32", span(dtype), found or "", kept.holder, at, kept.update
            )

    def _called(self, node: ast.Call, scope: Scope) -> Iterator[Average]:
        """An argument that becomes the dtype of the average in the class that is called."""
        for symbol in self.names.callees(node.func, scope):
            if not isinstance(symbol, Scope) or not symbol.is_class:
                continue
            init = self.names.method(symbol, "__init__")
            for kept in self._kept(symbol):
                dtype = _dtype_argument(kept.cast)
                if kept.scope is not init or not isinstance(dtype, ast.Name) or not isinstance(init.node, Function):
                    continue
                given = argument(node, dtype.id, [a.arg for a in parameters(init.node)][1:])
                found = self._low(given, scope) if given is not None else None
                if given is not None and found is not None:
                    at = kept.scope.module.at(kept.cast)
                    span, source = self.module.tree.span(given), self.module.tree.source(given)
                    low, sure = found
                    yield Average(
                        self.module.tree.span(node),
                        source,
                        "torch.float32",
                        span,
                        low,
                        kept.holder,
                        at,
                        kept.update,
                        sure,
                    )

    def _low(self, node: ast.expr, scope: Scope) -> tuple[str, bool] | None:
        """The 16-bit dtype that an argument is, always or by default."""
        value = self.tracer.value(node, scope)
        if value.hardcoded is not None:
            return (value.hardcoded, True) if value.hardcoded in LOW_PRECISION else None
        low = [d for d in value.dtypes if d in LOW_PRECISION]
        if low:
            return low[0], False
        if isinstance(node, ast.Attribute):
            fields = [f for c in self.names.classes(node.value, scope) for f in self.names.fields(c, node.attr)]
            for field in fields[:1]:
                dtype = self.tracer.torch_dtype(field.value, field.scope) if field.value is not None else None
                if dtype in LOW_PRECISION:
                    return dtype, False
        if isinstance(node, ast.Name) and isinstance(scope.node, Function):
            default = defaults(scope.node).get(node.id)
            dtype = self.tracer.torch_dtype(default, scope) if default is not None else None
            if dtype in LOW_PRECISION and flow(scope).bindings[node.id][0].kind is Bound.PARAMETER:
                return dtype, False
        return None


def _chain(node: ast.expr) -> Iterator[ast.Call]:
    """The casts in a chain of methods that each give the object itself."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in (*_NARROW, "to"):
            yield node
        elif node.func.attr not in _SAME:
            return
        node = node.func.value


def _dtype_argument(call: ast.Call) -> ast.expr | None:
    """The dtype of a `to`: by name, or its last positional argument."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "to":
        return None
    named = passed(call, "dtype")
    return named or (call.args[-1] if call.args else None)
