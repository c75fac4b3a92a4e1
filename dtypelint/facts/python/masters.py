"""Weights that are trained in 16 bit: from the optimizer or trainer back to the call that loaded or cast them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dtypelint.facts import LOW_PRECISION, is_pure
from dtypelint.facts.masters import LowWeights
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names, dotted
from dtypelint.facts.python.objects import Frame, Objects
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.syntax import is_none
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location

_WORTH = re.compile(rb"optim|[tT]rainer")
_NARROW = {"half": "float16", "bfloat16": "bfloat16"}
# methods of modules that give the module itself
_SAME = frozenset({"cuda", "cpu", "train", "eval", "xpu", "npu", "compile"})
# calls whose first argument comes back wrapped
_WRAPS = frozenset({"torch.compile", "copy.deepcopy", "torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_HELD = frozenset({"parameters", "named_parameters"})
# what keeps a copy in float32, trains other weights than those that were loaded, or hands the work to somebody who does
_KEEPS = re.compile(
    r"upcast|fp32|float32|master_?(?:weight|param|copy|cop)|lora|peft|adapter|kbit|quant|freez|deepspeed|(?:^|\.)prepare(?:_model)?$"
    r"|stochastic_?round|scaler|kahan",
    re.IGNORECASE,
)
_QUANTIZED = frozenset({"quantization_config", "load_in_8bit", "load_in_4bit"})
_DEPTH = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Where weights get a dtype; an empty one means that they are wide, or that somebody keeps a wide copy."""

    dtype: str = ""
    how: str = ""
    at: Location | None = None
    scope: Scope | None = None
    sure: bool = True
    versions: str = ""


_WIDE = _Found()


class Masters:
    """Finds the weights that one module trains."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, targets: Targets) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.targets = targets
        self.objects = Objects(names)
        self._active: set[ast.AST] = set()

    def find(self) -> Iterator[LowWeights]:
        if not _WORTH.search(self.module.tree.data):
            return
        seen: set[Location] = set()
        for node, stmt, scope in self.module.calls:
            for held in self._trained(node, scope):
                found = self._weights(held, stmt, Frame(scope))
                if found.at is not None and found.at not in seen and not self._kept(node, scope, found):
                    seen.add(found.at)
                    yield self._made(node, scope, found)

    def _made(self, node: ast.Call, scope: Scope, found: _Found) -> LowWeights:
        assert found.at is not None
        here = found.scope is scope
        at = self.module.at(node)
        return LowWeights(
            span=found.at.span if here else at.span,
            dtype=found.dtype,
            how=found.how,
            lowered=found.at,
            trainer=self.module.tree.source(node.func),
            trained=at,
            sure=found.sure,
            versions=found.versions,
        )

    # what is trained

    def _trained(self, node: ast.Call, scope: Scope) -> Iterator[ast.expr]:
        """The models that an optimizer of torch, or a trainer, is given."""
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "__init__" and _is_super(func.value):
            owner = scope.owner
            paths: Iterable[str] = self.names.bases(owner) if owner is not None else ()
        else:
            paths = self.names.paths(func, scope)
        apis = [api for path in paths if (api := self.tracer.calls.get(path)) is not None]
        if any(api.kind == "optimizer" and api.library == "torch" for api in apis):
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "params"), None)
            if first is not None and not _KEEPS.search(ast.unparse(first)):
                owners = {ast.unparse(owner): owner for owner in self._owners(first, scope)}
                if len(owners) == 1:
                    yield from owners.values()
        elif any(api.kind == "owner" and api.name in ("Trainer", "TrlTrainer") for api in apis):
            if not any(_KEEPS.search(k.arg or "") and not is_none(k.value) for k in node.keywords):
                yield from (k.value for k in node.keywords if k.arg == "model")

    def _owners(self, node: ast.expr, scope: Scope, depth: int = 0) -> Iterator[ast.expr]:
        """What the parameters in an expression belong to."""
        for inner in ast.walk(node):
            match inner:
                case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _HELD:
                    yield base
                case ast.Name(ctx=ast.Load()) if depth < 2:
                    for binding in self.names.bindings(inner, scope):
                        if binding.kind is Bound.ASSIGN and binding.value is not None and binding.scope is scope:
                            if isinstance(binding.value, ast.List | ast.ListComp | ast.Call):
                                yield from self._owners(binding.value, scope, depth + 1)

    # where its weights come from

    def _weights(self, node: ast.expr, stmt: ast.stmt, frame: Frame, depth: int = 0) -> _Found:
        """The dtype of a model at a statement: that of its last cast there, else that of what it was made from."""
        casts = [found for found in self._casts(node, stmt, frame) if found is not None]
        return casts[-1] if casts else self._source(node, frame, depth)

    def _casts(self, node: ast.expr, stmt: ast.stmt, frame: Frame) -> Iterator[_Found | None]:
        """What the statements before one, or any of its class for an attribute, do to a model in place."""
        text = ast.unparse(node)
        scope = frame.scope
        scopes = [scope]
        if text.startswith("self.") and scope.owner is not None:
            scopes = [s for s in scope.module.functions() if s.owner is scope.owner]
        for each in scopes:
            state = flow(each)
            for other in statements(each.body):
                if each is scope and state.order.get(other, 0) >= state.order.get(stmt, 0):
                    continue
                if isinstance(other, ast.Expr) and isinstance(other.value, ast.Call) and _root(other.value) == text:
                    found = self._method(other.value, Frame(each), _DEPTH)
                    guarded = bool(state.context[other].guards) if other in state.context else False
                    if found is not None and found.dtype and self._on_purpose(other, each):
                        found = None
                    yield replace(found, sure=found.sure and not guarded) if found is not None else None

    def _source(self, node: ast.expr, frame: Frame, depth: int) -> _Found:
        if depth > _DEPTH or node in self._active:
            return _Found(how="cycle")
        self._active.add(node)
        try:
            return self._made_by(node, frame, depth)
        finally:
            self._active.discard(node)

    def _made_by(self, node: ast.expr, frame: Frame, depth: int) -> _Found:
        match node:
            case ast.Name():
                given = frame.arguments.get(node.id)
                found = [self._bound(b, frame, depth) for b in self.names.bindings(node, frame.scope)]
                if given is not None and any(f is None for f in found):
                    found = [f or self._source(given[0], given[1], depth + 1) for f in found]
                return _either([f for f in found if f is not None])
            case ast.Attribute(value=base, attr=attr):
                fields = [f for cls in self.names.classes(base, frame.scope) for f in self.names.fields(cls, attr)]
                made = [
                    self._source(f.value, Frame(f.scope), depth + 1) for f in fields if f.value and not is_none(f.value)
                ]
                return _either(made)
            case ast.IfExp(body=body, orelse=orelse):
                return _either([self._source(body, frame, depth + 1), self._source(orelse, frame, depth + 1)])
            case ast.Call():
                return self._call(node, frame, depth)
        return _WIDE

    def _bound(self, binding: Binding, frame: Frame, depth: int) -> _Found | None:
        """None for a parameter: its argument says."""
        if binding.kind is Bound.PARAMETER:
            return None
        if binding.kind is not Bound.ASSIGN or binding.value is None or binding.path:
            return _WIDE
        inside = frame if binding.scope is frame.scope else Frame(binding.scope)
        return self._source(binding.value, inside, depth + 1)

    def _call(self, node: ast.Call, frame: Frame, depth: int) -> _Found:
        loaded = self._loaded(node, frame.scope)
        if loaded is not None:
            return loaded
        found = self._method(node, frame, depth)
        if found is not None:
            return found
        symbols = self.names.callees(node.func, frame.scope)
        for symbol in symbols:
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                inside = self.objects.called(node, symbol, _home(node, frame.scope), frame)
                returns = [s.value for s in statements(symbol.body) if isinstance(s, ast.Return) and s.value]
                return _either([self._source(value, inside, depth + 1) for value in returns])
        apis = (self.tracer.calls.get(dotted(symbol)) for symbol in symbols)
        wraps = any(isinstance(s, External) and s.path in _WRAPS for s in symbols)
        if node.args and (wraps or any(api is not None and api.kind == "shard" for api in apis)):
            return self._source(node.args[0], frame, depth + 1)
        return _WIDE

    def _method(self, node: ast.Call, frame: Frame, depth: int) -> _Found | None:
        """What a method of a module does to its weights; None for any other call."""
        if not isinstance(node.func, ast.Attribute):
            return None
        name, base, scope = node.func.attr, node.func.value, frame.scope
        narrow: tuple[str, bool] | None = None
        if name in _NARROW and not node.args:
            narrow = (_NARROW[name], True)
        elif name == "to":
            values = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
            narrow = next((low for value in values if (low := self._dtype(value, scope))), None)
        elif name in ("float", "requires_grad_"):
            return _WIDE
        elif name not in _SAME:
            return None
        if narrow is None:
            return self._source(base, frame, depth + 1) if depth < _DEPTH else None
        dtype, sure = narrow
        return _Found(dtype, "cast to", scope.module.at(node), scope, sure) if dtype in LOW_PRECISION else _WIDE

    def _loaded(self, node: ast.Call, scope: Scope) -> _Found | None:
        """What a loader of a library loads; None for any other call."""
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("from_pretrained", "from_config"):
            return None
        paths = [s.path for s in self.names.symbols(node.func, scope) if isinstance(s, External)]
        given = {k.arg: k.value for k in node.keywords}
        if not paths or None in given or _QUANTIZED & given.keys():
            return _WIDE
        dtype = given.get("dtype") or given.get("torch_dtype")
        at = scope.module.at(node)
        if dtype is None or (isinstance(dtype, ast.Constant) and dtype.value == "auto"):
            default = any(path.startswith("transformers.") for path in paths) and node.func.attr == "from_pretrained"
            asked = dtype is not None
            if asked or (default and self.targets.affects("transformers", ">=5.0")):
                versions = "" if asked else "transformers >=5.0"
                return _Found("checkpoint", "loaded in", at, scope, False, versions)
            return _WIDE
        low = self._dtype(dtype, scope)
        return _Found(low[0], "loaded in", at, scope, low[1]) if low and low[0] in LOW_PRECISION else _WIDE

    def _dtype(self, node: ast.expr, scope: Scope) -> tuple[str, bool] | None:
        """The dtype that an argument spells, a 16-bit one first, and whether it can be no other."""
        value = self.tracer.value(node, scope)
        if value.hardcoded is not None:
            return value.hardcoded, True
        low = [dtype for dtype in value.dtypes if dtype in LOW_PRECISION]
        return (low[0], False) if low else next(((dtype, False) for dtype in value.dtypes), None)

    # who keeps a wide copy

    def _kept(self, node: ast.Call, scope: Scope, found: _Found) -> bool:
        """Whether the code around keeps weights in float32, or trains only some that were added."""
        for each in {scope, found.scope or scope}:
            for stmt in statements(each.body):
                for inner in expressions(stmt):
                    if isinstance(inner, ast.Call) and inner is not node and _KEEPS.search(ast.unparse(inner.func)):
                        return True
                if isinstance(stmt, ast.Assign) and any("data" in ast.unparse(t) for t in stmt.targets):
                    if re.search(r"float32|\.float\(", ast.unparse(stmt.value)):
                        return True
        return False

    def _on_purpose(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether a mode that is pure 16 bit by its name was asked for."""
        context = flow(scope).context.get(stmt)
        return context is not None and any(is_pure(ast.unparse(guard.test)) for guard in context.guards)


def _either(found: list[_Found]) -> _Found:
    """One of several ways: wide when one of them is."""
    real = [each for each in found if each.how != "cycle"]
    low = [each for each in real if each.dtype]
    if not low or len(low) < len(real):
        return _WIDE
    return replace(low[0], sure=low[0].sure and len(low) == 1)


def _home(node: ast.Call, scope: Scope) -> ast.stmt:
    """The statement of a call."""
    return next(stmt for stmt in statements(scope.body) if node in set(expressions(stmt)))


def _root(node: ast.expr) -> str:
    """What a chain of methods starts from."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return ast.unparse(node)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
