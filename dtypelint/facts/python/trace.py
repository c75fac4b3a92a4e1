"""Where a value comes from: followed back through assignments, branches, converters and tables to its leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dtypelint.facts import Form, Kind, Origin, Role, Value
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.once import Once
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, defaults, parameters
from dtypelint.facts.python.syntax import entry, unpacked
from dtypelint.facts.roles import Roles
from dtypelint.knowledge import CONVERTER, Call

_DEPTH = 10
_STRING_METHODS = {
    "lower",
    "upper",
    "strip",
    "replace",
    "removeprefix",
    "split",
    "value",
    "name",
    "rpartition",
    "partition",
}
_TENSOR_DTYPE = {"dtype"}


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """An origin with its place in the tree.

    `root` is the expression, visible at the use, that holds `node`: replacing the leaf in it gives the same conversion of
    another setting. `base` is the object that a setting is read from (`cfg` of `cfg.param_dtype`).
    """

    kind: Kind
    node: ast.expr
    scope: Scope
    text: str = ""
    name: str = ""
    role: Role | None = None
    form: Form = Form.UNKNOWN
    base: ast.expr | None = None
    root: ast.expr | None = None
    root_scope: Scope | None = None
    spelled: bool = False
    means: str = ""
    declared: ast.AST | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    leaves: tuple[Leaf, ...] = ()
    chosen: tuple[Leaf, ...] = ()

    def __add__(self, other: Traced) -> Traced:
        return Traced((*self.leaves, *other.leaves), (*self.chosen, *other.chosen))


_NOTHING = Traced()
# what the parameters of a function stand for, each with the scope that it is read in
Filled = Mapping[str, tuple[ast.expr, Scope]]


class Tracer:
    """Follows values through one project."""

    def __init__(self, names: Names, roles: Roles, calls: Mapping[str, Call]) -> None:
        self.names = names
        self.roles = roles
        self.calls = calls
        self._converters = {path: call for path, call in calls.items() if call.kind == CONVERTER}
        self._active: set[ast.AST] = set()
        self._traced: Once[Traced] = Once(_NOTHING)

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """The plain form of what an expression may be."""
        traced = self.trace(node, scope)
        return Value(self.origins(traced.leaves), self.origins(traced.chosen))

    def origins(self, leaves: Iterable[Leaf]) -> tuple[Origin, ...]:
        found = (
            Origin(
                leaf.kind,
                leaf.text or leaf.scope.module.tree.source(leaf.node),
                leaf.scope.module.at(leaf.node),
                leaf.name,
                leaf.role,
                leaf.form,
                leaf.spelled,
                leaf.means,
            )
            for leaf in leaves
        )
        return tuple(dict.fromkeys(found))

    def trace(self, node: ast.expr, scope: Scope, depth: int = 0, root: ast.expr | None = None) -> Traced:
        """The leaves of an expression."""
        if depth > _DEPTH or node in self._active:
            return _NOTHING
        return self._traced.ask((node, root or node, depth), lambda: self._entered(node, scope, depth, root or node))

    def _entered(self, node: ast.expr, scope: Scope, depth: int, root: ast.expr) -> Traced:
        self._active.add(node)
        try:
            return self._trace(node, scope, depth, root)
        finally:
            self._active.discard(node)

    def leaf(self, kind: Kind, node: ast.expr, scope: Scope, root: ast.expr, text: str = "", **more: object) -> Traced:
        leaf = Leaf(kind, node, scope, text, root=root, root_scope=scope)
        return Traced((replace(leaf, **more) if more else leaf,))  # type: ignore[arg-type]

    def _trace(self, node: ast.expr, scope: Scope, depth: int, root: ast.expr) -> Traced:
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value, scope, root)
            case ast.Name():
                return self._name(node, scope, depth, root)
            case ast.Attribute():
                return self._attribute(node, scope, depth, root)
            case ast.Subscript():
                return self._subscript(node, scope, depth, root)
            case ast.Call():
                return self._call(node, scope, depth, root)
            case ast.IfExp():
                found = self.trace(node.body, scope, depth + 1, root) + self.trace(node.orelse, scope, depth + 1, root)
                return self._choose(found, [node.test], scope, depth)
            case ast.BoolOp():
                found = _NOTHING
                for each in node.values:
                    found += self.trace(each, scope, depth + 1, root)
                return found
            case ast.Compare():
                found = self.trace(node.left, scope, depth + 1, root)
                for each in node.comparators:
                    found += self.trace(each, scope, depth + 1, root)
                return found
            case (
                ast.UnaryOp(operand=inner)
                | ast.NamedExpr(value=inner)
                | ast.Await(value=inner)
                | ast.Starred(value=inner)
            ):
                return self.trace(inner, scope, depth + 1, root)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                found = _NOTHING
                for each in elements:
                    found += self.trace(each, scope, depth + 1, root)
                return found
            case ast.JoinedStr():
                found = _NOTHING
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        found += self.trace(part.value, scope, depth + 1, root)
                return found
        return self.leaf(Kind.OPAQUE, node, scope, root)

    def _choose(self, found: Traced, tests: Iterable[ast.expr], scope: Scope, depth: int) -> Traced:
        chosen = found.chosen
        for test in tests:
            inner = self.trace(test, scope, depth + 1)
            chosen = (*chosen, *inner.leaves, *inner.chosen)
        return Traced(found.leaves, chosen)

    def _constant(self, node: ast.Constant, value: object, scope: Scope, root: ast.expr) -> Traced:
        if value is None:
            return self.leaf(Kind.NONE, node, scope, root, "None")
        if isinstance(value, bool):
            return self.leaf(Kind.BOOL, node, scope, root, str(value))
        if isinstance(value, str):
            dtype = self.roles.dtype(value)
            if dtype is not None:
                return self.leaf(Kind.DTYPE, node, scope, root, dtype, form=Form.STRING, spelled=True)
            return self.leaf(Kind.STRING, node, scope, root, value)
        return self.leaf(Kind.NUMBER, node, scope, root, repr(value))

    def torch_dtype(self, node: ast.expr, scope: Scope) -> str | None:
        """The canonical name of a dtype attribute of torch (or numpy, jax): `torch.half` is float16; a choice of values is none."""
        if isinstance(node, ast.Name):
            values = [b for b in self.names.bindings(node, scope) if b.kind not in (Bound.IMPORT, Bound.UNBOUND)]
            if len(values) > 1:
                return None
        for path in self.names.paths(node, scope):
            library, _, name = path.rpartition(".")
            if library == "torch":
                dtype = self.roles.dtype(f"torch.{name}")
                if dtype is not None:
                    return dtype
                if name.startswith("float8"):
                    return "float8"
        return None

    def _name(self, node: ast.Name, scope: Scope, depth: int, root: ast.expr) -> Traced:
        dtype = self.torch_dtype(node, scope) if self.is_import(node, scope) else None
        if dtype is not None:
            return self.leaf(Kind.DTYPE, node, scope, root, dtype, form=Form.DTYPE, spelled=True)
        bindings = self.names.bindings(node, scope)
        if not bindings:
            return self.leaf(Kind.OPAQUE, node, scope, root, node.id)
        found = _NOTHING
        for binding in bindings:
            found += self._binding(node, binding, scope, depth, root)
        if len(bindings) > 1:
            found = self._choose(found, self._deciding(bindings), bindings[0].scope, depth)
        return found

    def is_import(self, node: ast.Name, scope: Scope) -> bool:
        return any(b.kind is Bound.IMPORT for b in self.names.bindings(node, scope))

    def _deciding(self, bindings: tuple[Binding, ...]) -> list[ast.expr]:
        """The tests that decide which of several definitions reaches."""
        tests: dict[ast.expr, None] = {}
        for binding in bindings:
            context = flow(binding.scope).context.get(binding.node)  # type: ignore[call-overload]
            for guard in context.guards if context else ():
                tests[guard.test] = None
        return list(tests)

    def _binding(self, node: ast.Name, binding: Binding, scope: Scope, depth: int, root: ast.expr) -> Traced:
        same = binding.scope is scope
        if binding.kind is Bound.PARAMETER:
            return self._parameter(node, binding, scope, root)
        if binding.kind in (Bound.ASSIGN, Bound.AUGMENT) and binding.value is not None:
            value = unpacked(binding.value, binding.path)
            top = isinstance(binding.scope.node, ast.Module) or binding.scope.is_class
            if top and not same:
                return self._named_constant(node, binding, value, scope, depth, root)
            if value is None:
                inner = self.trace(binding.value, binding.scope, depth + 1)
                leaves = tuple(replace(leaf, root=None) for leaf in inner.leaves)
                return Traced(leaves, inner.chosen) if leaves else self.leaf(Kind.OPAQUE, node, scope, root, node.id)
            found = self.trace(value, binding.scope, depth + 1, value)
            return Traced(tuple(replace(leaf, spelled=leaf.spelled and same) for leaf in found.leaves), found.chosen)
        if binding.kind is Bound.IMPORT:
            for value, where in self.names.module_values(binding):
                inner = self.trace(value, where, depth + 1)
                if inner.leaves and all(leaf.kind in (Kind.DTYPE, Kind.STRING) for leaf in inner.leaves):
                    return self.setting(node, node.id, scope, root, declared=value)
                return inner
        return self.leaf(Kind.OPAQUE, node, scope, root, node.id)

    def _parameter(self, node: ast.Name, binding: Binding, scope: Scope, root: ast.expr) -> Traced:
        return self.setting(node, binding.name, scope, root, declared=binding.node, annotation=binding.annotation)

    def _named_constant(
        self, node: ast.Name, binding: Binding, value: ast.expr | None, scope: Scope, depth: int, root: ast.expr
    ) -> Traced:
        """A module constant is a setting of its own; what it was computed from stays behind it."""
        if value is not None:
            inner = self.trace(value, binding.scope, depth + 1)
            if any(leaf.kind is Kind.SETTING for leaf in inner.leaves):
                return Traced(tuple(replace(leaf, root=node, root_scope=scope) for leaf in inner.leaves), inner.chosen)
            if len(inner.leaves) == 1 and inner.leaves[0].kind is Kind.DTYPE:
                made = self.setting(node, binding.name, scope, root, declared=binding.node)
                return Traced(tuple(replace(leaf, means=inner.leaves[0].text) for leaf in made.leaves))
        return self.setting(node, binding.name, scope, root, declared=binding.node)

    def setting(
        self,
        node: ast.expr,
        name: str,
        scope: Scope,
        root: ast.expr,
        *,
        base: ast.expr | None = None,
        declared: ast.AST | None = None,
        annotation: ast.expr | None = None,
        owner: str = "",
    ) -> Traced:
        role = self.roles.role(name, owner)
        if role is None and self.roles.flag(name):
            role = Role.GENERAL
        form = form_of(annotation) if annotation is not None else Form.UNKNOWN
        if self.roles.flag(name):
            form = Form.FLAG
        return self.leaf(
            Kind.SETTING, node, scope, root, name=name, role=role, form=form, base=base, declared=declared or node
        )

    def _annotation(self, classes: tuple[Scope, ...], name: str) -> ast.expr | None:
        """What an attribute, or the parameter that it keeps, is annotated with."""
        for field in (f for cls in classes for f in self.names.fields(cls, name)):
            kept = self.names.bindings(field.value, field.scope) if isinstance(field.value, ast.Name) else ()
            for annotation in (field.annotation, *(b.annotation for b in kept if b.kind is Bound.PARAMETER)):
                if annotation is not None:
                    return annotation
        return None

    def _attribute(self, node: ast.Attribute, scope: Scope, depth: int, root: ast.expr) -> Traced:
        dtype = self.torch_dtype(node, scope)
        if dtype is not None:
            return self.leaf(Kind.DTYPE, node, scope, root, dtype, form=Form.DTYPE, spelled=True)
        if node.attr in ("value", "name") and isinstance(node.value, ast.Attribute | ast.Name | ast.Subscript):
            return self.trace(node.value, scope, depth + 1, root)
        owner = tail(node.value)
        classes = self.names.classes(node.value, scope)
        if node.attr in _TENSOR_DTYPE and not classes and not self.is_config(node.value):
            return self.leaf(Kind.DERIVED, node, scope, root)
        role = self.roles.role(node.attr, owner)
        if role is not None or self.roles.flag(node.attr):
            annotation = self._annotation(classes, node.attr)
            return self.setting(node, node.attr, scope, root, base=node.value, owner=owner, annotation=annotation)
        for cls in classes:
            held = self.names.fields(cls, node.attr)
            own_role = self.roles.role(node.attr, cls.name)
            if own_role is not None and held:
                return self.setting(node, node.attr, scope, root, base=node.value, owner=cls.name)
            if any(field.in_body and field.annotation is not None for field in held):
                # what is annotated in a class body is filled by whoever builds the object: its default is not its value
                annotation = self._annotation(classes, node.attr)
                return self.setting(node, node.attr, scope, root, base=node.value, owner=owner, annotation=annotation)
            found = _NOTHING
            for field in held:
                if field.value is not None:
                    found += self.trace(field.value, field.scope, depth + 1)
                elif field.is_property and isinstance(field.node, Function):
                    found += self._returns(field.scope, {}, depth)
            if found.leaves:
                leaves = tuple(replace(leaf, root=node, root_scope=scope, spelled=False) for leaf in found.leaves)
                return Traced(leaves, found.chosen)
        return self.setting(node, node.attr, scope, root, base=node.value, owner=owner)

    def is_config(self, node: ast.expr) -> bool:
        """`cfg.dtype` is a setting, `x.dtype` belongs to a tensor or module."""
        return any(
            w in tail(node).lower()
            for w in ("cfg", "conf", "arg", "opt", "setting", "param_", "flags", "precision", "self.args")
        )

    def _subscript(self, node: ast.Subscript, scope: Scope, depth: int, root: ast.expr) -> Traced:
        table = self.literal_table(node.value, scope)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            held = entry(table, node.slice.value) if table is not None else None
            # a dict with the name of a setting in it is a config, and the literal there its value
            if held is not None and self.roles.role(node.slice.value, tail(node.value)) is None:
                return self.trace(held, scope, depth + 1, root)
            return self.setting(node, node.slice.value, scope, root, base=node.value, owner=tail(node.value))
        if isinstance(node.slice, ast.Constant):
            found = self.trace(node.value, scope, depth + 1, root)
            return found if found.leaves else self.leaf(Kind.OPAQUE, node, scope, root)
        return self.trace(node.slice, scope, depth + 1, root)

    def literal_table(self, node: ast.expr, scope: Scope) -> ast.Dict | None:
        """The dict that an expression is, where it is written out."""
        if isinstance(node, ast.Dict):
            return node
        if isinstance(node, ast.Name):
            for binding in self.names.bindings(node, scope):
                if binding.kind is Bound.ASSIGN and isinstance(binding.value, ast.Dict) and not binding.path:
                    return binding.value
        return None

    def _call(self, node: ast.Call, scope: Scope, depth: int, root: ast.expr) -> Traced:
        func = node.func
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if self.names.is_builtin(func, "getattr", scope) and len(node.args) >= 2:
            return self._getattr(node, scope, depth, root)
        if isinstance(func, ast.Attribute):
            if func.attr in _STRING_METHODS:
                return self.trace(func.value, scope, depth + 1, root)
            if func.attr in ("get", "pop", "setdefault") and node.args:
                key = node.args[0]
                table = self.literal_table(func.value, scope)
                held = entry(table, key.value) if table is not None and isinstance(key, ast.Constant) else None
                if held is not None:
                    return self.trace(held, scope, depth + 1, root)
                if table is not None or not isinstance(key, ast.Constant):
                    return self.trace(key, scope, depth + 1, root)
                if isinstance(key.value, str):
                    return self.setting(node, key.value, scope, root, base=func.value, owner=tail(func.value))
        if converter := self._converter(func, scope):
            named = [*zip(converter.parameters, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
            arguments = [value for name, value in named if name in converter.roles]
            return _converted(sum((self.trace(each, scope, depth + 1, root) for each in arguments), _NOTHING))
        for symbol in self.names.callees(func, scope):
            if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                found = self._returns(symbol, _filled(node, scope, symbol), depth)
                useful = tuple(leaf for leaf in found.leaves if leaf.kind in (Kind.SETTING, Kind.DERIVED))
                own = _NOTHING
                for each in arguments:
                    own += self.trace(each, scope, depth + 1, root)
                if own.leaves and any(leaf.kind in (Kind.SETTING, Kind.DTYPE) for leaf in own.leaves):
                    return _converted(own)
                if useful or found.chosen or found.leaves:
                    leaves = tuple(replace(leaf, root=node, root_scope=scope, spelled=False) for leaf in found.leaves)
                    return Traced(leaves, found.chosen)
            elif isinstance(symbol, External) and symbol.path == "os.environ.get" and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    return self.setting(node, key.value, scope, root)
        found = _NOTHING
        for each in arguments:
            found += self.trace(each, scope, depth + 1, root)
        if isinstance(func, ast.Attribute) and not any(leaf.kind is Kind.SETTING for leaf in found.leaves):
            if self.roles.role(func.attr) is not None and not node.args:
                return self.setting(node, func.attr, scope, root, base=func.value)
        return _converted(found) if found.leaves else self.leaf(Kind.OPAQUE, node, scope, root)

    def _converter(self, func: ast.expr, scope: Scope) -> Call | None:
        """What a user's own file says of a function that turns one spelling of a precision into another."""
        paths = self.names.paths(func, scope) if self._converters else ()
        return next((self._converters[path] for path in paths if path in self._converters), None)

    def _getattr(self, node: ast.Call, scope: Scope, depth: int, root: ast.expr) -> Traced:
        target, key = node.args[0], node.args[1]
        if External("torch") in self.names.symbols(target, scope):
            return _converted(self.trace(key, scope, depth + 1, root), Form.DTYPE)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if key.value in _TENSOR_DTYPE and not self.is_config(target):
                return self.leaf(Kind.DERIVED, node, scope, root)
            return self.setting(node, key.value, scope, root, base=target, owner=tail(target))
        return self.trace(key, scope, depth + 1, root)

    def _returns(self, callee: Scope, filled: Filled, depth: int) -> Traced:
        """What a project function may return, its parameters replaced by the arguments of the call."""
        found = _NOTHING
        if depth > _DEPTH - 4 or not isinstance(callee.node, Function) or callee.node in self._active:
            return found
        self._active.add(callee.node)
        try:
            context = flow(callee)
            returns = [s for s in context.order if isinstance(s, ast.Return) and s.value is not None]
            for stmt in returns:
                assert stmt.value is not None
                inner = self.trace(stmt.value, callee, depth + 1)
                found += inner
                if len(returns) > 1:
                    found = self._choose(found, [g.test for g in context.context[stmt].guards], callee, depth)
            return Traced(
                self._substituted(found.leaves, filled, depth), self._substituted(found.chosen, filled, depth)
            )
        finally:
            self._active.discard(callee.node)

    def _substituted(self, leaves: tuple[Leaf, ...], filled: Filled, depth: int) -> tuple[Leaf, ...]:
        out: list[Leaf] = []
        for leaf in leaves:
            if isinstance(leaf.declared, ast.arg) and leaf.declared.arg in filled:
                value, home = filled[leaf.declared.arg]
                out.extend(self.trace(value, home, depth + 1).leaves)
            else:
                out.append(leaf)
        return tuple(out)


def form_of(annotation: ast.expr | None) -> Form:
    """How a value of an annotation spells a precision."""
    if annotation is None:
        return Form.UNKNOWN
    text = ast.unparse(annotation)
    if "dtype" in text:
        return Form.DTYPE
    if "str" in text or "Literal" in text:
        return Form.STRING
    if "bool" in text:
        return Form.FLAG
    return Form.UNKNOWN


def _filled(node: ast.Call, scope: Scope, callee: Scope) -> Filled:
    """The arguments of a call by the names of the callee's parameters; its defaults stand for what is missing."""
    assert isinstance(callee.node, Function)
    names = [a.arg for a in parameters(callee.node)]
    if names and names[0] in ("self", "cls") and isinstance(node.func, ast.Attribute):
        names = names[1:]
    found = {name: (default, callee.parent or callee) for name, default in defaults(callee.node).items()}
    for name, arg in zip(names, node.args, strict=False):
        if isinstance(arg, ast.Starred):
            break
        found[name] = (arg, scope)
    found.update({k.arg: (k.value, scope) for k in node.keywords if k.arg})
    return found


def _converted(found: Traced, form: Form = Form.UNKNOWN) -> Traced:
    """What a call makes of values: a dtype that goes in as a string comes out in another form."""
    leaves = (replace(leaf, form=form) if leaf.kind is Kind.DTYPE else leaf for leaf in found.leaves)
    return Traced(tuple(leaves), found.chosen)


def tail(node: ast.expr) -> str:
    """The last name of an expression: what holds a setting is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if tail(func) in ("get", "getattr"):
            return name
        case ast.Call(func=func) | ast.Subscript(value=func):
            return tail(func)
    return ""
