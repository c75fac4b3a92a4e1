"""What a name is bound to: a symbol of a library, or a class, function or module of the project."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, statements
from dtypelint.facts.python.once import Once
from dtypelint.facts.python.returns import is_own, is_static, models
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import last_name, unquoted

_WRAPPERS = {"Optional", "Annotated", "Union", "Final", "ClassVar", "Required", "NotRequired", "Type", "type"}
_DEPTH = 12
T = TypeVar("T")
Path = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class External:
    """A symbol outside the project root, by its dotted name."""

    path: str


Symbol = External | Scope


class Modules(Protocol):
    """What finds the modules of the project: see `project.Project`."""

    def find(self, dotted: str, importer: Module) -> Module | None: ...
    def mentioning(self, word: str) -> Iterator[Module]: ...

    def module(self, path: str) -> Module | None: ...

    def files_with(self, *words: str) -> tuple[str, ...]: ...

    def may_bind(self, dotted: str, importer: Module, name: str) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """An attribute of a class: a field of its body, something stored on `self`, or a property."""

    name: str
    owner: Scope
    node: ast.stmt
    scope: Scope
    value: ast.expr | None = None
    annotation: ast.expr | None = None
    in_body: bool = False
    is_property: bool = False


class Names:
    """Resolves expressions of any module of one project; results are kept."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._fields: dict[Scope, dict[str, list[Field]]] = {}
        self._mro: dict[Scope, tuple[Scope, ...]] = {}
        self._active: set[tuple[int, str]] = set()
        self._named: Once[tuple[Symbol, ...]] = Once(())
        self._made: Once[tuple[Scope, ...]] = Once(())

    # names and symbols

    def bindings(self, node: ast.Name, scope: Scope) -> tuple[Binding, ...]:
        """The definitions that may reach a use, in this scope or in one around it; the unbound state left out."""
        own = flow(scope)
        found = own.reaching.get(node)
        if found:
            return tuple(b for b in found if b.kind is not Bound.UNBOUND)
        for outer in scope.enclosing():
            there = flow(outer)
            if node.id in there.bindings:
                last = (there.after or {}).get(node.id, ())
                alive = tuple(b for b in last if b.kind is not Bound.UNBOUND)
                return alive if alive and not outer.is_function else tuple(there.bindings[node.id])
        return ()

    def symbols(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[Symbol, ...]:
        """Every symbol that an expression may name; empty when it is a value or unknown."""
        if depth > _DEPTH:
            return ()
        match node:
            case ast.Name():
                found = self.bindings(node, scope)
                if found:
                    return _unique(s for b in found for s in self.bound_to(b, depth + 1))
                return self._unbound_name(node.id, scope)
            case ast.Attribute(value=base, attr=attr):
                return _unique(s for b in self.symbols(base, scope, depth + 1) for s in self.member(b, attr))
            case ast.IfExp(body=body, orelse=orelse):
                return _unique((*self.symbols(body, scope, depth + 1), *self.symbols(orelse, scope, depth + 1)))
            case ast.BoolOp(values=values):
                return _unique(s for v in values for s in self.symbols(v, scope, depth + 1))
            case ast.Call(func=func, args=[module, ast.Constant(value=str(name))]) if self.is_builtin(
                func, "getattr", scope
            ):
                return _unique(s for b in self.symbols(module, scope, depth + 1) for s in self.member(b, name))
            case ast.Call(func=func, args=[ast.Constant(value=str(name))]):
                if External("importlib.import_module") in self.symbols(func, scope, depth + 1):
                    return self.lookup(name, scope.module)
        return ()

    def _unbound_name(self, name: str, scope: Scope) -> tuple[Symbol, ...]:
        for star in scope.module.bindings.get("*", ()):
            if not self.modules.may_bind(star.target, scope.module, name):
                continue
            module = self.modules.find(star.target, scope.module)
            if module is not None and name in module.bindings:
                return self._in_module(module, name)
        return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()

    def is_builtin(self, node: ast.expr, name: str, scope: Scope) -> bool:
        return isinstance(node, ast.Name) and node.id == name and not self.bindings(node, scope)

    def bound_to(self, binding: Binding, depth: int = 0) -> tuple[Symbol, ...]:
        """The symbols that a binding gives its name."""
        match binding.kind:
            case Bound.IMPORT:
                return self.lookup(binding.target, binding.scope.module)
            case Bound.FUNCTION | Bound.CLASS:
                return (binding.scope.module.scopes[binding.node],)
            case Bound.ASSIGN if (value := binding.value) is not None and not binding.path:
                return self._named.ask(binding, lambda: self.symbols(value, binding.scope, depth + 1))
        return ()

    def lookup(self, dotted: str, importer: Module) -> tuple[Symbol, ...]:
        """What a dotted name means to an importing module: followed through re-exports inside the project."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            module = self.modules.find(".".join(parts[:length]), importer)
            if module is None:
                continue
            found: tuple[Symbol, ...] = (module.scope,)
            for name in parts[length:]:
                found = _unique(s for b in found for s in self.member(b, name))
            return found
        return (External(dotted),)

    def member(self, symbol: Symbol, name: str) -> tuple[Symbol, ...]:
        """An attribute of a symbol."""
        if isinstance(symbol, External):
            return (External(f"{symbol.path}.{name}"),)
        if isinstance(symbol.node, ast.Module):
            return self._in_module(symbol.module, name)
        if symbol.is_class:
            for cls in self.mro(symbol):
                if name in flow(cls).bindings:
                    return _unique(s for b in flow(cls).bindings[name] for s in self.bound_to(b))
        return ()

    def _in_module(self, module: Module, name: str) -> tuple[Symbol, ...]:
        key = (id(module), name)
        if key in self._active:
            return ()
        self._active.add(key)
        try:
            last = (flow(module.scope).after or {}).get(name) or module.bindings.get(name, ())
            if last:
                return _unique(s for b in last for s in self.bound_to(b))
            child = self.modules.find(f"{module.name}.{name}", module)
            if child is not None:
                return (child.scope,)
            for star in module.bindings.get("*", ()):
                if not self.modules.may_bind(star.target, module, name):
                    continue
                source = self.modules.find(star.target, module)
                if source is None:
                    return (External(f"{star.target}.{name}"),)
                found = self._in_module(source, name)
                if found:
                    return found
            return ()
        finally:
            self._active.discard(key)

    def paths(self, node: ast.expr, scope: Scope) -> tuple[str, ...]:
        """The dotted names of an expression's symbols; those of the project under their own dotted name."""
        return tuple(dotted(s) for s in self.symbols(node, scope))

    # classes

    def mro(self, cls: Scope) -> tuple[Scope, ...]:
        """A class and its bases inside the project, nearest first."""
        if cls not in self._mro:
            self._mro[cls] = (cls,)
            order: dict[Scope, None] = {cls: None}
            assert isinstance(cls.node, ast.ClassDef)
            for base in cls.node.bases:
                node = base.value if isinstance(base, ast.Subscript) else base
                for symbol in self.symbols(node, cls.parent or cls):
                    if isinstance(symbol, Scope) and symbol.is_class:
                        order.update(dict.fromkeys(self.mro(symbol)))
            self._mro[cls] = tuple(order)
        return self._mro[cls]

    def bases(self, cls: Scope) -> tuple[str, ...]:
        """The dotted names of all bases, those outside the project included."""
        found: list[str] = []
        for each in self.mro(cls):
            assert isinstance(each.node, ast.ClassDef)
            for base in each.node.bases:
                node = base.value if isinstance(base, ast.Subscript) else base
                found.extend(self.paths(node, each.parent or each))
        return tuple(dict.fromkeys(found))

    def own_fields(self, cls: Scope) -> dict[str, list[Field]]:
        """The attributes that a class body and its methods define, by name."""
        if cls in self._fields:
            return self._fields[cls]
        found: dict[str, list[Field]] = {}
        self._fields[cls] = found
        for stmt in statements(cls.body):
            match stmt:
                case ast.AnnAssign(target=ast.Name(id=name), value=value, annotation=annotation):
                    found.setdefault(name, []).append(Field(name, cls, stmt, cls, value, annotation, True))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.setdefault(name, []).append(Field(name, cls, stmt, cls, value, None, True))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    scope = cls.module.scopes[stmt]
                    if any("property" in ast.unparse(d) for d in stmt.decorator_list):
                        entry = Field(stmt.name, cls, stmt, scope, None, stmt.returns, False, True)
                        found.setdefault(stmt.name, []).append(entry)
                    for name, entry in self._stored(cls, stmt, scope):
                        found.setdefault(name, []).append(entry)
        return found

    def _stored(self, cls: Scope, method: Function, scope: Scope) -> Iterator[tuple[str, Field]]:
        args = [*method.args.posonlyargs, *method.args.args]
        if not args:
            return
        me = args[0].arg
        for stmt in statements(method.body):
            if isinstance(stmt, ast.Assign):
                pairs = [(t, stmt.value) for t in stmt.targets]
                for target, value in list(pairs):
                    if (
                        isinstance(target, ast.Tuple)
                        and isinstance(value, ast.Tuple)
                        and len(target.elts) == len(value.elts)
                    ):
                        pairs += list(zip(target.elts, value.elts, strict=True))
                annotation = None
            elif isinstance(stmt, ast.AnnAssign):
                pairs = [(stmt.target, stmt.value)] if stmt.value is not None else []
                annotation = stmt.annotation
                if stmt.value is None and isinstance(stmt.target, ast.Attribute):
                    target = stmt.target
                    if isinstance(target.value, ast.Name) and target.value.id == me:
                        yield target.attr, Field(target.attr, cls, stmt, scope, None, annotation)
            else:
                continue
            for target, value in pairs:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == me:
                    yield target.attr, Field(target.attr, cls, stmt, scope, value, annotation)

    def fields(self, cls: Scope, name: str) -> list[Field]:
        """Every definition of an attribute over the method resolution order, nearest class first."""
        return [f for c in self.mro(cls) for f in self.own_fields(c).get(name, ())]

    def all_fields(self, cls: Scope) -> dict[str, list[Field]]:
        found: dict[str, list[Field]] = {}
        for c in self.mro(cls):
            for name, entries in self.own_fields(c).items():
                found.setdefault(name, []).extend(entries)
        return found

    def method(self, cls: Scope, name: str) -> Scope | None:
        for c in self.mro(cls):
            for binding in flow(c).bindings.get(name, ()):
                if binding.kind is Bound.FUNCTION:
                    return c.module.scopes[binding.node]
        return None

    # instances

    def annotated(self, node: ast.expr | None, scope: Scope, depth: int = 0, path: Path = ()) -> tuple[Scope, ...]:
        """The project classes that an annotation names, or that unpacking along a path finds in it."""
        if node is None or depth > 6:
            return ()
        match node:
            case ast.Constant(value=str()):
                return self.annotated(unquoted(node), scope, depth + 1, path)
            case ast.BinOp(left=left, right=right, op=ast.BitOr()):
                return tuple(c for side in (left, right) for c in self.annotated(side, scope, depth + 1, path))
            case ast.Subscript(value=base, slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                word = last_name(base)
                if word in ("tuple", "Tuple") and path:
                    step = path[0]
                    taken = parts[step] if isinstance(step, int) and step < len(parts) else None
                    return self.annotated(taken, scope, depth + 1, path[1:])
                if word in _WRAPPERS:
                    return tuple(c for p in parts for c in self.annotated(p, scope, depth + 1, path))
                return self.annotated(base, scope, depth + 1, path)
            case ast.Name() | ast.Attribute():
                classes = self.class_symbols(node, scope)
                return () if classes and path else classes or self._aliased(node, scope, depth, path)
        return ()

    def _aliased(self, node: ast.expr, scope: Scope, depth: int, path: Path) -> tuple[Scope, ...]:
        """The classes of an annotation that was given a name: `Parsed = tuple[Model, Run]`."""
        values: list[tuple[ast.expr, Scope]] = []
        for binding in self.bindings(node, scope) if isinstance(node, ast.Name) else ():
            if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
                values.append((binding.value, binding.scope))
            values += self.module_values(binding)
        plain = [(value, where) for value, where in values if isinstance(value, ast.Subscript | ast.BinOp)]
        return _unique(c for value, where in plain for c in self.annotated(value, where, depth + 1, path))

    def class_symbols(self, node: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """The project classes that an expression names."""
        return tuple(s for s in self.symbols(node, scope) if isinstance(s, Scope) and s.is_class)

    def classes(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[Scope, ...]:
        """The project classes that the value of an expression may be an instance of."""
        if depth > _DEPTH:
            return ()
        match node:
            case ast.Name():
                return _unique(c for b in self.bindings(node, scope) for c in self.instances(b, depth + 1))
            case ast.Attribute(value=base, attr=attr):
                found: list[Scope] = []
                for cls in self.classes(base, scope, depth + 1):
                    for field in self.fields(cls, attr):
                        found.extend(self.field_classes(field, depth + 1))
                return _unique(found)
            case ast.Call(func=func):
                return self._called(node, func, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return _unique((*self.classes(body, scope, depth + 1), *self.classes(orelse, scope, depth + 1)))
            case ast.BoolOp(values=values):
                return _unique(c for v in values for c in self.classes(v, scope, depth + 1))
            case ast.Await(value=value) | ast.NamedExpr(value=value):
                return self.classes(value, scope, depth + 1)
        return ()

    def field_classes(self, field: Field, depth: int = 0) -> tuple[Scope, ...]:
        found = self.annotated(field.annotation, field.scope)
        if not found and field.value is not None:
            found = self.classes(field.value, field.scope, depth + 1)
            if field.in_body and not found and isinstance(field.value, ast.Call):
                for keyword in field.value.keywords:
                    if keyword.arg == "default_factory":
                        symbols = self.symbols(keyword.value, field.scope)
                        found = tuple(s for s in symbols if isinstance(s, Scope) and s.is_class)
        return found

    def _called(self, node: ast.Call, func: ast.expr, scope: Scope, depth: int) -> tuple[Scope, ...]:
        found: list[Scope] = []
        others = False
        for symbol in self.callees(func, scope, depth + 1):
            if not isinstance(symbol, Scope):
                if symbol.path in ("copy.copy", "copy.deepcopy", "dataclasses.replace", "typing.cast") and node.args:
                    found.extend(self.classes(node.args[-1 if symbol.path == "typing.cast" else 0], scope, depth + 1))
            elif symbol.is_class:
                found.append(symbol)
            elif isinstance(symbol.node, Function):
                found.extend(self.annotated(symbol.node.returns, symbol) or self._as_given(node, symbol, scope, depth))
                others |= not is_own(symbol)
        if not found and not others and isinstance(func, ast.Attribute):
            # an alternative constructor: Config.from_file(...)
            found.extend(self.class_symbols(func.value, scope))
        return _unique(found)

    def _as_given(self, node: ast.Call, callee: Scope, scope: Scope, depth: int) -> Iterator[Scope]:
        """The classes that the type variable of a result stands for in one call."""
        for model, is_class in models(node, callee):
            yield from self.class_symbols(model, scope) if is_class else self.classes(model, scope, depth + 1)

    def callees(self, func: ast.expr, scope: Scope, depth: int = 0) -> tuple[Symbol, ...]:
        """What a call may call: symbols, and methods of an instance of a project class."""
        found = self.symbols(func, scope, depth)
        if found or not isinstance(func, ast.Attribute):
            return found
        methods = (self.method(c, func.attr) for c in self.classes(func.value, scope, depth + 1))
        return _unique(m for m in methods if m is not None)

    def instances(self, binding: Binding, depth: int = 0) -> tuple[Scope, ...]:
        """The project classes that what a binding gives its name may be an instance of."""
        if binding.annotation is not None:
            found = self.annotated(binding.annotation, binding.scope)
            if found:
                return found
        match binding.kind:
            case Bound.PARAMETER:
                scope = binding.scope
                if scope.parent is not None and scope.parent.is_class and isinstance(scope.node, Function):
                    first = parameters(scope.node)[0]
                    if binding.node is first and not is_static(scope):
                        return (scope.parent,)
            case Bound.ASSIGN if (held := binding.value) is not None and not binding.path:
                return self._made.ask(binding, lambda: self.classes(held, binding.scope, depth + 1))
            case Bound.ASSIGN if isinstance(call := binding.value, ast.Call):
                return self._made.ask(binding, lambda: self._unpacked(call, binding, depth))
            case Bound.WITH if binding.value is not None and not binding.path:
                return self.classes(binding.value, binding.scope, depth + 1)
            case Bound.IMPORT:
                # an instance made at module level and imported
                for value, scope in self.module_values(binding):
                    return self.classes(value, scope, depth + 1)
        return ()

    def _unpacked(self, call: ast.Call, binding: Binding, depth: int) -> tuple[Scope, ...]:
        """The classes that a name gets out of the tuple that a call returns, by its annotation."""
        callees = (s for s in self.callees(call.func, binding.scope, depth + 1) if isinstance(s, Scope))
        functions = ((s.node, s) for s in callees if isinstance(s.node, Function))
        return _unique(c for node, s in functions for c in self.annotated(node.returns, s, path=binding.path))

    def module_values(self, binding: Binding) -> Iterator[tuple[ast.expr, Scope]]:
        """The expressions that an imported module constant of the project was assigned."""
        head, _, name = binding.target.rpartition(".")
        module = self.modules.find(head, binding.scope.module) if head else None
        if module is None:
            return
        for found in module.bindings.get(name, ()):
            if found.kind is Bound.ASSIGN and found.value is not None and not found.path:
                yield found.value, found.scope
            elif found.kind is Bound.IMPORT and found.target != binding.target:
                yield from self.module_values(found)


def dotted(symbol: Symbol) -> str:
    """The full dotted name of a symbol."""
    if isinstance(symbol, External):
        return symbol.path
    names: list[str] = []
    scope: Scope | None = symbol
    while scope is not None and not isinstance(scope.node, ast.Module):
        names.append(scope.name)
        scope = scope.parent
    return ".".join([symbol.module.import_name, *reversed(names)])


def _unique(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
