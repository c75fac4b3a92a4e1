"""How a class keeps what one of its methods worked out: stored on the object there, with a default for whoever skips it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dtypelint.facts import Form, Setting
from dtypelint.facts.imports import Imports
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, blocks
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.ranges import Ranges
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope, parameters
from dtypelint.facts.python.trace import form_of
from dtypelint.finding import Edit, Location, Span


@dataclass(frozen=True, slots=True)
class Kept:
    """The attribute that holds a local, and the edits that put it there; without a name, the reason why it cannot be."""

    name: str = ""
    edits: tuple[Edit, ...] = ()
    dtypes: tuple[str, ...] = ()
    form: Form = Form.DTYPE
    reason: str = ""


class Keeping:
    """Plans the edits for one project."""

    def __init__(self, names: Names, ranges: Ranges, imports: Callable[[Module], Imports]) -> None:
        self.names = names
        self.ranges = ranges
        self._imports = imports

    def keep(self, setting: Setting, cls: Scope, wanted: str, default: str | None) -> Kept:
        """Keep a local of another method of a class; `default` is a dtype of torch or None."""
        method = self._method(setting, cls)
        if method is None or method.parent is None:
            return Kept(reason=f"`{setting.read}` is a {setting.kind}, which cannot be told apart")
        owner = method.parent
        name = next((n for n in (wanted, f"_{setting.name}") if self._is_free(n, cls, owner)), "")
        if not name:
            return Kept(reason=f"`{wanted}` is the name of something else")
        if self._is_closed(owner):
            return Kept(reason=f"`{owner.name}` takes no further attributes")
        stored = self._stored(method, setting.name, name)
        if stored is None:
            return Kept(reason=f"`{setting.read}` is not set on every path through `{method.name}`")
        known = self._dtypes(method, setting.name)
        if method.name == "__init__":
            return Kept(name, (stored,), *known)
        fallback = self._default(owner, name, default)
        if not fallback:
            return Kept(reason=f"there is no place for a default in `{owner.name}`")
        return Kept(name, (*fallback, stored), *known)

    def _dtypes(self, method: Scope, local: str) -> tuple[tuple[str, ...], Form]:
        """The dtypes that a local can be, and whether it is one at all."""
        bindings = flow(method).bindings[local]
        values = [b.value for b in bindings if b.value is not None and not b.path]
        found = [self.ranges.dtypes(value, method) for value in values]
        if len(values) == len(bindings) and None not in found:
            return tuple(sorted(frozenset().union(*(each for each in found if each)))), Form.DTYPE
        annotated = all(b.annotation is not None and form_of(b.annotation) is Form.DTYPE for b in bindings)
        sure = len(values) == len(bindings) and all(self.ranges.is_dtype(value, method) for value in values)
        return (), Form.DTYPE if sure or annotated else Form.UNKNOWN

    def _method(self, setting: Setting, cls: Scope) -> Scope | None:
        """The method that binds a local, by the place of its declaration."""
        for owner in self.names.mro(cls):
            if owner.module.path != setting.declared.path:
                continue
            for method in owner.module.functions():
                if method.parent is owner and any(
                    _place(binding) == setting.declared for binding in flow(method).bindings.get(setting.name, ())
                ):
                    return method
        return None

    def _is_free(self, name: str, cls: Scope, owner: Scope) -> bool:
        return name not in self.names.all_fields(cls) and not self.names.modules.files_with(name, owner.name)

    def _is_closed(self, owner: Scope) -> bool:
        assert isinstance(owner.node, ast.ClassDef)
        bases = {base.rpartition(".")[2] for base in self.names.bases(owner)}
        return (
            "__slots__" in flow(owner).bindings
            or bool(bases & {"NamedTuple", "Protocol", "TypedDict", "Enum"})
            or any("slots" in ast.unparse(d) or "frozen" in ast.unparse(d) for d in owner.node.decorator_list)
        )

    # where it is worked out

    def _stored(self, method: Scope, local: str, name: str) -> Edit | None:
        assert isinstance(method.node, Function)
        me = parameters(method.node)[0].arg
        bindings = flow(method).bindings[local]
        text = f"{me}.{name} = {local}"
        if all(binding.kind is Bound.PARAMETER for binding in bindings):
            return _before(method.module, _first(method.body), text)
        places = [binding.node for binding in bindings if binding.kind is not Bound.PARAMETER]
        found = _anchor(method.body, places)
        if found is None:
            return None
        block, index = found
        follows = block[index + 1] if index + 1 < len(block) else None
        after = flow(method).before.get(follows, {}) if follows is not None else flow(method).after or {}
        alone = isinstance(block[index], ast.Assign | ast.AnnAssign)
        if not alone and any(each.kind is Bound.UNBOUND for each in after.get(local, ())):
            return None
        return _behind(method.module, block[index], text)

    # what holds where that method did not run

    def _default(self, owner: Scope, name: str, default: str | None) -> tuple[Edit, ...]:
        """In `__init__`, before anything it calls; in the body of the class where there is none, or a subclass skips it."""
        value, imported = "None", tuple[Edit, ...]()
        module = owner.module
        start = module.tree.span(owner.node).start  # type: ignore[arg-type]
        if default is not None:
            known = self._imports(module).get("torch", default, start)
            if known is None:
                return ()
            value, imported = known
        init = next((b.node for b in flow(owner).bindings.get("__init__", ()) if isinstance(b.node, Function)), None)
        if init is not None and not self._is_skipped(owner):
            edit = _before(module, _first(init.body), f"{parameters(init)[0].arg}.{name} = {value}")
        else:
            edit = _before(module, _first(owner.body), f"{name} = {value}")
        return (*imported, edit) if edit is not None else ()

    def _is_skipped(self, owner: Scope) -> bool:
        """Whether a subclass in the project does without the `__init__` of a class."""
        for path in self.names.modules.files_with(owner.name):
            module = self.names.modules.module(path)
            for cls in module.classes() if module is not None else ():
                if cls is owner or owner not in self.names.mro(cls):
                    continue
                for binding in flow(cls).bindings.get("__init__", ()):
                    if isinstance(binding.node, Function) and not _calls_base(binding.node):
                        return True
        return False


def _calls_base(init: Function) -> bool:
    """Whether an `__init__` calls that of its base."""
    for node in ast.walk(init):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr="__init__")):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="__init__")):
                return True
    return False


def _place(binding: Binding) -> Location | None:
    node = binding.node
    return binding.scope.module.at(node) if isinstance(node, ast.expr | ast.stmt | ast.arg) else None


def _first(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """The first statement behind a docstring."""
    documented = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return next(iter(body[int(documented) :]), None)


def _anchor(block: Sequence[ast.stmt], places: Sequence[ast.AST]) -> tuple[Sequence[ast.stmt], int] | None:
    """The innermost block that holds all places, and the index of its statement that holds the last one."""
    holding = [i for i, stmt in enumerate(block) if any(place in set(ast.walk(stmt)) for place in places)]
    if not holding:
        return None
    if len(holding) == 1 and block[holding[0]] not in places:
        for inner in _inner(block[holding[0]]):
            within = {node for stmt in inner for node in ast.walk(stmt)}
            if all(place in within for place in places):
                return _anchor(inner, places)
    return block, holding[-1]


def _inner(stmt: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    return iter(()) if isinstance(stmt, Function | ast.ClassDef) else blocks(stmt)


def _before(module: Module, stmt: ast.stmt | None, text: str) -> Edit | None:
    """Put a statement before another one, which begins its line."""
    if stmt is None:
        return None
    line = (
        stmt.decorator_list[0].lineno
        if isinstance(stmt, Function | ast.ClassDef) and stmt.decorator_list
        else stmt.lineno
    )
    starts = module.tree.starts
    indent = _indent(module, starts[line - 1])
    while line > 1 and module.tree.data[starts[line - 2] : starts[line - 1]].lstrip().startswith(b"#"):
        # a comment stays with the statement below it
        line -= 1
    start = starts[line - 1]
    if indent is None:
        return None
    newline = "\r\n" if b"\r\n" in module.tree.data else "\n"
    apart = newline if isinstance(stmt, Function | ast.ClassDef) else ""
    return Edit(Location(module.path, Span(start, start)), f"{indent}{text}{newline}{apart}")


def _behind(module: Module, stmt: ast.stmt, text: str) -> Edit | None:
    """Put a statement behind another one, which has its lines for itself."""
    data, starts = module.tree.data, module.tree.starts
    indent = _indent(module, starts[stmt.lineno - 1])
    end, last = module.tree.span(stmt).end, stmt.end_lineno or stmt.lineno
    stop = starts[last] if last < len(starts) else len(data)
    rest = data[end:stop].decode()
    if indent is None or (rest.strip() and not rest.lstrip().startswith("#")):
        return None
    newline = "\r\n" if b"\r\n" in data else "\n"
    place = end + len(rest.rstrip("\r\n").encode())
    return Edit(Location(module.path, Span(place, place)), f"{newline}{indent}{text}")


def _indent(module: Module, start: int) -> str | None:
    """The white space at the start of a line; None where something else stands before the first statement on it."""
    line = module.tree.data[start:].split(b"\n", 1)[0].decode()
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return indent if indent and line.strip() else None
