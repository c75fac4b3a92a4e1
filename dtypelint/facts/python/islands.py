"""Products in float32 inside autocast: in its block, or in the functions and modules that the block calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dtypelint.facts.islands import Island
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.lines import lead
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Bound, Function, Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_WORTH = re.compile(rb"autocast")
_UPCASTS = re.compile(rb"\.float\(\)|float32|fp32")
# the operations that autocast runs in 16 bit (aten/src/ATen/autocast_mode.h)
_FUNCTIONS = frozenset(
    [
        *("torch.matmul", "torch.mm", "torch.bmm", "torch.mv", "torch.einsum", "torch.addmm", "torch.addbmm"),
        *("torch.baddbmm", "torch.linalg.multi_dot", "torch.nn.functional.linear"),
        *("torch.nn.functional.scaled_dot_product_attention",),
    ]
)
_METHODS = frozenset({"matmul", "mm", "bmm", "mv", "addmm", "baddbmm"})
# what keeps the dtype of a tensor
_KEEPS = frozenset(
    [
        *("transpose", "permute", "unsqueeze", "squeeze", "view", "reshape", "contiguous", "t", "flatten", "expand"),
        *("detach", "clone", "expand_as", "view_as", "cuda", "cpu", "repeat", "unbind", "mean", "sum", "softmax"),
    ]
)
_DEPTH = 4


class Islands:
    """Finds the islands of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer

    def find(self) -> Iterator[Island]:
        if not _WORTH.search(self.module.tree.data) or not _UPCASTS.search(self.module.tree.data):
            return
        seen: set[ast.expr] = set()
        for scope, stmt, region in self._lowered():
            for node in expressions(stmt):
                if node not in seen:
                    seen.add(node)
                    yield from self._product(node, stmt, scope, region)

    # which statements run in a region

    def _lowered(self) -> Iterator[tuple[Scope, ast.stmt, Location]]:
        """The statements that run with autocast on, nearest first: those of its block, then those that these call."""
        reached: dict[Scope, Location] = {}
        for scope in self.module.scopes.values():
            whole = self._decorated(scope)
            for stmt in statements(scope.body):
                region = self._region(stmt, scope) or whole
                if region is not None:
                    yield scope, stmt, region
                    self._calls(stmt, scope, region, reached)
        queue = list(reached)
        for scope in queue:
            for stmt in statements(scope.body):
                if not self._switched(stmt, scope):
                    yield scope, stmt, reached[scope]
                    self._calls(stmt, scope, reached[scope], reached)
            queue += [each for each in reached if each not in queue]

    def _calls(self, stmt: ast.stmt, scope: Scope, region: Location, reached: dict[Scope, Location]) -> None:
        for node in expressions(stmt):
            if isinstance(node, ast.Call):
                for callee in self._run(node, scope):
                    if callee.module is self.module and callee is not scope and not self._guarded(callee):
                        reached.setdefault(callee, region)

    def _run(self, node: ast.Call, scope: Scope) -> Iterator[Scope]:
        """The functions of the project that a call runs; a module that is called runs its `forward`."""
        found = self.names.callees(node.func, scope)
        yield from (s for s in found if isinstance(s, Scope) and isinstance(s.node, Function))
        if not found:
            for cls in self.names.classes(node.func, scope):
                method = self.names.method(cls, "forward")
                if method is not None:
                    yield method

    def _region(self, stmt: ast.stmt, scope: Scope) -> Location | None:
        """The autocast around a statement, the innermost one, where it lowers."""
        context = flow(scope).context.get(stmt)
        for item in reversed(context.items if context else ()):
            call = item.context_expr
            if isinstance(call, ast.Call) and self._autocast(call.func, scope) is not None:
                return scope.module.at(call) if self._lowers(call, scope) else None
        return None

    def _switched(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether a statement stands in an autocast of its own."""
        context = flow(scope).context.get(stmt)
        calls = (item.context_expr for item in (context.items if context else ()))
        return any(self._autocast(c.func if isinstance(c, ast.Call) else c, scope) is not None for c in calls) or any(
            "autocast" in ast.unparse(item.context_expr) for item in (context.items if context else ())
        )

    def _decorated(self, scope: Scope) -> Location | None:
        """The autocast that a function is decorated with, where it lowers."""
        if isinstance(scope.node, Function):
            for node in scope.node.decorator_list:
                if isinstance(node, ast.Call) and self._autocast(node.func, scope.parent or scope) is not None:
                    return scope.module.at(node) if self._lowers(node, scope) else None
        return None

    def _guarded(self, scope: Scope) -> bool:
        """Whether a decorator says what a function computes in."""
        nodes = scope.node.decorator_list if isinstance(scope.node, Function) else []
        return any(re.search(r"autocast|custom_fwd", ast.unparse(node)) for node in nodes)

    def _autocast(self, func: ast.expr, scope: Scope) -> Call | None:
        calls = (self.tracer.calls.get(path) for path in self.names.paths(func, scope))
        return next((call for call in calls if call is not None and call.kind == "autocast"), None)

    def _lowers(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a region is on, and not for float32."""
        api = self._autocast(call.func, scope)
        given = dict(zip(api.parameters if api else (), call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        enabled, dtype = given.get("enabled"), given.get("dtype")
        if isinstance(enabled, ast.Constant) and enabled.value is False:
            return False
        return dtype is None or self.tracer.value(dtype, scope).hardcoded not in ("float32", "float64")

    # which products have operands in float32

    def _product(self, node: ast.expr, stmt: ast.stmt, scope: Scope, region: Location) -> Iterator[Island]:
        operands = self._operands(node, scope)
        wide = [found for each in operands if (found := self._upcast(each, scope)) is not None]
        if not wide:
            return
        tree = self.module.tree
        simple = stmt.lineno == stmt.end_lineno and not hasattr(stmt, "body")
        space = lead(self.module, stmt)
        base = wide[0].func.value if isinstance(wide[0].func, ast.Attribute) else wide[0]
        plain = isinstance(base, ast.Name | ast.Attribute)
        yield Island(
            span=tree.span(node),
            operation=f"`{tree.source(node.func)}`" if isinstance(node, ast.Call) else "`@`",
            upcast=tree.source(wide[0]),
            region=region,
            statement=tree.span(stmt),
            lead=space,
            device=f"{tree.source(base)}.device.type" if simple and plain and space != "; " else "",
            both=len(wide) == len(operands),
        )

    def _operands(self, node: ast.expr, scope: Scope) -> list[ast.expr]:
        """The tensors of a product; none for any other expression."""
        match node:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return [left, right]
            case ast.Call(func=ast.Attribute(value=base, attr=attr), args=args) if attr in _METHODS:
                paths = self.names.paths(node.func, scope)
                return list(args) if any(path in _FUNCTIONS for path in paths) else [base, *args] if not paths else []
            case ast.Call(args=args):
                if any(path in _FUNCTIONS for path in self.names.paths(node.func, scope)):
                    return [a for a in args if not isinstance(a, ast.Constant | ast.Starred)]
        return []

    def _upcast(self, node: ast.expr, scope: Scope, depth: int = 0) -> ast.Call | None:
        """The cast to float32 that an operand comes from, through what keeps its dtype."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Call(func=ast.Attribute(attr="float"), args=[], keywords=[]):
                return node
            case ast.Call(func=ast.Attribute(attr="to" | "type")):
                values = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
                wide = any(self.tracer.value(value, scope).hardcoded == "float32" for value in values)
                return node if wide else None
            case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _KEEPS:
                return self._upcast(base, scope, depth + 1)
            case ast.Attribute(value=base, attr="T" | "mT"):
                return self._upcast(base, scope, depth + 1)
            case ast.Subscript(value=base) | ast.UnaryOp(op=ast.USub(), operand=base):
                return self._upcast(base, scope, depth + 1)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
                return self._upcast(left, scope, depth + 1) or self._upcast(right, scope, depth + 1)
            case ast.Name():
                bindings = self.names.bindings(node, scope)
                found = [
                    self._upcast(b.value, b.scope, depth + 1)
                    for b in bindings
                    if b.kind is Bound.ASSIGN and b.value is not None and not b.path
                ]
                return found[0] if found and len(found) == len(bindings) and all(found) else None
        return None
