"""Casts whose result goes nowhere: on tensors that are discarded, and on parameters that a loop only rebinds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Cast, Kind, Target
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import External, Names, statements
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location

CASTS = frozenset({"to", "half", "float", "bfloat16", "double", "type", "type_as"})
_PARAMETERS = {"parameters": Target.PARAMETER, "named_parameters": Target.PARAMETER}
_BUFFERS = {"buffers": Target.BUFFER, "named_buffers": Target.BUFFER}
# functions of torch that return a tensor, whatever they are given
_MAKERS = frozenset(
    [
        "arange",
        "bmm",
        "cat",
        "chunk",
        "clamp",
        "clone",
        "concat",
        "diag",
        "einsum",
        "empty",
        "empty_like",
        "eye",
        "full",
        "full_like",
        "gather",
        "index_select",
        "linspace",
        "log_softmax",
        "logical_and",
        "logical_not",
        "logical_or",
        "matmul",
        "mean",
        "mm",
        "ones",
        "ones_like",
        "outer",
        "rand",
        "rand_like",
        "randint",
        "randn",
        "randn_like",
        "softmax",
        "stack",
        "sum",
        "tensor",
        "tril",
        "triu",
        "where",
        "zeros",
        "zeros_like",
    ]
)
# methods that only tensors (and arrays) have
_METHODS = frozenset(
    [
        "bmm",
        "clone",
        "contiguous",
        "detach",
        "flatten",
        "index_select",
        "log_softmax",
        "masked_fill",
        "matmul",
        "new_empty",
        "new_ones",
        "new_zeros",
        "permute",
        "repeat_interleave",
        "reshape",
        "softmax",
        "squeeze",
        "transpose",
        "unsqueeze",
        "view",
    ]
)


class Casts:
    """Finds the lost casts of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer

    def find(self) -> Iterator[Cast]:
        for scope in self.module.scopes.values():
            for stmt in statements(scope.body):
                match stmt:
                    case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr=attr)) as call) if (
                        attr in CASTS
                    ):
                        yield from self._discarded(stmt, call, receiver, scope)
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=attr)) as call):
                        if attr in CASTS:
                            yield from self._rebound(stmt, name, call, scope)

    # a statement of its own

    def _discarded(self, stmt: ast.Expr, call: ast.Call, receiver: ast.expr, scope: Scope) -> Iterator[Cast]:
        context = flow(scope).context.get(stmt)
        if context is None or any(stmt in body.body for body in context.tries):
            # a cast alone in a `try` asks whether it is possible
            return
        target = self._loop_target(receiver, stmt, scope)
        evidence = "a loop over parameters or buffers" if target is not None else self._tensor(receiver, scope)
        if not evidence:
            return
        if target is None:
            target = {ast.Name: Target.LOCAL, ast.Subscript: Target.SUBSCRIPT}.get(type(receiver), Target.OTHER)
        yield self._cast(stmt, call, receiver, scope, target, evidence, rebinds=False)

    def _cast(
        self,
        stmt: ast.stmt,
        call: ast.Call,
        receiver: ast.expr,
        scope: Scope,
        target: Target,
        evidence: str,
        rebinds: bool,
    ) -> Cast:
        assert isinstance(call.func, ast.Attribute)
        source = self.module.tree.source
        sharded = self._after(stmt, scope) if target in (Target.PARAMETER, Target.BUFFER) else None
        return Cast(
            span=self.module.tree.span(stmt),
            target=target,
            receiver=source(receiver),
            receiver_span=self.module.tree.span(receiver),
            method=call.func.attr,
            what=source(call).removeprefix(source(receiver)),
            evidence=evidence,
            evidence_location=self.module.at(receiver),
            moves_only=self._moves_only(call, scope),
            rebinds=rebinds,
            read_later=self._read_later(receiver, stmt, scope),
            after_sharding=sharded[0] if sharded else None,
            after_name=sharded[1] if sharded else "",
        )

    def _read_later(self, receiver: ast.expr, stmt: ast.stmt, scope: Scope) -> bool:
        if isinstance(receiver, ast.Subscript):
            return True
        if not isinstance(receiver, ast.Name):
            return False
        state = flow(scope)
        place = (stmt.end_lineno or 0, stmt.end_col_offset or 0)
        looped = bool(state.context[stmt].loops)
        own = {id(n) for n in ast.walk(stmt)}
        uses = [u for b in self.names.bindings(receiver, scope) for u in state.uses.get(b, ()) if id(u) not in own]
        return any(looped or (u.lineno, u.col_offset) > place for u in uses)

    def _moves_only(self, call: ast.Call, scope: Scope) -> bool:
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr != "to":
            return False
        for argument in (*call.args, *(k.value for k in call.keywords)):
            value = self.tracer.value(argument, scope)
            if any(o.kind in (Kind.DTYPE, Kind.DERIVED) or o.role is not None for o in value.origins):
                return False
            if "dtype" in ast.unparse(argument):
                return False
        return all(k.arg != "dtype" for k in call.keywords) and not any(k.arg is None for k in call.keywords)

    # loops over parameters

    def _rebound(self, stmt: ast.Assign, name: str, call: ast.Call, scope: Scope) -> Iterator[Cast]:
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        inner = receiver.value if isinstance(receiver, ast.Attribute) and receiver.attr == "data" else receiver
        if not isinstance(inner, ast.Name) or inner.id != name:
            return
        state = flow(scope)
        target = self._loop_target(inner, stmt, scope)
        made = [b for b in state.bindings.get(name, ()) if b.node is stmt]
        if target is None or name in state.captured or name in state.outer or any(state.uses.get(b) for b in made):
            return
        yield self._cast(stmt, call, inner, scope, target, "a loop over parameters or buffers", rebinds=True)

    def _loop_target(self, node: ast.expr, stmt: ast.stmt, scope: Scope) -> Target | None:
        """What a loop variable stands for, when the loop goes over the parameters or buffers of a module."""
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        if not isinstance(node, ast.Name) or stmt not in flow(scope).context:
            return None
        found = {self._iterates(b) for b in self.names.bindings(node, scope)}
        return found.pop() if len(found) == 1 else None

    def _iterates(self, binding: Binding) -> Target | None:
        if binding.kind is not Bound.LOOP or binding.value is None:
            return None
        value = binding.value
        while isinstance(value, ast.Call) and value.args and isinstance(value.func, ast.Name):
            # list(…), tuple(…), enumerate(…) hand the same elements on
            value = value.args[0]
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return None
        kind = {**_PARAMETERS, **_BUFFERS}.get(value.func.attr)
        named = value.func.attr.startswith("named_")
        return kind if not named or binding.path[-1:] == (1,) else None

    # evidence

    def _tensor(self, node: ast.expr, scope: Scope, depth: int = 0) -> str:
        """Why an expression is a tensor; empty when it may be something else."""
        if depth > 6:
            return ""
        match node:
            case ast.Name():
                bindings = self.names.bindings(node, scope)
                reasons = [self._tensor_binding(b, depth) for b in bindings]
                return reasons[0] if reasons and all(reasons) else ""
            case ast.Attribute(value=base, attr="data" | "grad" | "T" | "mT"):
                return self._tensor(base, scope, depth + 1)
            case ast.Subscript(value=base):
                return self._tensor(base, scope, depth + 1)
            case ast.BinOp(left=left, right=right):
                return self._tensor(left, scope, depth + 1) or self._tensor(right, scope, depth + 1)
            case ast.Call(func=func):
                for symbol in self.names.symbols(func, scope):
                    if isinstance(symbol, External):
                        library, _, name = symbol.path.rpartition(".")
                        if (library == "torch" and name in _MAKERS) or library == "torch.nn.functional":
                            return f"the result of `{symbol.path}`"
                if isinstance(func, ast.Attribute):
                    if func.attr in _METHODS:
                        return f"the result of `.{func.attr}(…)`"
                    if func.attr in CASTS | {"sum", "mean", "to", "cuda", "cpu", "expand", "repeat"}:
                        return self._tensor(func.value, scope, depth + 1)
        return ""

    def _tensor_binding(self, binding: Binding, depth: int) -> str:
        if binding.annotation is not None:
            paths = self.names.paths(binding.annotation, binding.scope)
            if any(p in ("torch.Tensor", "torch.FloatTensor", "torch.nn.Parameter", "torch.LongTensor") for p in paths):
                return "its annotation"
        if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
            return self._tensor(binding.value, binding.scope, depth + 1)
        if binding.kind is Bound.LOOP and self._iterates(binding) is not None:
            return "a loop over parameters or buffers"
        return ""

    # order

    def _after(self, stmt: ast.stmt, scope: Scope) -> tuple[Location, str] | None:
        """The call before a loop that shards, builds an optimizer or runs a backward: in this function or in its caller."""
        context = flow(scope).context[stmt]
        start = context.loops[0] if context.loops else stmt
        found = self._shards_before(start, scope)
        if (
            found is not None
            or not isinstance(scope.node, Function)
            or not scope.node.args.args
            or defaults(scope.node)
        ):
            return found
        for caller in self.module.functions():
            for other in statements(caller.body):
                for node in expressions(other):
                    if isinstance(node, ast.Call) and scope in self.names.symbols(node.func, caller):
                        found = self._shards_before(other, caller)
                        if found is not None:
                            return found
        return None

    def _shards_before(self, stmt: ast.stmt, scope: Scope) -> tuple[Location, str] | None:
        order = flow(scope).order
        last: tuple[Location, str] | None = None
        for other, index in order.items():
            if index >= order.get(stmt, 0):
                continue
            for node in expressions(other):
                if isinstance(node, ast.Call) and self._shards(node, scope, 0):
                    last = (self.module.at(node), self.module.tree.source(node.func))
        return last

    def _shards(self, node: ast.Call, scope: Scope, depth: int) -> bool:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            return True
        for symbol in self.names.symbols(node.func, scope):
            if isinstance(symbol, External):
                call = self.tracer.calls.get(symbol.path)
                if call is not None and call.kind in ("shard", "optimizer"):
                    return True
            elif depth == 0 and isinstance(symbol.node, Function):
                for stmt in statements(symbol.body):
                    for inner in expressions(stmt):
                        if isinstance(inner, ast.Call) and self._shards(inner, symbol, 1):
                            return True
        return False
