"""The settings that a sink could have used, nearest first (DESIGN 4)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from dtypelint.facts import Form, Kind, Role, Setting
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import Field, Names, statements
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults, parameters
from dtypelint.facts.python.trace import Leaf, Tracer, form_of
from dtypelint.finding import Location

_CONFIG_DEPTH = 3


class Reach:
    """Collects settings for sinks of one project; what a class offers is kept."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer
        self.roles = tracer.roles
        self._parsers: dict[Module, list[ast.Call]] = {}
        self._chains: dict[Scope, dict[str, list[tuple[str, ast.expr, Scope]]]] = {}
        self._kept: dict[tuple[str, Scope, str], tuple[Setting, ...]] = {}

    def at(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> tuple[Setting, ...]:
        """The settings in reach of a statement; `fed` are the leaves that its sink takes already, `names` what it names."""
        texts = {leaf.scope.module.tree.source(leaf.node) for leaf in fed if leaf.kind is Kind.SETTING}
        found: dict[str, Setting] = {}
        for setting in self._all(stmt, scope, fed, names):
            key = f"{setting.read} {setting.hop}" if setting.hop == 5 else setting.read
            known = found.get(key)
            if known is None or setting.hop < known.hop:
                found[key] = replace(setting, used=setting.read in texts or setting.read in names)
        return tuple(sorted(found.values(), key=lambda s: s.hop))

    def _all(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> Iterator[Setting]:
        for setting in self._plain(stmt, scope, fed, names):
            text = self._convert(setting, fed) if setting.text is not None else None
            yield replace(setting, text=text)

    def _plain(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> Iterator[Setting]:
        yield from self._visible(stmt, scope, names)
        yield from self._siblings(fed)
        cls = scope.owner
        if cls is not None and scope.is_function:
            me = self._self_name(scope)
            if me:
                yield from self._keep("own", cls, me, lambda: self._own(cls, me))
                yield from self._keep("configs", cls, me, lambda: self._configs(cls, me))
                yield from self._keep("elsewhere", scope, "", lambda: self._elsewhere(cls, scope))
        yield from self._objects(stmt, scope)
        top = scope.module.scope
        yield from self._keep("constants", top, "", lambda: self._constants(scope))

    def _keep(self, what: str, scope: Scope, me: str, make: Callable[[], Iterator[Setting]]) -> tuple[Setting, ...]:
        """What does not depend on the statement is collected once."""
        key = (what, scope, me)
        if key not in self._kept:
            self._kept[key] = tuple(make())
        return self._kept[key]

    # hop 1

    def _visible(self, stmt: ast.stmt, scope: Scope, names: frozenset[str]) -> Iterator[Setting]:
        if scope.is_function:
            state = flow(scope).before.get(stmt, {})
            for name, bindings in state.items():
                bound = tuple(b for b in bindings if b.kind is not Bound.UNBOUND)
                if len(bound) < len(bindings) and not any(
                    _assigned_together(bound, state.get(sibling, ())) for sibling in names - {name}
                ):
                    continue
                yield from self._named(name, bound, 1)
        for outer in scope.enclosing():
            if outer.is_function:
                for name, several in flow(outer).bindings.items():
                    yield from self._named(name, tuple(several), 1)

    def _named(self, name: str, bindings: tuple[Binding, ...], hop: int) -> Iterator[Setting]:
        role = self._role(name)
        if role is None:
            return
        first = bindings[0]
        if all(b.kind is Bound.PARAMETER for b in bindings):
            yield self._parameter(name, role, first, hop)
        elif all(b.kind in (Bound.PARAMETER, Bound.ASSIGN) for b in bindings):
            leaves = [
                leaf for b in bindings if b.value is not None for leaf in self.tracer.trace(b.value, b.scope).leaves
            ]
            chosen = any(b.value is not None and self.tracer.trace(b.value, b.scope).chosen for b in bindings)
            several = len({leaf.text for leaf in leaves if leaf.kind is Kind.DTYPE}) > 1
            dead = hop == 1 and self._is_dead(name, bindings)
            parameter = first.kind is Bound.PARAMETER
            if any(leaf.kind is Kind.SETTING for leaf in leaves) or chosen or several or parameter or dead:
                direct = len(bindings) == 1 and isinstance(first.value, ast.Name | ast.Attribute | ast.Subscript)
                form = self._form(name, first.annotation) if direct else Form.DTYPE
                hops = tuple(
                    (leaf.scope.module.at(leaf.node), "read here") for leaf in leaves if leaf.kind is Kind.SETTING
                )
                optional = any(leaf.kind is Kind.NONE for leaf in leaves)
                yield Setting(
                    name, role, form, name, name, _at(first), "local", hop, optional, hops=hops[:1], dead=dead
                )

    def _is_dead(self, name: str, bindings: tuple[Binding, ...]) -> bool:
        """Whether nothing reads a local."""
        state = flow(bindings[0].scope)
        return name not in state.captured and not any(state.uses.get(b) for b in bindings)

    def _parameter(self, name: str, role: Role, binding: Binding, hop: int) -> Setting:
        function = binding.scope.node
        default = defaults(function).get(name) if isinstance(function, Function) else None
        return Setting(
            name,
            role,
            self._form(name, binding.annotation, default),
            name,
            name,
            _at(binding),
            f"parameter of `{binding.scope.name}`",
            hop,
            self._may_be_none(binding.annotation, default),
        )

    # hop 2

    def _siblings(self, fed: tuple[Leaf, ...]) -> Iterator[Setting]:
        for leaf in fed:
            if leaf.base is None or leaf.kind is not Kind.SETTING:
                continue
            base = leaf.scope.module.tree.source(leaf.base)
            for cls in self.names.classes(leaf.base, leaf.scope):
                for name, fields in self.names.all_fields(cls).items():
                    yield from self._field(name, fields, base, cls, 2, leaf)
            if self._is_namespace(leaf.base, leaf.scope):
                yield from self._options(leaf.scope.module, base, 2, leaf)
            for text, node, where in self._observed(base, leaf.scope):
                name = _last(node)
                role = self._role(name, _last(leaf.base))
                if role is not None:
                    yield Setting(
                        name,
                        role,
                        leaf.form,
                        self._swap(leaf, text),
                        text,
                        where.module.at(node),
                        f"read from `{base}`",
                        2,
                    )

    def _is_namespace(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression holds what a parser of this module returned."""
        if not isinstance(node, ast.Name):
            return False
        return any(_parses(b.value) for b in self.names.bindings(node, scope))

    def _options(self, module: Module, base: str, hop: int, leaf: Leaf | None) -> Iterator[Setting]:
        """The command-line options of a module as attributes of the parsed namespace."""
        if module not in self._parsers:
            self._parsers[module] = [
                node
                for scope in (module.scope, *module.functions())
                for stmt in statements(scope.body)
                for node in expressions(stmt)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "add_argument"
            ]
        for call in self._parsers[module]:
            name = _destination(call)
            role = self._role(name) if name else None
            if role is None:
                continue
            given = {k.arg: k.value for k in call.keywords}
            form = Form.FLAG if "action" in given else self._form(name, None, given.get("default"))
            if form is Form.UNKNOWN and "type" not in given:
                form = Form.STRING
            text = f"{base}.{name}"
            swapped = self._swap(leaf, text) if leaf is not None else text
            yield Setting(name, role, form, swapped, text, module.at(call), "command-line option", hop)

    def _swap(self, leaf: Leaf, text: str) -> str | None:
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

    def _observed(self, base: str, scope: Scope) -> Iterator[tuple[str, ast.expr, Scope]]:
        """What else is read from an object of unknown class, in this function or class."""
        for holder in (scope, *(c for c in [scope.owner] if c is not None)):
            yield from self._reads(holder).get(base, ())

    def _reads(self, holder: Scope) -> dict[str, list[tuple[str, ast.expr, Scope]]]:
        """Every attribute or key that is read inside a function or class, by the text of the object."""
        if holder in self._chains:
            return self._chains[holder]
        found: dict[str, list[tuple[str, ast.expr, Scope]]] = {}
        module = holder.module
        functions = [holder] if holder.is_function else [s for s in module.functions() if s.owner is holder]
        for function in functions:
            for stmt in statements(function.body):
                for node in expressions(stmt):
                    base = _base(node)
                    if base is None or self._role(_last(node), _last(base)) is None:
                        continue
                    if _last(node) == "dtype" and not self.tracer.is_config(base):
                        # the dtype of a tensor or a module follows from it
                        continue
                    if not self.names.classes(node, function):
                        text = module.tree.source(node)
                        found.setdefault(module.tree.source(base), []).append((text, node, function))
        self._chains[holder] = found
        return found

    # hop 3

    def _self_name(self, scope: Scope) -> str:
        inner: Scope | None = scope
        while inner is not None and not (inner.parent is not None and inner.parent.is_class):
            inner = inner.parent
        if inner is None or not isinstance(inner.node, Function):
            return ""
        if any(ast.unparse(d) in ("staticmethod", "classmethod") for d in inner.node.decorator_list):
            return ""
        args = parameters(inner.node)
        return args[0].arg if args else ""

    def _own(self, cls: Scope, me: str) -> Iterator[Setting]:
        for name, fields in self.names.all_fields(cls).items():
            yield from self._field(name, fields, me, cls, 3, None)

    def _field(
        self, name: str, fields: list[Field], base: str, cls: Scope, hop: int, leaf: Leaf | None
    ) -> Iterator[Setting]:
        role = self._role(name, cls.name)
        if role is None or any(self.names.field_classes(f) for f in fields):
            return
        first = next((f for f in fields if f.in_body), fields[0])
        values = [f.value for f in fields if f.value is not None]
        if values and not first.in_body and not any(self._is_setting(f) for f in fields if f.value is not None):
            return
        text = f"{base}.{name}"
        optional = any(self._may_be_none(f.annotation, f.value) for f in fields)
        form = self._form(name, first.annotation, first.value if first.in_body else None)
        if not first.in_body and form is Form.UNKNOWN and isinstance(first.value, ast.Call | ast.Subscript):
            form = Form.DTYPE
        swapped = self._swap(leaf, text) if leaf is not None else text
        kind = f"field of `{cls.name}`" if first.in_body else f"attribute of `{cls.name}`"
        location = first.owner.module.at(first.node)
        yield Setting(name, role, form, swapped, text, location, kind, hop, optional)

    def _is_setting(self, field: Field) -> bool:
        """Whether an attribute holds something that a user chose, and not a literal or another tensor's dtype."""
        assert field.value is not None
        traced = self.tracer.trace(field.value, field.scope)
        return bool(traced.chosen) or any(leaf.kind is Kind.SETTING and leaf.role is not None for leaf in traced.leaves)

    # hop 4

    def _configs(self, cls: Scope, me: str) -> Iterator[Setting]:
        """Fields behind an attribute of `self`."""
        for name, fields in self.names.all_fields(cls).items():
            for field in fields:
                for config in self.names.field_classes(field):
                    if config is not cls:
                        yield from self._fields_of(config, f"{me}.{name}", 4, {cls})
        for base in self.names.mro(cls):
            for text, reads in self._reads(base).items():
                if text.startswith(f"{me}."):
                    for read, node, where in reads:
                        found = self._role(_last(node), text.rpartition(".")[2])
                        if found is not None:
                            kind = f"read from `{text}`"
                            yield Setting(_last(node), found, Form.UNKNOWN, read, read, where.module.at(node), kind, 4)

    def _fields_of(self, cls: Scope, base: str, hop: int, seen: set[Scope], depth: int = 0) -> Iterator[Setting]:
        if cls in seen or depth >= _CONFIG_DEPTH:
            return
        seen = {*seen, cls}
        for name, fields in self.names.all_fields(cls).items():
            if any(f.in_body or f.is_property or f.value is not None for f in fields):
                yield from self._field(name, fields, base, cls, hop, None)
            for field in fields:
                for inner in self.names.field_classes(field):
                    yield from self._fields_of(inner, f"{base}.{name}", hop, seen, depth + 1)

    def _objects(self, stmt: ast.stmt, scope: Scope) -> Iterator[Setting]:
        """Fields behind a parameter or local that is an instance of a project class, or that is read as a config."""
        places: list[tuple[str, tuple[Binding, ...]]] = []
        if scope.is_function:
            places += [
                (n, b)
                for n, b in flow(scope).before.get(stmt, {}).items()
                if all(x.kind is not Bound.UNBOUND for x in b)
            ]
        for outer in scope.enclosing():
            if outer.is_function:
                places += [(n, tuple(b)) for n, b in flow(outer).bindings.items()]
        for name, bindings in places:
            if name in ("self", "cls"):
                continue
            if any(_parses(b.value) for b in bindings):
                yield from self._options(scope.module, name, 4, None)
            for cls in dict.fromkeys(c for b in bindings for c in self.names._class_of_binding(b, 0)):
                yield from self._fields_of(cls, name, 4, set())
        holders = [s for s in (scope, *scope.enclosing()) if s.is_function]
        for holder in holders:
            for text, reads in self._reads(holder).items():
                head = text.partition(".")[0].partition("[")[0]
                if head not in {n for n, _ in places} or head in ("self", "cls"):
                    continue
                for read, node, where in reads:
                    role = self._role(_last(node), text.rpartition(".")[2])
                    if role is not None:
                        kind = f"read from `{text}`"
                        yield Setting(_last(node), role, Form.UNKNOWN, read, read, where.module.at(node), kind, 4)

    # hop 5

    def _elsewhere(self, cls: Scope, scope: Scope) -> Iterator[Setting]:
        """Locals of the other methods of the class that were computed from a setting."""
        for base in self.names.mro(cls):
            for method in (s for s in base.module.functions() if s.parent is base and s is not scope):
                for name, bindings in flow(method).bindings.items():
                    if bindings[0].kind is Bound.PARAMETER and method.name != "__init__":
                        continue
                    for setting in self._named(name, tuple(bindings), 5):
                        yield replace(setting, text=None, kind=f"local of `{method.name}`")

    # hop 6

    def _constants(self, scope: Scope) -> Iterator[Setting]:
        module: Module = scope.module
        for name, bindings in module.bindings.items():
            role = self._role(name)
            if role is None:
                continue
            first = bindings[0]
            if first.kind is Bound.ASSIGN and first.value is not None and not first.path:
                traced = self.tracer.trace(first.value, first.scope)
                if traced.leaves and all(leaf.kind in (Kind.DTYPE, Kind.SETTING, Kind.BOOL) for leaf in traced.leaves):
                    form = self._form(name, first.annotation, first.value)
                    yield Setting(name, role, form, name, name, _at(first), "module constant", 6)

    # helpers

    def _role(self, name: str, owner: str = "") -> Role | None:
        role = self.roles.role(name, owner)
        if role is None and self.roles.flag(name):
            return Role.GENERAL
        return role

    def _form(self, name: str, annotation: ast.expr | None, default: ast.expr | None = None) -> Form:
        form = form_of(annotation)
        if self.roles.flag(name):
            return Form.FLAG
        if form is Form.UNKNOWN and isinstance(default, ast.Constant):
            if isinstance(default.value, bool):
                return Form.FLAG
            if isinstance(default.value, str):
                return Form.STRING
        return form

    def _may_be_none(self, annotation: ast.expr | None, default: ast.expr | None) -> bool:
        text = ast.unparse(annotation) if annotation is not None else ""
        return "None" in text or "Optional" in text or (isinstance(default, ast.Constant) and default.value is None)

    def _convert(self, setting: Setting, fed: tuple[Leaf, ...]) -> str | None:
        """The setting as a dtype: converted the way a sibling of the same form is."""
        text = setting.text
        if text is None or setting.form is Form.DTYPE or text != setting.read:
            return text
        for leaf in fed:
            if leaf.kind is Kind.SETTING and leaf.role is not None and leaf.form is not Form.FLAG:
                swapped = self._swap(leaf, text)
                if swapped is not None:
                    return swapped
        if setting.form in (Form.STRING, Form.FLAG):
            return None
        return text


def _at(binding: Binding) -> Location:
    node = binding.node
    assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.ExceptHandler)
    return binding.scope.module.at(node)


def _assigned_together(some: tuple[Binding, ...], others: tuple[Binding, ...]) -> bool:
    """Whether two names that not every path assigns are assigned in the same branches."""

    def branches(bindings: tuple[Binding, ...]) -> set[tuple[tuple[ast.expr, bool], ...]]:
        contexts = (flow(b.scope).context.get(b.node) for b in bindings if isinstance(b.node, ast.stmt))
        return {tuple((g.test, g.holds) for g in c.guards) for c in contexts if c is not None}

    bound = tuple(b for b in others if b.kind is not Bound.UNBOUND)
    return bool(some) and branches(some) == branches(bound)


def _parses(node: ast.expr | None) -> bool:
    """Whether an expression parses a command line."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("parse_args", "parse_known_args")
    )


def _destination(call: ast.Call) -> str:
    """The attribute that an option is stored in."""
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    spelled = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = next((s for s in spelled if s.startswith("--")), spelled[0] if spelled else "")
    return long.lstrip("-").replace("-", "_")


def _base(node: ast.expr) -> ast.expr | None:
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


def _last(node: ast.expr) -> str:
    """The attribute or key that an expression reads."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
    return ""
