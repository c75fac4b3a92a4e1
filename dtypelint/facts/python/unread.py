"""Precision settings that nothing reads: fields of config classes and locals that were worked out for nobody."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Kind
from dtypelint.facts.arrivals import Declaration, Proof, Unread
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Field, Names, dotted
from dtypelint.facts.python.reads import Reads, Use
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.facts.python.trace import Tracer, tail
from dtypelint.facts.roles import Roles

_MAKERS = {
    *("dataclasses.dataclass", "attr.s", "attr.attrs", "attr.define", "attrs.define", "attrs.frozen", "attr.frozen"),
    *("pydantic.dataclasses.dataclass", "chz.chz"),
}
_MODELS = {"pydantic.BaseModel", "pydantic.main.BaseModel", "pydantic_settings.BaseSettings", "typing.NamedTuple"}
_HARMLESS = {"typing.Generic", "abc.ABC", "builtins.object", "collections.abc.Mapping", "typing.Protocol"}
# what only shows or copies an object that it gets
HEARERS = ("builtins.", "logging.", "copy.", "dataclasses.replace", "typing.cast", "dataclasses.field")


def is_precision(name: str, roles: Roles) -> bool:
    """Whether a name alone says that it is about precision."""
    return not name.startswith("_") and bool(roles.role(name) or roles.flag(name))


class Unreads:
    """Finds the unread settings of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, reads: Reads) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.reads = reads

    def find(self) -> Iterator[Unread]:
        for cls in self.module.classes():
            yield from self._fields(cls)
        for function in self.module.functions():
            yield from self._locals(function)

    # fields

    def _fields(self, cls: Scope) -> Iterator[Unread]:
        own = self.names.own_fields(cls)
        wanted = [
            several
            for name, several in own.items()
            if is_precision(name, self.tracer.roles) and self._declares(several, cls)
        ]
        if not wanted or not self._is_config(cls):
            return
        for several in wanted:
            uses = self.reads.of(several[0].name, self.module)
            if not any(self._may_read(use, cls, several[0].name) for use in uses):
                proof = self._proof(cls)
                if proof is not None:
                    first = several[0]
                    twin = next((u.module.at(u.node) for u in self.reads.of(first.name)), None)
                    yield Unread(
                        first.name, Declaration.FIELD, self.module.tree.span(first.node), cls.name, proof, twin
                    )

    def _declares(self, several: list[Field], cls: Scope) -> bool:
        first = several[0]
        if len(several) > 1 or not first.in_body or first.annotation is None:
            return False
        if "ClassVar" in ast.unparse(first.annotation) or self.names.field_classes(first):
            return False
        # a field of a base: the readers of the base read it
        return len(self.names.fields(cls, first.name)) == 1

    def _is_config(self, cls: Scope) -> bool:
        makers = [d.func if isinstance(d, ast.Call) else d for c in self.names.mro(cls) for d in _decorators(c)]
        found = {p for node in makers for p in self.names.paths(node, cls.parent or cls)}
        outside = {p for p in self.names.bases(cls) if p not in {dotted(c) for c in self.names.mro(cls)}}
        return bool(found & _MAKERS or outside & _MODELS) and outside <= _MODELS | _HARMLESS

    def _may_read(self, use: Use, cls: Scope, name: str) -> bool:
        """Whether a read of the name may be a read of this class' field: unless its object is known to be another one."""
        if use.base is None or use.scope is None:
            return True
        classes = self.names.classes(use.base, use.scope)
        if not classes:
            return not self._is_imported(use.base, use.scope)
        holders = [c for c in classes if self.names.fields(c, name)]
        return any(self._related(c, cls) for c in holders or classes)

    def _is_imported(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an object is a module or a symbol of a library: `torch.bfloat16`."""
        symbols = self.names.symbols(node, scope)
        return bool(symbols) and all(isinstance(s, External) or isinstance(s.node, ast.Module) for s in symbols)

    def _related(self, one: Scope, other: Scope) -> bool:
        return one in self.names.mro(other) or other in self.names.mro(one)

    def _proof(self, cls: Scope) -> Proof | None:
        """What says that the project itself reads this class; None when somebody may read it whole."""
        names = self.names.all_fields(cls)
        readers = users = False
        for module in {*self.names.modules.mentioning(cls.name), *(c.module for c in self.names.mro(cls))}:
            for whole, scope in self.reads.dumps(module):
                classes = self.names.classes(whole, scope)
                if any(self._related(c, cls) or self._holds(c, cls) for c in classes):
                    return None
                if not classes and self._may_be(whole):
                    return None
            for node, scope in self.reads.scopes(module).items():
                match node:
                    case ast.Attribute(value=base, attr=attr, ctx=ast.Load()) if attr in names:
                        inside = scope.owner is not None and self._related(scope.owner, cls)
                        if not inside and cls in self.names.classes(base, scope):
                            readers = True
                    case ast.Name(id=cls.name) | ast.Attribute(attr=cls.name):
                        users |= cls in self.names.symbols(node, scope)
                    case ast.Call() if self._hands_over(node, scope, cls):
                        return None
        return Proof.READERS if readers else Proof.USERS if users else Proof.NONE

    def _may_be(self, node: ast.expr) -> bool:
        """Whether an object of an unknown class may be a config: by its name."""
        return self.tracer.is_config(node) and "kwargs" not in tail(node)

    def _holds(self, outer: Scope, cls: Scope, depth: int = 0) -> bool:
        """Whether a class has a field of another class."""
        if depth > 3:
            return False
        inner = {c for several in self.names.all_fields(outer).values() for f in several for c in self._inner(f)}
        return any(self._related(c, cls) or self._holds(c, cls, depth + 1) for c in inner - {outer})

    def _inner(self, field: Field) -> tuple[Scope, ...]:
        return self.names.field_classes(field) if field.in_body else ()

    def _hands_over(self, call: ast.Call, scope: Scope, cls: Scope) -> bool:
        """Whether a call gives an object of the class, or the class itself, to something outside of the project."""
        given = [*call.args, *(k.value for k in call.keywords if k.arg not in (None, "default_factory"))]
        held = [a for a in given if isinstance(a, ast.Name | ast.Attribute | ast.Call)]
        if not any(cls in self.names.classes(a, scope) for a in held):
            return False
        callees = self.names.callees(call.func, scope)
        return bool(callees) and all(isinstance(s, External) and not s.path.startswith(HEARERS) for s in callees)

    # locals

    def _locals(self, function: Scope) -> Iterator[Unread]:
        state = flow(function)
        for name, bindings in state.bindings.items():
            if not is_precision(name, self.tracer.roles) or name in state.captured or name in state.outer:
                continue
            if any(b.kind is not Bound.ASSIGN or b.path or b.value is None for b in bindings):
                continue
            if any(state.uses.get(b) for b in bindings) or reads_locals(function):
                continue
            chosen = next((b for b in bindings if self._is_worked_out(b)), None)
            if chosen is not None and isinstance(chosen.node, ast.stmt):
                span = self.module.tree.span(chosen.node)
                # a bare alias is a leftover: the setting itself may well be read elsewhere
                alias = isinstance(chosen.value, ast.Name | ast.Attribute)
                yield Unread(name, Declaration.LOCAL, span, function.name, Proof.NONE if alias else Proof.READERS)

    def _is_worked_out(self, binding: Binding) -> bool:
        """Whether a setting decides about the value of a local."""
        assert binding.value is not None
        if isinstance(binding.value, ast.Await) or not isinstance(binding.node, ast.Assign | ast.AnnAssign):
            return False
        if isinstance(binding.node, ast.Assign) and len(binding.node.targets) > 1:
            return False
        traced = self.tracer.trace(binding.value, binding.scope)
        return any(leaf.kind is Kind.SETTING and leaf.role is not None for leaf in (*traced.leaves, *traced.chosen))


def reads_locals(function: Scope) -> bool:
    """Whether a function may read its locals by other means than their names."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("locals", "vars", "eval")
        for stmt in statements(function.body)
        for node in expressions(stmt)
    )


def _decorators(cls: Scope) -> list[ast.expr]:
    assert isinstance(cls.node, ast.ClassDef)
    return cls.node.decorator_list
