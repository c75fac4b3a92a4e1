"""Which call made a model: followed through names, attributes, parameters, functions, moves and wrappers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from dtypelint.facts.python.module import statements
from dtypelint.facts.python.names import External, Field, Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import argument, is_none, last_name
from dtypelint.knowledge import Call

# methods of modules that give the module itself
_SAME = frozenset(
    ["to", "cuda", "cpu", "train", "eval", "half", "float", "bfloat16", "double", "requires_grad_", "to_empty", "apply"]
)
_WRAPS = frozenset(
    [
        *("torch.compile", "copy.deepcopy", "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"),
        *("torch.distributed.fsdp.FullyShardedDataParallel", "torch.jit.script"),
    ]
)
_DEPTH = 10
_FILES = 30
Made = tuple[ast.Call | None, Scope]


class Models:
    """Answers for one project: a call with its scope, or None with the class of a model that no call is known of."""

    def __init__(self, names: Names, calls: Mapping[str, Call]) -> None:
        self.names = names
        self.calls = calls

    def is_module(self, cls: Scope) -> bool:
        return any(path.startswith("torch.nn.") for path in self.names.bases(cls))

    def made(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[Made, ...]:
        """Everything that may have made the model of an expression; empty when one way is not known."""
        if depth > _DEPTH:
            return ()
        match node:
            case ast.Name():
                return _all(self._bound(b, depth + 1) for b in self.names.bindings(node, scope))
            case ast.Attribute(value=base, attr=attr):
                classes = self.names.classes(base, scope)
                fields = [f for cls in classes for f in self.names.fields(cls, attr) if not is_none(f.value)]
                return _all(self._field(f, depth + 1) for f in fields)
            case ast.Call(func=func):
                return self._called(node, func, scope, depth + 1)
            case ast.IfExp(body=body, orelse=orelse):
                return _all((self.made(body, scope, depth + 1), self.made(orelse, scope, depth + 1)))
        return ()

    def _field(self, field: Field, depth: int) -> tuple[Made, ...]:
        return self.made(field.value, field.scope, depth) if field.value is not None else ()

    def _bound(self, binding: Binding, depth: int) -> tuple[Made, ...]:
        if binding.kind is Bound.PARAMETER:
            known = self.names.annotated(binding.annotation, binding.scope) or self._own(binding)
            if known:
                return tuple((None, cls) for cls in known) if all(map(self.is_module, known)) else ()
            return _all(self.made(given, caller, depth) for given, caller in self._given(binding))
        # what a loop runs through holds what it binds
        if binding.kind in (Bound.ASSIGN, Bound.LOOP) and binding.value is not None and not binding.path:
            return self.made(binding.value, binding.scope, depth)
        return ()

    def _own(self, binding: Binding) -> tuple[Scope, ...]:
        """The class of `self`."""
        scope, function = binding.scope, binding.scope.node
        method = scope.parent is not None and scope.parent.is_class and isinstance(function, Function)
        if method and isinstance(function, Function) and binding.node is parameters(function)[0]:
            return (scope.parent,) if scope.parent is not None else ()
        return ()

    def _given(self, binding: Binding) -> Iterator[tuple[ast.expr, Scope]]:
        """What the callers of a function hand to its parameter."""
        function = binding.scope
        if not isinstance(function.node, Function) or function.name == "__init__":
            return
        order = [a.arg for a in parameters(function.node)]
        order = order[1:] if function.parent is not None and function.parent.is_class else order
        for path in self.names.modules.files_with(function.name)[:_FILES]:
            module = self.names.modules.module(path)
            for call, _, caller in module.calls if module is not None else ():
                given = argument(call, binding.name, order) if last_name(call.func) == function.name else None
                if given is not None and function in self.names.callees(call.func, caller):
                    yield given, caller

    def _called(self, node: ast.Call, func: ast.expr, scope: Scope, depth: int) -> tuple[Made, ...]:
        symbols = self.names.callees(func, scope)
        if not symbols and isinstance(func, ast.Attribute) and func.attr in _SAME:
            return self.made(func.value, scope, depth)
        return _all(self._from(symbol, node, scope, depth) for symbol in symbols)

    def _from(self, symbol: External | Scope, node: ast.Call, scope: Scope, depth: int) -> tuple[Made, ...]:
        if isinstance(symbol, External):
            api = self.calls.get(symbol.path)
            if node.args and (symbol.path in _WRAPS or (api is not None and api.kind in ("shard", "fp8_convert"))):
                return self.made(node.args[0], scope, depth)
            head, _, name = symbol.path.rpartition(".")
            return ((node, scope),) if head.startswith("torch.nn") and name[:1].isupper() else ()
        if symbol.is_class:
            return ((node, scope),) if self.is_module(symbol) else ()
        returned = [s.value for s in statements(symbol.body) if isinstance(s, ast.Return) and s.value is not None]
        return _all(self.made(value, symbol, depth) for value in returned)


def _all(ways: Iterable[tuple[Made, ...]]) -> tuple[Made, ...]:
    """Everything from several ways; empty when one of them is not known."""
    found = list(ways)
    return tuple(dict.fromkeys(made for each in found for made in each)) if all(found) else ()
