"""Settings as they are read: a name, a field or a key of some role, and the conversion that its siblings use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from dtypelint.facts import Form, Kind, Role, Setting
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import Field, Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults
from dtypelint.facts.python.syntax import is_none
from dtypelint.facts.python.trace import Leaf, Tracer, form_of
from dtypelint.finding import Location

_CONFIG_DEPTH = 3
Read = tuple[str, ast.expr, Scope]


class Readable:
    """Makes settings out of names, fields and reads; what a function or class reads is kept."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer
        self._kept: dict[Scope, dict[str, list[Read]]] = {}

    def role(self, name: str, owner: str = "") -> Role | None:
        role = self.tracer.roles.role(name, owner)
        if role is None and self.tracer.roles.flag(name):
            return Role.GENERAL
        return role

    def form(self, name: str, annotation: ast.expr | None, default: ast.expr | None = None) -> Form:
        form = form_of(annotation)
        if self.tracer.roles.flag(name):
            return Form.FLAG
        if form is Form.UNKNOWN and isinstance(default, ast.Constant):
            if isinstance(default.value, bool):
                return Form.FLAG
            if isinstance(default.value, str):
                return Form.STRING
        return form

    def may_be_none(self, annotation: ast.expr | None, default: ast.expr | None) -> bool:
        text = ast.unparse(annotation) if annotation is not None else ""
        return "None" in text or "Optional" in text or is_none(default)

    def swap(self, leaf: Leaf, text: str) -> str | None:
        """The text of a leaf's conversion with another setting in its place."""
        root = leaf.root
        if root is None:
            return None
        tree = (leaf.root_scope or leaf.scope).module.tree
        outer, inner = tree.span(root), tree.span(leaf.node)
        if leaf.root_scope is not leaf.scope or not outer.start <= inner.start <= inner.end <= outer.end:
            return None
        data = tree.data
        return (data[outer.start : inner.start] + text.encode() + data[inner.end : outer.end]).decode()

    def named(self, name: str, bindings: tuple[Binding, ...], hop: int) -> Iterator[Setting]:
        role = self.role(name)
        if role is None or any(self._is_policy(b) for b in bindings):
            return
        first = bindings[0]
        if all(b.kind is Bound.PARAMETER for b in bindings):
            yield self.parameter(name, role, first, hop)
        elif all(b.kind in (Bound.PARAMETER, Bound.ASSIGN) for b in bindings):
            leaves = [
                leaf for b in bindings if b.value is not None for leaf in self.tracer.trace(b.value, b.scope).leaves
            ]
            chosen = any(b.value is not None and self.tracer.trace(b.value, b.scope).chosen for b in bindings)
            several = len({leaf.text for leaf in leaves if leaf.kind is Kind.DTYPE}) > 1
            dead = hop == 1 and self.is_dead(name, bindings)
            parameter = first.kind is Bound.PARAMETER
            if any(leaf.kind is Kind.SETTING for leaf in leaves) or chosen or several or parameter or dead:
                direct = len(bindings) == 1 and isinstance(first.value, ast.Name | ast.Attribute | ast.Subscript)
                form = self.form(name, first.annotation) if direct else Form.DTYPE
                hops = tuple(
                    (leaf.scope.module.at(leaf.node), "read here") for leaf in leaves if leaf.kind is Kind.SETTING
                )
                optional = any(leaf.kind is Kind.NONE for leaf in leaves)
                yield Setting(name, role, form, name, name, at(first), "local", hop, optional, hops=hops[:1], dead=dead)

    def _is_policy(self, binding: Binding) -> bool:
        """Whether a local holds a policy, which is made of settings and is none."""
        value = binding.value
        paths = self.names.paths(value.func, binding.scope) if isinstance(value, ast.Call) else ()
        calls = (self.tracer.calls.get(path) for path in paths)
        return any(call is not None and call.kind == "policy" for call in calls)

    def is_dead(self, name: str, bindings: tuple[Binding, ...]) -> bool:
        """Whether nothing reads a local."""
        state = flow(bindings[0].scope)
        return name not in state.captured and not any(state.uses.get(b) for b in bindings)

    def parameter(self, name: str, role: Role, binding: Binding, hop: int) -> Setting:
        function = binding.scope.node
        default = defaults(function).get(name) if isinstance(function, Function) else None
        return Setting(
            name,
            role,
            self.form(name, binding.annotation, default),
            name,
            name,
            at(binding),
            f"parameter of `{binding.scope.name}`",
            hop,
            self.may_be_none(binding.annotation, default),
            self.choices(binding.annotation, binding.scope),
        )

    def seen(
        self, node: ast.expr, role: Role, read: str, text: str | None, at: Location, kind: str, optional: bool = False
    ) -> Setting:
        """A field that is read from an object of unknown class."""
        form = self.form(last(node), None)
        return Setting(last(node), role, form, text, read, at, kind, 4, optional, resolved=False)

    def field(
        self, name: str, fields: list[Field], base: str, cls: Scope, hop: int, leaf: Leaf | None
    ) -> Iterator[Setting]:
        role = self.role(name, cls.name)
        if name.startswith("_") and hop != 3:
            # private to another object
            return
        if hop != 3 and all(f.is_property for f in fields):
            # another object works it out: nobody wrote it there
            return
        if _is_mapping(fields):
            return
        classes = [c for f in fields for c in self.names.field_classes(f)]
        if role is None or not all(self.is_enum(c) for c in classes):
            return
        first = next((f for f in fields if f.in_body), fields[0])
        values = [f.value for f in fields if f.value is not None]
        if values and not first.in_body and not self._is_several(fields):
            if not any(self.is_setting(f) for f in fields if f.value is not None):
                return
        text = f"{base}.{name}"
        optional = any(self.may_be_none(f.annotation, f.value) for f in fields)
        form = self.form(name, first.annotation, first.value if first.in_body else None)
        if not first.in_body and form is Form.UNKNOWN and isinstance(first.value, ast.Call | ast.Subscript):
            form = Form.DTYPE
        swapped = self.swap(leaf, text) if leaf is not None else text
        kind = f"field of `{cls.name}`" if first.in_body else f"attribute of `{cls.name}`"
        location = first.owner.module.at(first.node)
        choices = self.choices(first.annotation, first.scope) or tuple(d for c in classes for d in self.members(c))
        yield Setting(name, role, form, swapped, text, location, kind, hop, optional, choices)

    def choices(self, annotation: ast.expr | None, scope: Scope) -> tuple[str, ...]:
        """The dtypes that an annotation lists: a `Literal`, or the members of an enum."""
        if annotation is None:
            return ()
        listed = [
            node.value
            for literal in ast.walk(annotation)
            if isinstance(literal, ast.Subscript) and ast.unparse(literal.value).endswith("Literal")
            for node in ast.walk(literal.slice)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        found = [d for text in listed if (d := self.tracer.roles.dtype(text)) is not None]
        members = [d for c in self.names.annotated(annotation, scope) for d in self.members(c)]
        return tuple(dict.fromkeys(found + members))

    def is_enum(self, cls: Scope) -> bool:
        """Whether a class lists choices."""
        return any(path.startswith("enum.") for path in self.names.bases(cls))

    def members(self, cls: Scope) -> tuple[str, ...]:
        """The dtypes that the members of an enum spell."""
        values = (f.value for several in self.names.own_fields(cls).values() for f in several if self.is_enum(cls))
        texts = (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))
        return tuple(d for text in texts if (d := self.tracer.roles.dtype(text)) is not None)

    def _is_several(self, fields: list[Field]) -> bool:
        """Whether an attribute is one dtype or another: something chose between the assignments."""
        traced = [self.tracer.trace(f.value, f.scope) for f in fields if f.value is not None]
        leaves = [leaf for each in traced for leaf in each.leaves]
        return len({leaf.text for leaf in leaves}) > 1 and all(leaf.kind is Kind.DTYPE for leaf in leaves)

    def is_setting(self, field: Field) -> bool:
        """Whether an attribute holds something that a user chose, and not a literal or another tensor's dtype."""
        assert field.value is not None
        traced = self.tracer.trace(field.value, field.scope)
        return bool(traced.chosen) or any(leaf.kind is Kind.SETTING and leaf.role is not None for leaf in traced.leaves)

    def fields_of(self, cls: Scope, base: str, hop: int, seen: set[Scope], depth: int = 0) -> Iterator[Setting]:
        if cls in seen or depth >= _CONFIG_DEPTH or self.is_enum(cls):
            return
        seen = {*seen, cls}
        for name, fields in self.names.all_fields(cls).items():
            if any(f.in_body or f.is_property or f.value is not None for f in fields):
                yield from self.field(name, fields, base, cls, hop, None)
            for field in fields:
                for inner in self.names.field_classes(field):
                    yield from self.fields_of(inner, f"{base}.{name}", hop, seen, depth + 1)

    def reads(self, holder: Scope) -> dict[str, list[tuple[str, ast.expr, Scope]]]:
        """Every attribute or key that is read inside a function or class, by the text of the object."""
        if holder in self._kept:
            return self._kept[holder]
        found: dict[str, list[tuple[str, ast.expr, Scope]]] = {}
        module = holder.module
        functions = [holder] if holder.is_function else [s for s in module.functions() if s.owner is holder]
        for function in functions:
            for stmt in statements(function.body):
                for node in expressions(stmt):
                    base = base_of(node)
                    if base is None or self.role(last(node), last(base)) is None or _is_numbered(base):
                        continue
                    if last(node) == "dtype" and not self.tracer.is_config(base):
                        # the dtype of a tensor or a module follows from it
                        continue
                    fields = [f for c in self.names.classes(base, function) for f in self.names.fields(c, last(node))]
                    if not _is_mapping(fields) and not self.names.classes(node, function):
                        text = module.tree.source(node)
                        found.setdefault(module.tree.source(base), []).append((text, node, function))
        self._kept[holder] = found
        return found


def _is_mapping(fields: Iterable[Field]) -> bool:
    """Whether a field holds settings and is none itself."""
    return any(f.annotation is not None and "dict" in ast.unparse(f.annotation).lower() for f in fields)


def _is_numbered(base: ast.expr) -> bool:
    """Whether an object is one of several, found by its number: a recorded call, and no config."""
    keys = (node.slice for node in ast.walk(base) if isinstance(node, ast.Subscript))
    return any(isinstance(key, ast.Constant) and isinstance(key.value, int) for key in keys)


def at(binding: Binding) -> Location:
    node = binding.node
    assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.ExceptHandler)
    return binding.scope.module.at(node)


def base_of(node: ast.expr) -> ast.expr | None:
    """The object that an attribute or a key is read from."""
    match node:
        case ast.Attribute(value=value, ctx=ast.Load()):
            return value
        case ast.Subscript(value=value, slice=ast.Constant(value=str()), ctx=ast.Load()):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[ast.Constant(value=str()), *_]):
            return value
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str()), *_]):
            return value
    return None


def last(node: ast.expr) -> str:
    """The attribute or key that an expression reads."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
    return ""
