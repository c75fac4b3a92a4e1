"""Whether an expression is a string or a `torch.dtype`, with the evidence; whatever may be both is neither."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from dtypelint.facts import Form
from dtypelint.facts.python.kinds import Kinds
from dtypelint.facts.python.names import Field, Names
from dtypelint.facts.python.once import Once
from dtypelint.facts.python.options import options_of
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location

_DEPTH = 6
_TEXT_METHODS = frozenset({"lower", "upper", "strip", "removeprefix", "removesuffix", "replace", "format", "rstrip"})


@dataclass(frozen=True, slots=True)
class Spelled:
    """STRING or DTYPE, and why."""

    form: Form
    why: str
    at: Location


class Spellings:
    """Answers for one project."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer
        self.kinds = Kinds(names, tracer)
        self._known: Once[Spelled | None] = Once(None)

    def of(self, node: ast.expr, stmt: ast.stmt, scope: Scope, depth: int = 0) -> Spelled | None:
        """What an expression is, or the elements of a list of them."""
        if depth > _DEPTH:
            return None
        at = scope.module.at(node)
        if isinstance(node, ast.Name | ast.Attribute) and self.tracer.torch_dtype(node, scope) is not None:
            constant = not isinstance(node, ast.Name) or all(
                b.kind is Bound.IMPORT for b in self.names.bindings(node, scope)
            )
            if constant:
                return Spelled(Form.DTYPE, "a dtype of torch", at)
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return Spelled(Form.STRING, "a string", at)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return _same([self.of(e, stmt, scope, depth + 1) for e in elements])
            case ast.IfExp(body=body, orelse=orelse):
                return _same([self.of(body, stmt, scope, depth + 1), self.of(orelse, stmt, scope, depth + 1)])
            case ast.Name():
                return _same([self._bound(b, depth) for b in self.names.bindings(node, scope)])
            case ast.Attribute(value=base, attr=attr):
                return self._attribute(node, base, attr, stmt, scope, depth)
            case ast.Call():
                return self._called(node, stmt, scope, depth)
            case ast.Subscript(value=ast.Name() as table):
                return self._element(table, scope, depth)
        return None

    def _attribute(
        self, node: ast.Attribute, base: ast.expr, attr: str, stmt: ast.stmt, scope: Scope, depth: int
    ) -> Spelled | None:
        at = scope.module.at(node)
        if attr == "torch_dtype" and _is_model_config(base):
            return Spelled(Form.DTYPE, "transformers keeps it as a dtype in the config of a model", at)
        fields = [f for c in self.names.classes(base, scope) for f in self.names.fields(c, attr)]
        if fields:
            return _same([self._field(f, depth) for f in fields])
        if attr == "dtype":
            thing = self.kinds.of(base, stmt, scope)
            if thing is not None and thing.is_tensor:
                return Spelled(Form.DTYPE, f"the dtype of a tensor: {thing.why}", at)
        return self._option(attr, base, scope)

    def _field(self, field: Field, depth: int) -> Spelled | None:
        if field.annotation is not None:
            return self._annotated(field.annotation, field.scope)
        if field.value is None or field.is_property:
            return None
        return self.of(field.value, field.node, field.scope, depth + 1)

    def _option(self, attr: str, base: ast.expr, scope: Scope) -> Spelled | None:
        """An option of this file's parser that is kept as the text that was given."""
        module = scope.module
        if not isinstance(base, ast.Name) or b"add_argument" not in module.tree.data:
            return None
        if attr in module.stored:
            return None
        for node in options_of(module, attr):
            given = {k.arg: k.value for k in node.keywords}
            kind, default = given.get("type"), given.get("default")
            typed = isinstance(kind, ast.Name) and kind.id == "str"
            plain = isinstance(default, ast.Constant) and isinstance(default.value, str)
            if typed or (kind is None and plain and "action" not in given):
                return Spelled(Form.STRING, "a command-line option", module.at(node))
        return None

    def _called(self, node: ast.Call, stmt: ast.stmt, scope: Scope, depth: int) -> Spelled | None:
        func, at = node.func, scope.module.at(node)
        if self.names.is_builtin(func, "str", scope):
            return Spelled(Form.STRING, "the result of `str`", at)
        if self.names.is_builtin(func, "getattr", scope) and len(node.args) > 1:
            match node.args[1]:
                case ast.Constant(value="torch_dtype") if _is_model_config(node.args[0]):
                    return Spelled(Form.DTYPE, "transformers keeps it as a dtype in the config of a model", at)
            if "torch" in self.names.paths(node.args[0], scope):
                return Spelled(Form.DTYPE, "an attribute of torch", at)
            return None
        if isinstance(func, ast.Attribute) and func.attr in _TEXT_METHODS:
            inner = self.of(func.value, stmt, scope, depth + 1)
            return inner if inner is not None and inner.form is Form.STRING else None
        for symbol in self.names.callees(func, scope):
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function) and symbol.node.returns is not None:
                return self._annotated(symbol.node.returns, symbol)
        return None

    def _element(self, table: ast.Name, scope: Scope, depth: int) -> Spelled | None:
        """A value of a table that is written out."""
        for binding in self.names.bindings(table, scope):
            if isinstance(binding.value, ast.Dict) and isinstance(binding.node, ast.stmt):
                return _same([self.of(v, binding.node, binding.scope, depth + 1) for v in binding.value.values])
        return None

    def _bound(self, binding: Binding, depth: int) -> Spelled | None:
        if binding.annotation is not None and not binding.path:
            return self._annotated(binding.annotation, binding.scope)
        value, stmt = binding.value, binding.node
        if binding.kind is Bound.ASSIGN and value is not None and not binding.path and isinstance(stmt, ast.stmt):
            return self._known.ask(binding, lambda: self.of(value, stmt, binding.scope, depth + 1))
        if binding.kind is Bound.IMPORT:
            found = [
                self.of(value, stmt, where, depth + 1)
                for value, where in self.names.module_values(binding)
                for stmt in where.body[:1]
            ]
            return _same(found)
        return None

    def _annotated(self, node: ast.expr, scope: Scope) -> Spelled | None:
        """What an annotation says; None beside it makes no difference."""
        at = scope.module.at(node)
        match node:
            case ast.Constant(value=str(text)):
                form = {"str": Form.STRING, "torch.dtype": Form.DTYPE}.get(text)
                return Spelled(form, f"annotated as `{text}`", at) if form is not None else None
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return _same([self._annotated(p, scope) for p in (left, right) if ast.unparse(p) != "None"])
            case ast.Subscript(value=base, slice=index):
                paths = set(self.names.paths(base, scope))
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                if paths & {"typing.Optional", "typing.Union"}:
                    return _same([self._annotated(p, scope) for p in parts if ast.unparse(p) != "None"])
                if paths & {"typing.Literal", "typing_extensions.Literal"}:
                    plain = all(isinstance(p, ast.Constant) and isinstance(p.value, str | None) for p in parts)
                    return Spelled(Form.STRING, f"annotated as `{ast.unparse(node)}`", at) if plain else None
            case ast.Name() | ast.Attribute():
                found = set(self.names.paths(node, scope))
                if found == {"builtins.str"}:
                    return Spelled(Form.STRING, "annotated as `str`", at)
                if found == {"torch.dtype"}:
                    return Spelled(Form.DTYPE, "annotated as `torch.dtype`", at)
        return None


def _same(found: list[Spelled | None]) -> Spelled | None:
    """One for all, when they agree."""
    first = found[0] if found else None
    return first if first is not None and all(f is not None and f.form is first.form for f in found) else None


def _is_model_config(node: ast.expr) -> bool:
    """`model.config`, of whatever model."""
    match node:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="config"):
            return "model" in name.lower()
    return False
