"""The names that the modules of a model may have: rather too many, and none where a part of it cannot be seen."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator

from dtypelint.facts.python.models import Made
from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import External, Field, Names
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import last_name

# classes of torch that hold modules under names of their own
_COMPOUND = re.compile(
    r"^torch\.nn\.(?:.*\.)?(?:Transformer\w*|MultiheadAttention|AdaptiveLogSoftmaxWithLoss)$|^torch\.hub\."
)
# libraries that hold no modules
_PLAIN = frozenset({"torch", "builtins", "numpy", "math", "einops", *sys.stdlib_module_names}) - {"importlib"}
# what wrappers put into names: torch.compile, DDP, FSDP1 and activation checkpointing
_WRAPPERS = ("_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
_NAMING = frozenset({"add_module", "register_module", "setattr"})
_DIGITS = re.compile(r"\d+")
_LIMIT = 300


class Architecture:
    """What was made by some calls, with everything that these build.

    `opaque` says that a module of another library, or one that is handed in, may be a part of it. With `inside`, what is
    handed in was itself made by the calls.
    """

    def __init__(self, names: Names, inside: bool = False) -> None:
        self._names = names
        self._inside = inside
        self._seen: set[Scope] = set()
        self.words: set[str] = set(_WRAPPERS)
        self.opaque = False

    def add(self, made: Made) -> None:
        call, scope = made
        if call is None:
            self._class(scope)
        else:
            self._call(call, scope)

    def has(self, name: str, how: str) -> bool:
        """Whether a module may have a name: as a whole, as one `part` of it, where it `starts` or `ends`, or anywhere."""
        parts = [_plain(part) for part in name.split(".")]
        words = {_plain(word) for word in self.words}
        loose_start, loose_end = how in ("ends", "contains"), how in ("starts", "contains")
        return all(
            any(
                (part in word if loose_start and loose_end and len(parts) == 1 else False)
                or (word.endswith(part) if loose_start and number == 0 else False)
                or (word.startswith(part) if loose_end and number == len(parts) - 1 else False)
                or word == part
                for word in words
            )
            for number, part in enumerate(parts)
            if part
        )

    # what a call builds

    def _visit(self, node: ast.expr, scope: Scope, kept: bool = True) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                self._call(inner, scope, kept or inner is not node)

    def _call(self, node: ast.Call, scope: Scope, kept: bool = True) -> None:
        symbols = self._names.callees(node.func, scope) or tuple(self._listed(node.func, scope))
        if not symbols and kept and not self._gives_a_tensor(node.func, scope):
            self.opaque |= not (self._inside and isinstance(node.func, ast.Attribute))
        for symbol in symbols:
            if isinstance(symbol, External):
                self.opaque |= bool(_COMPOUND.search(symbol.path)) or symbol.path.partition(".")[0] not in _PLAIN
                if symbol.path.startswith("torch.nn.") and not self._inside:
                    self.opaque |= any(self._is_handed_in(each, scope) for each in _elements(node))
            elif symbol.is_class:
                self._class(symbol)
            elif symbol not in self._seen and self._fits(symbol):
                self._body(symbol)
        if last_name(node.func) in _NAMING:
            number = 1 if last_name(node.func) == "setattr" else 0
            self.opaque |= not any(map(_is_spelled, node.args[number : number + 1]))
        if last_name(node.func) == "ModuleDict":
            keys = (each.key for each in ast.walk(node) if isinstance(each, ast.DictComp))
            plain = all(isinstance(each, ast.Dict | ast.DictComp | ast.List) for each in node.args)
            self.opaque |= not plain or not all(map(_is_spelled, keys))

    def _fits(self, scope: Scope) -> bool:
        self._seen.add(scope)
        self.opaque |= len(self._seen) > _LIMIT
        return not self.opaque

    def _listed(self, func: ast.expr, scope: Scope) -> Iterator[External | Scope]:
        """The functions in a table that is written out: `BUILDERS[name](…)`."""
        if isinstance(func, ast.Subscript) and isinstance(func.value, ast.Name):
            for binding in self._names.bindings(func.value, scope):
                if isinstance(binding.value, ast.Dict):
                    for value in binding.value.values:
                        yield from self._names.symbols(value, binding.scope)

    def _gives_a_tensor(self, func: ast.expr, scope: Scope) -> bool:
        """Whether a method is called on what a function of torch, or of Python, gave."""
        while isinstance(func, ast.Attribute | ast.Subscript | ast.BinOp):
            func = func.left if isinstance(func, ast.BinOp) else func.value
        paths = self._names.paths(func.func, scope) if isinstance(func, ast.Call) else ()
        return isinstance(func, ast.Constant | ast.JoinedStr) or bool(paths)

    def _is_handed_in(self, node: ast.expr, scope: Scope) -> bool:
        bindings = self._names.bindings(node, scope) if isinstance(node, ast.Name) else ()
        return any(binding.kind is Bound.PARAMETER for binding in bindings)

    # classes and functions

    def _class(self, cls: Scope) -> None:
        if cls in self._seen or not self._fits(cls):
            return
        bases = self._names.bases(cls)
        if not any(path.startswith("torch.nn.") for path in bases):
            if cls.parent is not None and cls.parent.is_class:
                # the configuration of a module, in its class
                self._class(cls.parent)
            return
        for owner in self._names.mro(cls):
            assert isinstance(owner.node, ast.ClassDef)
            unknown = any(not self._names.symbols(_generic(b), owner.parent or owner) for b in owner.node.bases)
            self.opaque |= unknown
            self._fields(owner)
        outside = [path for path in bases if path.partition(".")[0] not in _PLAIN and not self._is_own(path, cls)]
        self.opaque |= bool(outside) or any(_COMPOUND.search(path) for path in bases)

    def _is_own(self, path: str, cls: Scope) -> bool:
        return all(isinstance(symbol, Scope) for symbol in self._names.lookup(path, cls.module))

    def _fields(self, cls: Scope) -> None:
        used = _used(cls)
        for name, fields in self._names.own_fields(cls).items():
            self.words.add(name)
            for field in fields:
                self._field(field, name in used)
        for inner in cls.module.classes():
            if inner.parent is cls:
                for name, fields in self._names.own_fields(inner).items():
                    self.words.add(name)
                    for field in fields:
                        for held in self._names.annotated(field.annotation, field.scope):
                            self._class(held)
        for method in cls.module.functions():
            if method.parent is cls and method.name == "__init__":
                self._body(method)

    def _field(self, field: Field, used: bool) -> None:
        if field.value is not None and not field.in_body:
            self._visit(field.value, field.scope)
            self.opaque |= used and not self._inside and self._is_handed_in(field.value, field.scope)

    def _body(self, function: Scope) -> None:
        for stmt in statements(function.body):
            alone = stmt.value if isinstance(stmt, ast.Expr) else None
            if isinstance(alone, ast.Constant):
                continue
            for node in expressions(stmt):
                if isinstance(node, ast.Call):
                    self._call(node, function, node is not alone)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    self.words.update(node.value.split("."))
                elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    self.opaque |= function.owner is not None and not _is_spelled(node.slice)


def _plain(word: str) -> str:
    """A word without its numbers: `layer1` and `layer2` are made by one line."""
    return _DIGITS.sub("", word.casefold())


def _is_spelled(node: ast.expr) -> bool:
    """Whether a name is written out, but for numbers in it."""
    number = isinstance(node, ast.Call) and last_name(node.func) == "str"
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) or number


def _elements(node: ast.Call) -> Iterable[ast.expr]:
    """What a container of modules is given."""
    for each in (*node.args, *(k.value for k in node.keywords)):
        inner = each.value if isinstance(each, ast.Starred) else each
        if last_name(node.func) in ("Sequential", "ModuleList", "ModuleDict"):
            parts = inner.elts if isinstance(inner, ast.List | ast.Tuple) else [inner]
            yield from (inner.values if isinstance(inner, ast.Dict) else parts)


def _generic(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def _used(cls: Scope) -> frozenset[str]:
    """The attributes that a class calls, calls a method of, or runs through."""
    found: set[str] = set()
    for node in ast.walk(cls.node):
        seats = [node.func] if isinstance(node, ast.Call) else [node.iter] if isinstance(node, ast.For) else []
        for seat in seats:
            while isinstance(seat, ast.Attribute):
                if isinstance(seat.value, ast.Name) and seat.value.id == "self":
                    found.add(seat.attr)
                seat = seat.value
    return frozenset(found)
