"""What kind of thing an expression is, followed through assignments, loops, attributes and calls.

Whatever may be something else is unknown: a module is cast in place, so a guess would be worse than silence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.hints import Hints
from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import Field, Names, Symbol
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.things import NOTHING, Sort, Thing, join, many, mapping, pair
from dtypelint.facts.python.trace import Tracer

_STEPS = 150
_LIBRARIES = frozenset({"torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"})
# functions of torch that may return a module
_OTHERS = frozenset({"load", "compile"})
# methods of tensors that nothing with a `to` in place has (PyG's `Data` has `clone`, `detach`, `contiguous`, `cpu`)
_METHODS = frozenset(
    [
        *("bmm", "index_select", "log_softmax", "masked_fill", "matmul", "new_empty", "new_full", "new_ones"),
        *("new_tensor", "new_zeros", "permute", "repeat_interleave", "reshape", "softmax", "squeeze", "transpose"),
        *("unsqueeze", "view", "view_as"),
    ]
)
_NOT_TENSORS = frozenset({"storage", "typed_storage", "untyped_storage", "numpy", "tolist", "item", "size", "dim"})
_VIEWS = frozenset({"grad", "T", "mT", "H", "mH", "real", "imag"})
_ARITHMETIC = (ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
# layers of torch that give a tensor and keep their parameters in `weight` and `bias`
_LAYERS = frozenset({"Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LayerNorm", "RMSNorm", "GroupNorm"})
_SAME_ELEMENTS = frozenset(
    f"builtins.{name}" for name in ("list", "tuple", "iter", "reversed", "sorted", "set", "filter")
)
_HELD = {
    "parameters": Sort.PARAMETER,
    "named_parameters": Sort.PARAMETER,
    "buffers": Sort.BUFFER,
    "named_buffers": Sort.BUFFER,
    "state_dict": Sort.STATE,
}
_NAMED = {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64"}


class Kinds:
    """Says what expressions of one project are."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer
        self.hints = Hints(names)
        self._steps = 0
        self._active: set[ast.AST | Binding] = set()
        self._registered: dict[Scope, dict[str, Thing]] = {}
        self._sliced: dict[Scope, set[ast.expr]] = {}

    def of(self, node: ast.expr, stmt: ast.AST, scope: Scope) -> Thing | None:
        """What an expression in a statement is; None when it is not known."""
        self._steps = 0
        found = self._of(node, stmt, scope)
        return None if found is None or found.sort is Sort.NOTHING else found

    def cast_dtype(self, call: ast.Call, scope: Scope) -> str:
        """The dtype that a cast asks for, where it is written out."""
        values = (self.tracer.value(argument, scope).hardcoded for argument in call.args)
        named = _NAMED.get(call.func.attr, "") if isinstance(call.func, ast.Attribute) else ""
        return named or self._dtype_argument(call, scope) or next((value for value in values if value), "")

    def _dtype_argument(self, call: ast.Call, scope: Scope) -> str:
        values = (self.tracer.value(k.value, scope).hardcoded for k in call.keywords if k.arg == "dtype")
        return next((value for value in values if value), "")

    def _of(self, node: ast.expr, stmt: ast.AST, scope: Scope) -> Thing | None:
        self._steps += 1
        if self._steps > _STEPS:
            return None
        if node in self._active:
            return NOTHING
        tested = self.hints.tested(node, stmt, scope)
        if tested is NOTHING:
            return None
        self._active.add(node)
        try:
            return self._expression(node, stmt, scope) or tested
        finally:
            self._active.discard(node)

    def _expression(self, node: ast.expr, stmt: ast.AST, scope: Scope) -> Thing | None:
        def of(inner: ast.expr) -> Thing | None:
            return self._of(inner, stmt, scope)

        def derived(inner: ast.expr) -> Thing | None:
            found = of(inner)
            return found.derived if found is not None else None

        match node:
            case ast.Constant(value=None):
                return NOTHING
            case ast.Name():
                return join(map(self._bound, self.names.bindings(node, scope)))
            case ast.Attribute(value=base):
                return self._attribute(node, of(base), scope)
            case ast.Subscript(value=base, slice=index):
                return self._subscript(of(base), index)
            case ast.Call():
                return self._call(node, stmt, scope)
            case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
                return None
            case ast.BinOp(left=left, right=right):
                sides = [side for side in (derived(left), derived(right)) if side is not None]
                known = next((side for side in sides if side.is_tensor), sides[0] if sides else None)
                return known or self._computed(node, scope)
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=inner):
                return derived(inner)
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() | ast.Eq() | ast.NotEq()]):
                return derived(left)
            case ast.IfExp(body=body, orelse=orelse):
                return join((of(body), of(orelse)))
            case ast.BoolOp(values=values):
                return join(map(of, values))
            case ast.NamedExpr(value=inner):
                return of(inner)
            case ast.Tuple(elts=elements):
                return Thing(Sort.TUPLE, parts=tuple(map(of, elements)))
            case ast.List(elts=elements) | ast.Set(elts=elements):
                return many(join(map(of, elements)))
            case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
                return many(of(element))
            case ast.Dict(keys=keys, values=values) if all(keys):
                return mapping(join(map(of, values)))
            case ast.DictComp(value=value):
                return mapping(of(value))
        return None

    def _computed(self, node: ast.BinOp, scope: Scope) -> Thing | None:
        """The result of arithmetic: a module has no operators, and what has them and a `to` is a tensor."""
        own = isinstance(node.op, _ARITHMETIC) and not any(
            (isinstance(side, ast.Constant) and isinstance(side.value, str)) or self.names.classes(side, scope)
            for side in (node.left, node.right)
        )
        return Thing(Sort.TENSOR, "the result of arithmetic", scope.module.at(node)) if own else None

    def _subscript(self, base: Thing | None, index: ast.expr) -> Thing | None:
        match (base.sort, index) if base is not None else None:
            case (Sort.GROUP, ast.Constant(value="params")):
                assert base is not None
                return many(replace(base, sort=Sort.PARAMETER))
            case (Sort.MANY, ast.Slice()):
                return base
            case (Sort.MANY | Sort.MAP, _):
                assert base is not None
                return base.parts[0]
            case (Sort.TUPLE, ast.Constant(value=int(number))) if number >= 0:
                assert base is not None
                return base.unpacked((number,))
        return base.derived if base is not None else None

    # attributes

    def _attribute(self, node: ast.Attribute, base: Thing | None, scope: Scope) -> Thing | None:
        at = scope.module.at(node)
        if base is not None and base.sort is Sort.LAYER and node.attr in ("weight", "bias"):
            return Thing(Sort.PARAMETER, f"`{node.attr}` of {base.why}", at)
        if base is not None:
            return base if node.attr == "data" and base.is_tensor else base.derived if node.attr in _VIEWS else None
        if node.attr == "param_groups":
            return many(Thing(Sort.GROUP, "from the parameter groups of an optimizer", at))
        return join(found for cls in self.names.classes(node.value, scope) for found in self._fields(cls, node.attr))

    def _fields(self, cls: Scope, name: str) -> Iterator[Thing | None]:
        """What the definitions of an attribute give it; registered buffers and parameters are among them."""
        for field in self.names.fields(cls, name):
            yield self._field(field)
        for owner in self.names.mro(cls):
            if owner not in self._registered:
                self._registered[owner] = dict(_registered(owner))
            if name in self._registered[owner]:
                yield self._registered[owner][name]

    def _field(self, field: Field) -> Thing | None:
        found = self.hints.annotated(field.annotation, field.scope)
        if found is None and field.value is not None and not field.is_property:
            return self._of(field.value, field.node, field.scope)
        return found

    # calls

    def _call(self, node: ast.Call, stmt: ast.AST, scope: Scope) -> Thing | None:
        func = node.func
        callees = self.names.callees(func, scope)
        if callees:
            return join(self._called(symbol, node, stmt, scope) for symbol in callees)
        if isinstance(func, ast.Attribute):
            found = self._method(node, func.attr, self._of(func.value, stmt, scope), scope)
            if found is not None:
                return found
        layer = self._of(func, stmt, scope)
        if layer is not None and layer.sort is Sort.LAYER:
            return Thing(Sort.TENSOR, f"the result of {layer.why}", scope.module.at(node))
        return None

    def _method(self, node: ast.Call, name: str, receiver: Thing | None, scope: Scope) -> Thing | None:
        """What a method gives: of something known, or one that only one kind of thing has."""
        at = scope.module.at(node)
        if receiver is not None and receiver.sort is Sort.MAP:
            value = receiver.parts[0]
            found = {"items": many(pair(value)), "values": many(value), "copy": receiver}.get(name)
            return value if name in ("get", "pop", "setdefault") else found
        if receiver is not None and (receiver.is_tensor or receiver.sort is Sort.NOTHING):
            made = receiver.derived if name not in _NOT_TENSORS else None
            return replace(made, dtype=self.cast_dtype(node, scope)) if made is not None and made.is_tensor else made
        if name in _HELD:
            one = Thing(_HELD[name], f"one of `{scope.module.tree.source(node)}`", at)
            return mapping(one) if name == "state_dict" else many(pair(one) if name.startswith("named_") else one)
        return Thing(Sort.TENSOR, f"the result of `.{name}(…)`", at) if name in _METHODS else None

    def _called(self, symbol: Symbol, node: ast.Call, stmt: ast.AST, scope: Scope) -> Thing | None:
        """What a call of a function or class gives."""
        if isinstance(symbol, Scope):
            return self._returned(symbol)
        at = scope.module.at(node)
        library, _, name = symbol.path.rpartition(".")
        made = self.hints.instance(symbol, at)
        if made is None and library in _LIBRARIES and name[0].islower() and name not in _OTHERS:
            made = Thing(Sort.TENSOR, f"the result of `{symbol.path}`", at)
        if made is not None:
            leaf = any(k.arg == "requires_grad" and getattr(k.value, "value", None) is True for k in node.keywords)
            sort = Sort.PARAMETER if leaf else made.sort
            return replace(made, sort=sort, dtype=self._dtype_argument(node, scope))
        if library == "torch.nn" and name in _LAYERS:
            return Thing(Sort.LAYER, f"`{symbol.path}`", at)
        if symbol.path == "safetensors.torch.load_file":
            return mapping(Thing(Sort.STATE, "one of `load_file(…)`", at))
        things = [self._of(argument, stmt, scope) for argument in node.args]
        elements = [thing.element if thing is not None else None for thing in things] or [None]
        match symbol.path:
            case "copy.deepcopy" | "copy.copy" if things:
                return things[0]
            case "builtins.next":
                return elements[0]
            case "builtins.dict":
                return mapping(elements[0].unpacked((1,)) if elements[0] is not None else None)
            case "builtins.enumerate":
                return many(pair(elements[0]))
            case "builtins.zip":
                return many(Thing(Sort.TUPLE, parts=tuple(elements)))
            case "itertools.chain":
                return many(join(elements))
            case path if path in _SAME_ELEMENTS:
                return many(elements[-1])
        return None

    def _returned(self, function: Scope) -> Thing | None:
        """What a function of the project returns: by its annotation, else by its returns."""
        if not isinstance(function.node, Function) or function.node in self._active:
            return None
        found = self.hints.annotated(function.node.returns, function)
        if found is not None:
            return found
        self._active.add(function.node)
        try:
            returns = (s for s in statements(function.body) if isinstance(s, ast.Return))
            return join(self._of(s.value, s, function) if s.value is not None else NOTHING for s in returns)
        finally:
            self._active.discard(function.node)

    # names

    def _bound(self, binding: Binding) -> Thing | None:
        if binding in self._active:
            return NOTHING
        self._active.add(binding)
        try:
            return self._annotated(binding) or self._valued(binding) or self._indexed(binding)
        finally:
            self._active.discard(binding)

    def _annotated(self, binding: Binding) -> Thing | None:
        found = self.hints.annotated(binding.annotation, binding.scope) if not binding.path else None
        if found is not None and isinstance(binding.scope.node, Function):
            args = binding.scope.node.args
            if binding.node in (args.vararg, args.kwarg):
                return many(found) if binding.node is args.vararg else mapping(found)
        return found

    def _valued(self, binding: Binding) -> Thing | None:
        value = self._of(binding.value, binding.node, binding.scope) if binding.value is not None else None
        if binding.kind is Bound.LOOP and value is not None:
            value = value.element
        if binding.kind in (Bound.ASSIGN, Bound.LOOP) and value is not None:
            return value.unpacked(binding.path)
        if binding.kind is Bound.AUGMENT and isinstance(binding.node, ast.stmt):
            before = flow(binding.scope).before[binding.node].get(binding.name, ())
            old = join(self._bound(b) for b in before if b.kind is not Bound.UNBOUND)
            return next((thing.derived for thing in (old, value) if thing is not None and thing.is_tensor), None)
        return None

    def _indexed(self, binding: Binding) -> Thing | None:
        """A name that is indexed with several slices is an array; among arrays only tensors have these casts."""
        scope = binding.scope
        if scope not in self._sliced:
            self._sliced[scope] = {
                node.value
                for stmt in statements(scope.body)
                for node in expressions(stmt)
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple)
                if any(isinstance(part, ast.Slice) for part in node.slice.elts)
            }
        used = next((use for use in flow(scope).uses.get(binding, ()) if use in self._sliced[scope]), None)
        return Thing(Sort.TENSOR, "it is indexed as one", scope.module.at(used)) if used is not None else None


def _registered(cls: Scope) -> Iterator[tuple[str, Thing]]:
    """The buffers and parameters that the methods of a class register by name."""
    methods = (scope for scope in cls.module.functions() if scope.owner is cls)
    for stmt in (stmt for method in methods for stmt in statements(method.body)):
        match stmt:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr=how), args=[ast.Constant(value=str(name)), *_]) as call
            ) if how in ("register_buffer", "register_parameter"):
                sort = Sort.BUFFER if how == "register_buffer" else Sort.PARAMETER
                yield name, Thing(sort, f"registered as a {sort}", cls.module.at(call))
