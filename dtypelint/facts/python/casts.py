"""Casts whose result goes nowhere: dropped as a statement, or bound to a loop variable that nothing reads again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Cast, Form, Kind, Target
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.kinds import Kinds
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.scope import Bound, Function, Scope, parameters, targets
from dtypelint.facts.python.syntax import last_name
from dtypelint.facts.python.things import Sort, Thing
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location, Span

CASTS = frozenset({"to", "half", "float", "bfloat16", "double", "type", "type_as"})
# steps between a loop variable and its cast that keep what it stands for
_STEPS = CASTS | {"detach", "clone", "contiguous", "cpu", "cuda"}
# methods that wrap a module or run it backward, whatever they belong to
_BUILDS = frozenset({"backward", "prepare", "initialize", "setup"})
# a cast inside asks whether it is possible
_PROBES = frozenset({"raises", "suppress", "warns", "assertRaises", "assertRaisesRegex", "assertWarns"})


class Casts:
    """Finds the lost casts of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.kinds = Kinds(names, tracer)

    def find(self) -> Iterator[Cast]:
        for scope in self.module.scopes.values():
            body = list(statements(scope.body))
            loops = [stmt.target for stmt in body if isinstance(stmt, ast.For | ast.AsyncFor)]
            looped = {name.id for target in loops for name, _ in targets(target)}
            for stmt in body:
                match stmt:
                    case ast.Expr(value=ast.Call() as call) if _is_cast(call):
                        yield from self._discarded(stmt, call, scope)
                    case ast.Expr(value=ast.ListComp(elt=ast.Call() as call)) if _is_cast(call):
                        yield from self._discarded(stmt, call, scope)
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if name in looped:
                        yield from self._rebound(stmt, name, value, scope)

    def _discarded(self, stmt: ast.Expr, call: ast.Call, scope: Scope) -> Iterator[Cast]:
        assert isinstance(call.func, ast.Attribute)
        receiver = call.func.value
        if self._probes(stmt, scope):
            return
        thing = self.kinds.of(receiver, stmt, scope)
        if thing is None or not thing.is_tensor or self._is_idle(call, receiver, thing, scope):
            return
        listed = isinstance(stmt.value, ast.ListComp)
        target = Target.OTHER if listed else self._target(receiver, thing, stmt, scope)
        yield self._cast(stmt, call, receiver, scope, thing, target, rebinds=False)

    def _is_idle(self, call: ast.Call, receiver: ast.expr, thing: Thing, scope: Scope) -> bool:
        """Whether a cast asks for what its receiver has already: a dtype that it was made with, or its own."""
        if thing.dtype and thing.dtype == self.kinds.cast_dtype(call, scope):
            return True
        own = ast.unparse(receiver)
        given = [ast.unparse(each) for each in (*call.args, *(k.value for k in call.keywords))]
        return bool(given) and all(each in (own, f"{own}.dtype", f"{own}.device") for each in given)

    def _probes(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether a statement is there to see if it raises: alone in a `try`, or where an error is expected."""
        context = flow(scope).context.get(stmt)
        return (
            context is None
            or any(stmt in each.body for each in context.tries)
            or any(_opened(item.context_expr) in _PROBES for item in context.items)
        )

    def _rebound(self, stmt: ast.Assign, name: str, value: ast.Call, scope: Scope) -> Iterator[Cast]:
        """`p = p.to(…)` for a loop variable `p` that nothing reads before the loop binds it again."""
        call, rebuilt = value, False
        inner = _cast_name(call)
        if inner is None and value.args and isinstance(value.args[0], ast.Call):
            call, rebuilt = value.args[0], True
            inner = _cast_name(call)
        if inner is None or inner.id != name or (rebuilt and not self._rebuilds(value.func, scope)):
            return
        if self._probes(stmt, scope):
            return
        state = flow(scope)
        made = [b for b in state.bindings.get(name, ()) if b.node is stmt]
        if name in state.outer or any(state.uses.get(b) for b in made) or self._captured(name, scope):
            return
        loops = self.names.bindings(inner, scope)
        thing = self.kinds.of(inner, stmt, scope)
        if thing is None or not thing.is_tensor or self._is_idle(call, inner, thing, scope):
            return
        if loops and all(b.kind is Bound.LOOP for b in loops):
            target = Target.OTHER if rebuilt else _OF_SORT.get(thing.sort, Target.OTHER)
            yield self._cast(stmt, call, inner, scope, thing, target, rebinds=True)

    def _rebuilds(self, func: ast.expr, scope: Scope) -> bool:
        paths = (path.rpartition(".") for path in self.names.paths(func, scope))
        return any(name in ("Parameter", "Buffer") and library.startswith("torch.nn") for library, _, name in paths)

    def _captured(self, name: str, scope: Scope) -> bool:
        """Whether a nested function or lambda reads a name of this scope; one that binds it itself does not."""
        for node in flow(scope).nested:
            inner = self.module.scopes.get(node)
            own = inner is not None and inner.is_function and name in flow(inner).bindings
            own |= isinstance(node, ast.Lambda) and name in {each.arg for each in parameters(node)}
            if not own and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                return True
        return False

    def _target(self, receiver: ast.expr, thing: Thing, stmt: ast.stmt, scope: Scope) -> Target:
        """Where the result of a cast can be kept."""
        if isinstance(receiver, ast.Subscript) and thing.sort in (Sort.TENSOR, Sort.STATE):
            base = self.kinds.of(receiver.value, stmt, scope)
            # what a call returns may be made for this line alone, as `model.state_dict()` is
            made = any(isinstance(node, ast.Call) for node in ast.walk(receiver.value))
            return Target.SUBSCRIPT if not made and (base is None or base.sort is Sort.MAP) else Target.OTHER
        bindings = self.names.bindings(receiver, scope) if isinstance(receiver, ast.Name) else ()
        looped = bool(bindings) and all(b.kind is Bound.LOOP for b in bindings)
        if thing.sort in (Sort.PARAMETER, Sort.BUFFER) or (thing.sort is Sort.STATE and looped):
            called = any(isinstance(node, ast.Call) for node in ast.walk(receiver))
            return Target.OTHER if called else _OF_SORT[thing.sort]
        local = bool(bindings) and all(b.scope is scope and b.name not in flow(scope).outer for b in bindings)
        return Target.LOCAL if local else Target.OTHER

    def _cast(
        self,
        stmt: ast.stmt,
        call: ast.Call,
        receiver: ast.expr,
        scope: Scope,
        thing: Thing,
        target: Target,
        rebinds: bool,
    ) -> Cast:
        assert isinstance(call.func, ast.Attribute)
        tree = self.module.tree
        kept = target in (Target.PARAMETER, Target.BUFFER)
        sharded = self._precedes(stmt, scope, 0) if kept else None
        return Cast(
            span=tree.span(stmt),
            target=target,
            receiver=tree.source(receiver),
            receiver_span=tree.span(receiver),
            method=call.func.attr,
            what=tree.source(call).removeprefix(tree.source(receiver)),
            evidence=thing.why,
            evidence_location=thing.at or self.module.at(receiver),
            moves_only=self._moves_only(call, stmt, scope),
            rebinds=rebinds,
            read_later=self._read_later(receiver, stmt, scope),
            after_sharding=sharded[0] if sharded else None,
            after_name=sharded[1] if sharded else "",
            whole=self._whole(stmt, call, receiver, scope) if sharded else None,
        )

    def _read_later(self, receiver: ast.expr, stmt: ast.stmt, scope: Scope) -> bool:
        if isinstance(receiver, ast.Subscript):
            return True
        if not isinstance(receiver, ast.Name):
            return False
        state = flow(scope)
        if self._captured(receiver.id, scope):
            return True
        own = set(ast.walk(stmt))
        place = (stmt.end_lineno or 0, stmt.end_col_offset or 0)
        for binding in self.names.bindings(receiver, scope):
            # a loop brings every use in its body round again, unless it binds the name anew
            again = [loop for loop in state.context[stmt].loops if loop is not binding.node]
            for use in state.uses.get(binding, ()):
                round_again = any(loop.lineno <= use.lineno <= (loop.end_lineno or 0) for loop in again)
                if use not in own and ((use.lineno, use.col_offset) > place or round_again):
                    return True
        return False

    def _moves_only(self, call: ast.Call, stmt: ast.stmt, scope: Scope) -> bool:
        if last_name(call.func) != "to" or any(k.arg in ("dtype", "other", None) for k in call.keywords):
            return False
        for argument in (*call.args, *(k.value for k in call.keywords)):
            value = self.tracer.value(argument, scope)
            for origin in value.origins:
                if origin.kind in (Kind.DTYPE, Kind.DERIVED) or origin.role is not None or origin.form is Form.DTYPE:
                    return False
            if "dtype" in ast.unparse(argument) or self.kinds.of(argument, stmt, scope) is not None:
                return False
        return True

    def _whole(self, stmt: ast.stmt, call: ast.Call, receiver: ast.expr, scope: Scope) -> tuple[Span, str] | None:
        """The loop as one cast of its module, when it does nothing else and leaves out no parameter."""
        loops = flow(scope).context[stmt].loops
        if not loops or not isinstance(loops[-1], ast.For) or loops[-1].body != [stmt] or loops[-1].orelse:
            return None
        loop, tree = loops[-1], self.module.tree
        match loop.iter:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="parameters" | "named_parameters"), args=[], keywords=[]
            ):
                bound = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
                read = {n.id for a in (*call.args, *call.keywords) for n in ast.walk(a) if isinstance(n, ast.Name)}
                plain = isinstance(call.func, ast.Attribute) and call.func.value is receiver
                if plain and not bound & read and last_name(call.func) != "type_as" and "#" not in tree.source(loop):
                    return tree.span(loop), tree.source(owner) + tree.source(call).removeprefix(tree.source(receiver))
        return None

    # order

    def _precedes(self, stmt: ast.stmt, scope: Scope, depth: int) -> tuple[Location, str] | None:
        """A call that shards, builds an optimizer or runs a backward, before a statement or before its function is called."""
        order = flow(scope).order
        loops = flow(scope).context[stmt].loops if stmt in flow(scope).context else ()
        start = order.get(loops[0] if loops else stmt, 0)
        last: tuple[Location, str] | None = None
        for other, index in order.items():
            for node in expressions(other) if index < start else ():
                if isinstance(node, ast.Call) and self._shards(node, scope, 0):
                    last = (scope.module.at(node), scope.module.tree.source(node.func))
        if last is not None or depth > 1 or not scope.is_function:
            return last
        outside = scope.parent is scope.module.scope
        for module in self.names.modules.mentioning(scope.name) if outside else (scope.module,):
            for node, other, caller in module.calls:
                if last_name(node.func) == scope.name and scope is not caller:
                    if scope in self.names.callees(node.func, caller):
                        last = last or self._precedes(other, caller, depth + 1)
        return last

    def _shards(self, node: ast.Call, scope: Scope, depth: int) -> bool:
        """Whether a call wraps a module, takes its parameters into an optimizer, or runs it backward."""
        symbols = self.names.symbols(node.func, scope)
        paths = [symbol.path for symbol in symbols if isinstance(symbol, External)]
        calls = (self.tracer.calls.get(path) for path in paths)
        if last_name(node.func) in _BUILDS or any(
            call is not None and call.kind in ("shard", "optimizer") for call in calls
        ):
            return True
        for symbol in symbols if depth < 2 else ():
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                nodes = (inner for stmt in statements(symbol.body) for inner in expressions(stmt))
                if any(isinstance(inner, ast.Call) and self._shards(inner, symbol, depth + 1) for inner in nodes):
                    return True
        takes = any(
            isinstance(argument, ast.Call) and last_name(argument.func) == "parameters" for argument in node.args
        )
        known = any(path.partition(".")[0] in ("builtins", "itertools") for path in paths)
        return takes and not known and len(paths) == len(symbols)


_OF_SORT = {
    Sort.PARAMETER: Target.PARAMETER,
    Sort.BUFFER: Target.BUFFER,
    Sort.STATE: Target.STATE,
}


def _is_cast(call: ast.Call) -> bool:
    """A call that casts when its receiver is a tensor; `x.type()` only asks."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in CASTS:
        return False
    return bool(call.args or call.keywords) or call.func.attr not in ("to", "type", "type_as")


def _cast_name(call: ast.expr) -> ast.Name | None:
    """The name that a chain of casts and moves starts from, when there is a cast among them."""
    found = False
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _STEPS:
        found |= call.func.attr in CASTS
        call = call.func.value
        if isinstance(call, ast.Attribute) and call.attr == "data":
            call = call.value
    return call if found and isinstance(call, ast.Name) else None


def _opened(item: ast.expr) -> str:
    """The last name of what a `with` enters."""
    return last_name(item.func if isinstance(item, ast.Call) else item)
