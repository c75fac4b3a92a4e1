"""fp8 recipes of a module: built and not passed, returned to callers that drop them, or given up in a handler."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.scope import Binding, Bound, Function, Scope
from dtypelint.facts.python.syntax import is_none, last_name
from dtypelint.facts.recipes import Fallback, Loss, LostRecipe
from dtypelint.facts.targets import Targets
from dtypelint.finding import Edit, Location, Related, Span
from dtypelint.knowledge import Call

ABOUT = re.compile(r"fp8|float8", re.IGNORECASE)
LOGGER = re.compile(r"log|print|warn", re.IGNORECASE)
LEVELS = re.compile(r"(?:debug|info|warning|warn|error|log|critical)(?:_\w+)?")
LOUD = re.compile(r"exit|abort|fail|raise", re.IGNORECASE)


class Recipes:
    """Finds them; `callers` gives the modules of the project in which a word stands."""

    def __init__(
        self,
        module: Module,
        names: Names,
        calls: Mapping[str, Call],
        targets: Targets,
        callers: Callable[[str], Iterable[Module]],
    ) -> None:
        self.module = module
        self.names = names
        self.calls = calls
        self.targets = targets
        self.callers = callers

    @cached_property
    def made(self) -> list[tuple[ast.Call, ast.stmt, Scope, Call]]:
        """Every call about fp8 that the tables know."""
        known = {path: api for path, api in self.calls.items() if api.family == "fp8"}
        words = {path.rpartition(".")[2] for path in known}
        words |= {b.name for bound in self._imports() for b in bound if b.target.rpartition(".")[2] in words}
        found = []
        for node, stmt, scope in self.module.calls:
            if last_name(node.func) in words:
                paths = self.names.paths(node.func, scope)
                found += [(node, stmt, scope, known[path]) for path in paths[:1] if path in known]
        return found

    def _imports(self) -> Iterator[list[Binding]]:
        for scope in self.module.scopes.values():
            for bound in flow(scope).bindings.values():
                if bound[0].kind is Bound.IMPORT:
                    yield bound

    def lost(self) -> Iterator[LostRecipe]:
        """Everything about fp8 in this module that is written and does not arrive."""
        if not ABOUT.search(self.module.tree.text):
            return
        for node, stmt, scope, api in self.made:
            if api.kind == "fp8_recipe":
                yield from self._recipe(node, stmt, scope)
                yield from self._ignored(node, api)
            elif api.kind == "fp8_convert" and isinstance(stmt, ast.Expr) and stmt.value is node:
                yield from self._unconverted(node, scope)
        yield from self._handed_back()
        for stmt, scope in self.module.statements():
            if isinstance(stmt, ast.Assign):
                yield from self._unread(stmt, scope)

    def fallbacks(self) -> Iterator[Fallback]:
        """Conversions in a `try` whose handler goes on."""
        for node, stmt, scope, api in self.made:
            if api.kind != "fp8_convert":
                continue
            for trial in flow(scope).context[stmt].tries:
                quiet = [handler for handler in trial.handlers if not _is_loud(handler)]
                if quiet and stmt in list(statements(trial.body)):
                    place = Related(self.module.at(quiet[0]), "the run goes on without it here")
                    yield Fallback(self.module.tree.span(node), self.module.tree.source(node.func), (place,))
                    break

    # recipes that are built and dropped

    def _recipe(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> Iterator[LostRecipe]:
        fate, related = self._fate(node, stmt, scope)
        what = self.module.tree.source(node.func)
        span = self.module.tree.span(node)
        if fate in ("alone", "logged"):
            loss = Loss.UNUSED if fate == "alone" else Loss.LOGGED
            yield LostRecipe(span, loss, what, related=related, edits=tuple(self._pass_on(stmt, scope)))
        elif fate == "returned" and (dropped := self._dropped(scope)):
            yield LostRecipe(span, Loss.RETURNED, what, scope.name, related=dropped)

    def _fate(self, node: ast.expr, stmt: ast.stmt, scope: Scope) -> tuple[str, tuple[Related, ...]]:
        """What becomes of a value: `passed`, `returned`, `alone` (nothing reads it) or `logged` (only messages do)."""
        if isinstance(stmt, ast.Return):
            return ("returned", ()) if stmt.value is not None and _is_or_holds(stmt.value, node) else ("passed", ())
        if isinstance(stmt, ast.Expr) and stmt.value is node:
            return "alone", ()
        if not (isinstance(stmt, ast.Assign | ast.AnnAssign) and stmt.value and _is_or_holds(stmt.value, node)):
            return "passed", ()
        several = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
        if len(several) != 1 or not isinstance(several[0], ast.Name) or not scope.is_function:
            return "passed", ()
        state = flow(scope)
        bindings = [b for b in state.bindings.get(several[0].id, ()) if b.node is stmt]
        if several[0].id in state.captured or several[0].id in state.outer:
            return "passed", ()
        return self._uses(bindings, scope)

    def _uses(self, bindings: list[Binding], scope: Scope) -> tuple[str, tuple[Related, ...]]:
        uses = [use for binding in bindings for use in flow(scope).uses.get(binding, ())]
        if not uses:
            return "alone", ()
        homes = {use: stmt for stmt in statements(scope.body) for use in uses if use in set(expressions(stmt))}
        if all(use in homes and _only_logs(homes[use]) for use in uses):
            return "logged", (Related(self.module.at(homes[uses[0]]), "the only use is a message"),)
        only = homes.get(uses[0])
        if len(uses) == 1 and isinstance(only, ast.Return) and only.value and _is_or_holds(only.value, uses[0]):
            return "returned", ()
        return "passed", ()

    def _dropped(self, scope: Scope) -> tuple[Related, ...]:
        """The calls of a function whose result nobody keeps; empty when one keeps it, or when none is known."""
        if not isinstance(scope.node, Function) or scope.owner is not None or scope.node.decorator_list:
            return ()
        found = []
        for module in self.callers(scope.name):
            for node, stmt, where in module.calls:
                if last_name(node.func) == scope.name and scope in self.names.symbols(node.func, where):
                    home = Recipes(module, self.names, self.calls, self.targets, self.callers)
                    if home._fate(node, stmt, where)[0] not in ("alone", "logged"):
                        return ()
                    found.append(Related(module.at(node), "its result is dropped here"))
            if _named_without_call(module, scope, self.names):
                return ()
        return tuple(found)

    def _handed_back(self) -> Iterator[LostRecipe]:
        """Calls in this module of a function that returns a recipe, the result dropped."""
        for node, stmt, scope in self.module.calls:
            if not ABOUT.search(last_name(node.func)):
                continue
            for symbol in self.names.symbols(node.func, scope):
                if not isinstance(symbol, Scope) or not symbol.is_function:
                    continue
                fate, related = self._fate(node, stmt, scope)
                if fate not in ("alone", "logged") or not self._returns_recipe(symbol):
                    continue
                loss = Loss.UNUSED if fate == "alone" else Loss.LOGGED
                yield LostRecipe(self.module.tree.span(node), loss, self.module.tree.source(node.func), related=related)

    def _returns_recipe(self, scope: Scope) -> bool:
        home = Recipes(scope.module, self.names, self.calls, self.targets, self.callers)
        return any(
            where is scope and api.kind == "fp8_recipe" and home._fate(node, stmt, where)[0] == "returned"
            for node, stmt, where, api in home.made
        )

    def _pass_on(self, stmt: ast.stmt, scope: Scope) -> Iterator[Edit]:
        """The argument that hands an unused recipe to the one `Accelerator` that is built after it and takes none."""
        if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
            return
        places = []
        order = flow(scope).order
        for node, later, where in self.module.calls:
            if where is scope and "accelerate.Accelerator" in self.names.paths(node.func, scope):
                if any(k.arg in (None, "kwargs_handlers") for k in node.keywords) or order[later] < order[stmt]:
                    return
                places.append(slot(self.module.tree, node))
        recipes = [each for each in self.made if each[2] is scope and each[3].library == "accelerate"]
        if len(places) == 1 and places[0] is not None and len(recipes) == 1:
            place, name = places[0], stmt.targets[0].id
            text = f"{place.before}kwargs_handlers=[{name}]{place.after}"
            yield Edit(Location(self.module.path, Span(place.offset, place.offset)), text)

    # arguments and flags that nobody reads

    def _ignored(self, node: ast.Call, api: Call) -> Iterator[LostRecipe]:
        """Arguments that another one switches off (`ignores` in the tables)."""
        given = {keyword.arg: keyword for keyword in node.keywords if keyword.arg}
        rows: Iterable[Mapping[str, Any]] = api.extra.get("ignores", ())
        for row in rows:
            beside = given.get(row["beside"])
            if beside is None or is_none(beside.value) or not self.targets.affects(api.library, row["versions"]):
                continue
            for name in row["names"]:
                if name in given and not is_none(given[name].value):
                    place = Related(self.module.at(beside), f"`{beside.arg}` is given here")
                    versions = f"{api.library} {row['versions']}"
                    span = self.module.tree.span(given[name])
                    yield LostRecipe(span, Loss.IGNORED, f"{name}=", api.name, versions, (place,))

    def _unconverted(self, node: ast.Call, scope: Scope) -> Iterator[LostRecipe]:
        """A conversion whose result is dropped although the module is a bare `nn.Linear`, which is not changed in place."""
        target = node.args[0] if node.args else None
        if not isinstance(target, ast.Name):
            return
        for binding in self.names.bindings(target, scope):
            made = binding.value.func if isinstance(binding.value, ast.Call) else binding.annotation
            if made is not None and External("torch.nn.Linear") in self.names.symbols(made, binding.scope):
                assert isinstance(binding.node, ast.stmt | ast.arg)
                place = Related(self.module.at(binding.node), "a bare `nn.Linear`")
                span = self.module.tree.span(node)
                edit = Edit(Location(self.module.path, Span(span.start, span.start)), f"{target.id} = ")
                yield LostRecipe(span, Loss.UNCONVERTED, target.id, related=(place,), edits=(edit,))
                return

    def _unread(self, stmt: ast.Assign, scope: Scope) -> Iterator[LostRecipe]:
        """`a.fp8 = True` where the class of `a` has no such field and that of another argument has."""
        match stmt.targets:
            case [ast.Attribute(value=ast.Name(id=name) as base, attr=attr)] if (
                ABOUT.search(attr) and scope.is_function
            ):
                classes = self.names.classes(base, scope)
            case _:
                return
        if not classes or any(not self._lacks(cls, attr) for cls in classes):
            return
        what = f"{name}.{attr}"
        if re.search(rf"\b{re.escape(what)}\b(?!\s*=[^=])", self.module.tree.text):
            return
        state = flow(scope)
        for other, bindings in state.bindings.items():
            for binding in bindings:
                node = binding.node
                if not isinstance(node, ast.arg | ast.stmt) or other == name:
                    continue
                later = isinstance(node, ast.stmt) and state.order[node] > state.order[stmt]
                owners = () if later else self.names.instances(binding)
                if not any(attr in self.names.all_fields(owner) for owner in owners):
                    continue
                edit = Edit(Location(self.module.path, self.module.tree.span(base)), other)
                place = (Related(self.module.at(node), f"`{attr}` is a field of this one"),)
                span = self.module.tree.span(stmt)
                yield LostRecipe(span, Loss.UNREAD, what, f"{other}.{attr}", related=place, edits=(edit,))
                return

    def _lacks(self, cls: Scope, attr: str) -> bool:
        outside = [base for base in self.names.bases(cls) if base.partition(".")[0] not in _plain(self.names, cls)]
        return attr not in self.names.all_fields(cls) and not outside


def expressions_of(scope: Scope) -> Iterator[ast.expr]:
    """Every expression of a scope."""
    for stmt in statements(scope.body):
        yield from expressions(stmt)


def _plain(names: Names, cls: Scope) -> set[str]:
    """The first parts of the names of base classes that bring no fields: those of the project and of the language."""
    inner = {each.module.import_name.partition(".")[0] for each in names.mro(cls)}
    return inner | {"builtins", "abc", "typing", "object", "enum"}


def _named_without_call(module: Module, scope: Scope, names: Names) -> bool:
    """Whether a function is handed on by its name, so that other callers are not known."""
    called = {id(node.func) for node, _, _ in module.calls}
    for node, _, where in module.expressions():
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
            if last_name(node) == scope.name and scope in names.symbols(node, where):
                return True
    return False


def _is_or_holds(value: ast.expr, node: ast.expr) -> bool:
    """Whether a value is an expression, or a list or tuple that holds it."""
    return value is node or (isinstance(value, ast.List | ast.Tuple) and any(item is node for item in value.elts))


def _only_logs(stmt: ast.stmt) -> bool:
    """Whether a statement only writes a message."""
    if not isinstance(stmt, ast.Expr) or not isinstance(stmt.value, ast.Call):
        return False
    match stmt.value.func:
        case ast.Name(id=name):
            return name == "print"
        case ast.Attribute(value=base, attr=attr):
            return bool(LOGGER.search(ast.unparse(base)) and LEVELS.fullmatch(attr))
    return False


def _is_loud(handler: ast.ExceptHandler) -> bool:
    """Whether a handler stops the run, on some path at least."""
    for node in (inner for stmt in handler.body for inner in ast.walk(stmt)):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call) and LOUD.search(ast.unparse(node.func)):
            return True
    return False
