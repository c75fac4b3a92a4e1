"""What an object offers its methods: its attributes, the configs that it holds, what other methods worked out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from dtypelint.facts import Form, Role, Setting
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import Field, Names
from dtypelint.facts.python.readable import Readable, last
from dtypelint.facts.python.scope import Bound, Function, Scope, parameters
from dtypelint.facts.python.trace import Tracer

_SISTERS = 40


class Held:
    """Hops 3, 4, 5 and 7 of reach, for the methods of one class."""

    def __init__(self, names: Names, tracer: Tracer, readable: Readable) -> None:
        self.names = names
        self.tracer = tracer
        self.readable = readable
        self._found_readers: dict[tuple[str, str], list[Module]] = {}

    def self_name(self, scope: Scope) -> str:
        inner: Scope | None = scope
        while inner is not None and not (inner.parent is not None and inner.parent.is_class):
            inner = inner.parent
        if inner is None or not isinstance(inner.node, Function):
            return ""
        if any(ast.unparse(d) in ("staticmethod", "classmethod") for d in inner.node.decorator_list):
            return ""
        args = parameters(inner.node)
        return args[0].arg if args else ""

    def own(self, cls: Scope, me: str) -> Iterator[Setting]:
        for name, fields in self.names.all_fields(cls).items():
            yield from self.readable.field(name, fields, me, cls, 3, None)

    def configs(self, cls: Scope, me: str) -> Iterator[Setting]:
        """Fields behind an attribute of `self`."""
        for name, fields in self.names.all_fields(cls).items():
            for field in fields:
                for config in self.names.field_classes(field):
                    if config is not cls:
                        yield from self.readable.fields_of(config, f"{me}.{name}", 4, {cls})
        yield from self._kept_by_owner(cls, me)
        for base in self.names.mro(cls):
            for text, reads in self.readable.reads(base).items():
                if text.startswith(f"{me}."):
                    for read, node, where in reads:
                        found = self.readable.role(last(node), text.rpartition(".")[2])
                        if found is not None:
                            kind = f"read from `{text}`"
                            yield self.readable.seen(node, found, read, read, where.module.at(node), kind)
            for method in (s for s in base.module.functions() if s.parent is base):
                yield from self._handed(method, base, me)

    def _handed(self, method: Scope, cls: Scope, me: str) -> Iterator[Setting]:
        """What the code says of an attribute of `self`: the class that it is tested for, the fields that a callee reads."""
        for stmt in statements(method.body):
            for call in expressions(stmt):
                if not isinstance(call, ast.Call):
                    continue
                if self.names.is_builtin(call.func, "isinstance", method) and len(call.args) == 2:
                    base = self._attribute_of_self(call.args[0], me)
                    if base and not self.names.classes(call.args[0], method):
                        for symbol in self.names.symbols(call.args[1], method):
                            if isinstance(symbol, Scope) and symbol.is_class and symbol is not cls:
                                yield from self.readable.fields_of(symbol, base, 4, {cls})
                    continue
                given = {
                    key: base
                    for key, arg in [*enumerate(call.args), *((k.arg, k.value) for k in call.keywords)]
                    if (base := self._attribute_of_self(arg, me))
                }
                if given:
                    yield from self._callee_reads(call, method, given)

    def _callee_reads(self, call: ast.Call, method: Scope, given: dict[int | str | None, str]) -> Iterator[Setting]:
        for callee in self.names.callees(call.func, method):
            if not isinstance(callee, Scope) or not isinstance(callee.node, Function):
                continue
            names = [a.arg for a in parameters(callee.node)]
            if callee.parent is not None and callee.parent.is_class:
                names = names[1:]
            for key, base in given.items():
                name = key if isinstance(key, str) else names[key] if isinstance(key, int) and key < len(names) else ""
                for _, node, where in self.readable.reads(callee).get(name, ()):
                    role = self.readable.role(last(node), base.rpartition(".")[2])
                    if role is not None and name:
                        read = f"{base}.{last(node)}"
                        kind = f"read by `{callee.name}`"
                        place = where.module.at(node)
                        yield self.readable.seen(node, role, read, read, place, kind, isinstance(node, ast.Call))

    def _attribute_of_self(self, node: ast.expr, me: str) -> str:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == me:
                return f"{me}.{attr}"
        return ""

    def _kept_by_owner(self, cls: Scope, me: str) -> Iterator[Setting]:
        """The precision that a base class outside the project keeps on the object (`rules/apis`)."""
        assert isinstance(cls.node, ast.ClassDef)
        owners = (self.tracer.calls.get(path) for path in self.names.bases(cls))
        for call in (owner for owner in owners if owner is not None):
            for read, role in (call.extra.get("settings") or {}).items():
                name = read.rpartition(".")[2]
                form = self.readable.form(name, None) if self.tracer.roles.flag(name) else Form.STRING
                where = cls.module.at(cls.node.bases[0])
                yield Setting(name, Role(role), form, None, f"{me}.{read}", where, f"kept by `{call.name}`", 3)

    def elsewhere(self, cls: Scope, scope: Scope) -> Iterator[Setting]:
        """Locals of the other methods of the class that were computed from a setting."""
        for base in self.names.mro(cls):
            for method in (s for s in base.module.functions() if s.parent is base and s is not scope):
                for name, bindings in flow(method).bindings.items():
                    if bindings[0].kind is Bound.PARAMETER and method.name != "__init__":
                        continue
                    for setting in self.readable.named(name, tuple(bindings), 5):
                        yield replace(setting, text=None, kind=f"local of `{method.name}`")

    def sisters(self, scope: Scope) -> Iterator[Setting]:
        """What sister modules read from a config that this class holds too, beside an autocast of their own."""
        cls, me = scope.owner, self.self_name(scope) if scope.owner is not None else ""
        if cls is None or not me:
            return
        for name in self._held(cls, me):
            for module in self._readers(scope.module, name):
                for function in module.functions():
                    for text, reads in self.readable.reads(function).items():
                        if text.rpartition(".")[2] != name:
                            continue
                        for _, node, where in reads:
                            if self.readable.role(last(node), name) is Role.AUTOCAST:
                                read = f"{me}.{name}.{last(node)}"
                                kind = f"read by `{where.name}`"
                                place = where.module.at(node)
                                yield Setting(
                                    *(last(node), Role.AUTOCAST, Form.UNKNOWN, None, read, place, kind, 7, True),
                                    resolved=False,
                                )

    def _held(self, cls: Scope, me: str) -> tuple[str, ...]:
        """The configs that the methods of a class read from `self`, where it does not write them out itself."""
        found: dict[str, None] = {}
        for base in self.names.mro(cls):
            for method in (s for s in base.module.functions() if s.owner is base):
                for stmt in statements(method.body):
                    for node in expressions(stmt):
                        if self._attribute_of_self(node, me) and self.tracer.is_config(node):
                            found[last(node)] = None
        fields = self.names.all_fields(cls)
        return tuple(name for name in found if not any(map(self._is_written_out, fields.get(name, ()))))

    def _is_written_out(self, field: Field) -> bool:
        value = field.value
        bindings = self.names.bindings(value, field.scope) if isinstance(value, ast.Name) else ()
        return any(isinstance(each, ast.Dict) for each in (value, *(b.value for b in bindings)))

    def _readers(self, module: Module, name: str) -> list[Module]:
        """The other modules of the same package that speak of a config and of autocast."""
        top = module.path.partition("/")[0]
        key = (top, name)
        if key not in self._found_readers:
            paths = [p for p in self.names.modules.files_with(name, "autocast") if p.partition("/")[0] == top]
            found = (self.names.modules.module(p) for p in paths[:_SISTERS])
            self._found_readers[key] = [m for m in found if m is not None]
        return [m for m in self._found_readers[key] if m is not module]
