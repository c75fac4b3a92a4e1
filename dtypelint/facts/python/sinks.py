"""The calls of a module that decide about a dtype, with their arguments and the settings in reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dtypelint.facts import POLICY_ROLES, Argument, Kind, Origin, Role, Sink, Value
from dtypelint.facts.imports import Imports
from dtypelint.facts.python.context import Surroundings
from dtypelint.facts.python.devices import device_type, picked
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.imports import imports
from dtypelint.facts.python.lapses import lapses
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module, expressions, statements
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.offers import Offers
from dtypelint.facts.python.reach import Reach
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import last_name, passed
from dtypelint.facts.python.trace import Leaf, Tracer
from dtypelint.facts.python.wording import Wording
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})
_PARTIAL = ("functools.partial", "partial")
WANTED = frozenset({"policy", "autocast", "scaler"})


@dataclass(slots=True)
class Filled:
    """The arguments of a call while they are gathered."""

    values: dict[str, tuple[ast.expr, bool, bool]] = field(default_factory=dict)
    is_open: bool = False


class Sinks:
    """Finds the sinks of one module."""

    def __init__(
        self, module: Module, names: Names, tracer: Tracer, reach: Reach, targets: Targets, offers: Offers
    ) -> None:
        self.module = module
        self.offers = offers
        self.targets = targets
        self.names = names
        self.tracer = tracer
        self.wording = Wording(tracer)
        self.reach = reach
        self._dict_arguments = {c.extra["policy"] for c in tracer.calls.values() if "policy_dict" in c.extra}
        self.around = Surroundings(module, names, tracer, targets)

    @cached_property
    def imports(self) -> Imports:
        return imports(self.module)

    def find(self) -> Iterator[Sink]:
        wanted = self._words()
        for node, stmt, scope in self.module.calls:
            yield from self._sink(node, stmt, scope, wanted)
            yield from self._policy_dict(node, stmt, scope)
            yield from self._forward(node, stmt, scope)

    def _words(self) -> set[str]:
        """The last names under which an api may be called here: its own, and what this module aliases it to."""
        words = {c.name for c in self.tracer.calls.values() if c.kind in WANTED}
        words |= {p.rpartition(".")[2] for p, c in self.tracer.calls.items() if c.kind in WANTED}
        grown = True
        while grown:
            grown = False
            for stmt, _ in self.module.statements():
                new = set(_aliases(stmt, words)) - words
                words |= new
                grown = grown or bool(new)
        return words

    def api(self, func: ast.expr, scope: Scope) -> Call | None:
        """The api that an expression names; a partial of it counts too."""
        for path in self.names.paths(func, scope):
            call = self.tracer.calls.get(path)
            if call is not None and call.kind in WANTED:
                return call
        return None

    def _sink(self, node: ast.Call, stmt: ast.stmt, scope: Scope, words: set[str]) -> Iterator[Sink]:
        name = last_name(node.func)
        filled = Filled()
        via = "call"
        api: Call | None = None
        if name in words:
            api = self.api(node.func, scope)
            if api is None:
                held = self._partial(node.func, scope)
                if held is not None:
                    api, inner, where = held
                    via = "held"
                    self._fill(filled, api, inner.args[1:], inner.keywords, where, own=False)
        if api is None and name == "partial" and node.args and last_name(node.args[0]) in words:
            api = self.api(node.args[0], scope)
            if api is None or not set(self.names.paths(node.func, scope)) & set(_PARTIAL):
                return
            via = "partial"
            self._fill(filled, api, node.args[1:], node.keywords, scope)
        elif api is not None:
            self._fill(filled, api, node.args, node.keywords, scope)
        elif name == "replace" and node.args:
            api = self._replaced(node, scope)
            if api is None:
                return
            via = "replace"
            self._fill(filled, api, [], node.keywords, scope)
            filled.is_open = True
        if api is None:
            return
        self._later(filled, node, stmt, scope)
        yield self._made(api, node, stmt, scope, filled, via)

    def _policy_dict(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> Iterator[Sink]:
        """A policy that is handed over as a dict."""
        name = next((k.arg for k in node.keywords if k.arg in self._dict_arguments), None)
        value = passed(node, name) if name is not None else None
        if name is None or value is None:
            return
        for path in self.names.paths(node.func, scope):
            holder = self.tracer.calls.get(path)
            items = self._items(value, scope) if holder is not None and holder.extra.get("policy") == name else None
            if holder is None or items is None:
                continue
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            rows = holder.extra.get("policy_dict", ())
            row = next((r for r in rows if all(given.get(k) == v for k, v in r["when"].items())), None)
            policies = (c for c in self.tracer.calls.values() if c.kind == "policy")
            api = next((c for c in policies if row is not None and c.family == row["family"]), None)
            if api is not None:
                filled = Filled({key: (each, True, True) for key, each in items.items()})
                yield replace(self._made(api, node, stmt, scope, filled, "dict"), slot=None)

    def _forward(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> Iterator[Sink]:
        """Any call that passes one named precision setting under the name of another."""
        crossed = {}
        for keyword in node.keywords:
            if keyword.arg is not None and self._is_precision(keyword.arg):
                named, _ = self.wording.named(keyword.value, scope)
                if named and named != keyword.arg and self._is_precision(named):
                    crossed[keyword.arg] = keyword.value
        if crossed and not self._is_known(node, scope):
            names = tuple(k.arg for k in node.keywords if k.arg)
            roles = {name: self.tracer.roles.role(name) or Role.GENERAL for name in crossed}
            api = Call("", "forward", last_name(node.func), "any", (), names, (), roles, False, {})
            filled = Filled(
                {k.arg: (k.value, True, True) for k in node.keywords if k.arg and self._is_precision(k.arg)}
            )
            yield self._made(api, node, stmt, scope, filled, "call")

    def _is_known(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call is a sink of its own."""
        calls = map(self.tracer.calls.get, self.names.paths(node.func, scope))
        return any(call is not None and call.kind in WANTED for call in calls)

    def _is_precision(self, name: str) -> bool:
        """Whether a name is that of a flag for one dtype, or of a dtype for one part of a policy."""
        return bool(self.tracer.roles.flag(name)) or self.tracer.roles.role(name) in POLICY_ROLES

    def _made(self, api: Call, node: ast.Call, stmt: ast.stmt, scope: Scope, filled: Filled, via: str) -> Sink:
        arguments: list[Argument] = []
        fed: list[Leaf] = []
        for field_name, (value, written, keyword) in filled.values.items():
            traced = self.tracer.trace(value, scope)
            fed.extend(traced.leaves)
            plain = Value(self.tracer.origins(traced.leaves), self.tracer.origins(traced.chosen))
            here = written and value in _within(node)
            span = self.module.tree.span(value) if here else self.module.tree.span(node)
            text = ast.unparse(value) if not here else self.module.tree.source(value)
            speaks = self.wording.speaks(value, scope) if field_name not in api.roles else frozenset[str]()
            named, role = self.wording.named(value, scope)
            test = isinstance(value, ast.Compare)
            arguments.append(Argument(field_name, text, span, plain, here, keyword, speaks, named, role, test))
        around = self.around.around(stmt, scope, node)
        reach = self.reach.at(stmt, scope, tuple(fed), frozenset(a.named for a in arguments))
        tests = [*(o for c in around.conditions for o in c.origins), *_enabled(arguments)]
        asked = {o.text for o in tests if o.kind is Kind.SETTING}
        reach = tuple(replace(s, tested=True) if s.read in asked else s for s in reach)
        reach = self.offers.all(reach, api, arguments, stmt, scope)
        parent = _use(node, stmt)
        if parent == "yielded":
            parent = "alone" if self._is_manager(scope) and not self._is_kept(scope.name) else "passed"
        return Sink(
            api=api,
            span=self.module.tree.span(node),
            callee=self.module.tree.source(node.func),
            arguments=tuple(arguments),
            is_open=filled.is_open,
            slot=slot(self.module.tree, node),
            reach=reach,
            around=around,
            via=via,
            entered=parent == "with",
            applied=self._applied(stmt, scope, parent),
            location=self.module.at(node),
            imports=self.imports,
            unset=self._unset(api),
            extra=self._extra(api, node, stmt, scope),
            lapse=self._lapse(api, filled, stmt, scope),
        )

    def _extra(self, api: Call, node: ast.Call, stmt: ast.stmt, scope: Scope) -> dict[str, str]:
        found = {"default": "yes"} if self._is_default(node, stmt, scope) else {}
        if "device_type" in api.parameters:
            found["device_type"] = device_type(stmt, scope, self.names)
            found["picked"] = picked(node, stmt)
        return found

    def _lapse(self, api: Call, filled: Filled, stmt: ast.stmt, scope: Scope) -> Location | None:
        """What sets the dtype of the parameters where the one of the reduction keeps its None."""
        by_role = {api.roles[name]: value for name, (value, _, _) in filled.values.items() if name in api.roles}
        if Role.PARAM in by_role and Role.REDUCE in by_role:
            for binding in lapses(by_role[Role.PARAM], by_role[Role.REDUCE], stmt, scope):
                traced = self.tracer.trace(binding.value, binding.scope) if binding.value is not None else None
                dtypes = (
                    {leaf.text for leaf in traced.leaves if leaf.kind is Kind.DTYPE} if traced is not None else set()
                )
                if isinstance(binding.node, ast.stmt) and dtypes != {"float32"}:
                    return binding.scope.module.at(binding.node)
        return None

    def _unset(self, api: Call) -> dict[str, tuple[Mapping[str, str], ...]]:
        """What a missing field means, for the targeted versions of the library."""
        rows: Mapping[str, Sequence[Mapping[str, str]]] = api.extra.get("unset", {})
        return {
            name: tuple(row for row in several if self.targets.affects(api.library, row["versions"]))
            for name, several in rows.items()
        }

    def _fill(
        self,
        filled: Filled,
        api: Call,
        args: list[ast.expr],
        keywords: list[ast.keyword],
        scope: Scope,
        own: bool = True,
    ) -> None:
        for index, arg in enumerate(args):
            if isinstance(arg, ast.Starred):
                filled.is_open = True
                break
            if index < len(api.parameters):
                filled.values[api.parameters[index]] = (arg, own, False)
        for keyword in keywords:
            if keyword.arg is not None:
                filled.values[keyword.arg] = (keyword.value, own, True)
            elif not self._spread(filled, keyword.value, scope):
                filled.is_open = True

    def _spread(self, filled: Filled, node: ast.expr, scope: Scope) -> bool:
        """Add the items of a `**mapping` that is written out nearby; False when it may hold more."""
        items = self._items(node, scope)
        if items is None:
            return False
        for name, value in items.items():
            filled.values[name] = (value, False, True)
        return True

    def _items(self, node: ast.expr, scope: Scope) -> dict[str, ast.expr] | None:
        match node:
            case ast.Dict(keys=keys, values=values):
                found: dict[str, ast.expr] = {}
                for key, value in zip(keys, values, strict=True):
                    if key is None:
                        inner = self._items(value, scope)
                        if inner is None:
                            return None
                        found |= inner
                    elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found[key.value] = value
                    else:
                        return None
                return found
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                if any(k.arg is None for k in keywords):
                    return None
                return {k.arg: k.value for k in keywords if k.arg}
            case ast.Name():
                bindings = self.names.bindings(node, scope)
                if (
                    len(bindings) != 1
                    or bindings[0].kind is not Bound.ASSIGN
                    or bindings[0].value is None
                    or bindings[0].path
                ):
                    return None
                items = self._items(bindings[0].value, bindings[0].scope)
                return None if items is None else self._stored(node.id, items, bindings[0].scope)
        return None

    def _stored(self, name: str, items: dict[str, ast.expr], scope: Scope) -> dict[str, ast.expr] | None:
        """What later `name["key"] = …` and `name.update(…)` add; None where they may add anything."""
        for stmt in statements(scope.body):
            match stmt:
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=str(key)))], value=value
                ):
                    if found == name:
                        items = {**items, key: value}
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="update" | "setdefault"))
                ):
                    if found == name:
                        return None
        return items

    def _partial(self, func: ast.expr, scope: Scope) -> tuple[Call, ast.Call, Scope] | None:
        """A name that holds `partial(api, …)`."""
        if not isinstance(func, ast.Name):
            return None
        for binding in self.names.bindings(func, scope):
            value = binding.value
            if binding.kind is Bound.ASSIGN and isinstance(value, ast.Call) and value.args:
                if set(self.names.paths(value.func, binding.scope)) & set(_PARTIAL):
                    api = self.api(value.args[0], binding.scope)
                    if api is not None:
                        return api, value, binding.scope
        return None

    def _replaced(self, node: ast.Call, scope: Scope) -> Call | None:
        """The class of the policy that `dataclasses.replace` copies."""
        if External("dataclasses.replace") not in self.names.symbols(node.func, scope):
            return None
        return self.built(node.args[0], scope)

    def built(self, node: ast.expr, scope: Scope) -> Call | None:
        """The api whose object an expression holds, by what it was assigned."""
        if isinstance(node, ast.Call):
            return self.api(node.func, scope)
        if isinstance(node, ast.Name):
            for binding in self.names.bindings(node, scope):
                if binding.kind is Bound.ASSIGN and isinstance(binding.value, ast.Call) and not binding.path:
                    found = self.api(binding.value.func, binding.scope)
                    if found is not None:
                        return found
                if binding.annotation is not None:
                    found = self.api(binding.annotation, binding.scope)
                    if found is not None:
                        return found
        return None

    def _later(self, filled: Filled, node: ast.Call, stmt: ast.stmt, scope: Scope) -> None:
        """Fields that are assigned, or replaced, after construction."""
        names: set[str] = set()
        match stmt:
            case ast.Assign(targets=[target], value=value) if value is node:
                names.add(ast.unparse(target))
            case ast.AnnAssign(target=target, value=value) if value is node:
                names.add(ast.unparse(target))
        if not names:
            return
        for other in statements(scope.body):
            match other:
                case ast.Assign(targets=[ast.Attribute(value=base, attr=attr)], value=value) if (
                    ast.unparse(base) in names
                ):
                    filled.values.setdefault(attr, (value, False, True))
                case (
                    ast.Assign(value=ast.Call(args=[first, *_], keywords=keywords) as call)
                    | ast.Return(value=ast.Call(args=[first, *_], keywords=keywords) as call)
                ) if ast.unparse(first) in names:
                    if last_name(call.func) == "replace":
                        for keyword in keywords:
                            if keyword.arg:
                                filled.values.setdefault(keyword.arg, (keyword.value, False, True))
                            else:
                                filled.is_open = True
                case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[first, *_])) if (
                    ast.unparse(first) in names
                ):
                    filled.is_open = True

    def _is_manager(self, scope: Scope) -> bool:
        """Whether a generator is made into a context manager: what it yields is not entered with it."""
        decorators = getattr(scope.node, "decorator_list", ())
        return any(_MANAGERS.intersection(self.names.paths(d, scope.parent or scope)) for d in decorators)

    def _is_kept(self, manager: str) -> bool:
        """Whether a `with` anywhere in the project gives a name to what a context manager of this name yields."""
        modules = (self.names.modules.module(path) for path in self.names.modules.files_with(manager))
        return any(
            item.optional_vars is not None
            and isinstance(item.context_expr, ast.Call)
            and last_name(item.context_expr.func) == manager
            for module in modules
            for stmt, _ in (module.statements() if module is not None else ())
            if isinstance(stmt, ast.With | ast.AsyncWith)
            for item in stmt.items
        )

    def _applied(self, stmt: ast.stmt, scope: Scope, parent: str) -> bool:
        """Whether an object that is stored in a local is used at all."""
        if parent == "alone":
            return False
        if parent == "assigned" and isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            target = stmt.targets[0]
            if isinstance(target, ast.Name) and scope.is_function:
                state = flow(scope)
                # a name that is given anew and used then stands for this object too: nothing is lost with it
                made = state.bindings.get(target.id, ())
                return target.id in state.captured or target.id in state.outer or any(state.uses.get(b) for b in made)
            if isinstance(target, ast.Attribute) and target.attr.startswith("_") and scope.owner is not None:
                # private to its class: who reads it stands in this module, or in a subclass that mentions it
                return any(self.module.path != path for path in self.names.modules.files_with(target.attr)) or any(
                    isinstance(n, ast.Attribute) and n.attr == target.attr and isinstance(n.ctx, ast.Load)
                    for n in ast.walk(self.module.tree.root)
                )
        return True

    def _is_default(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether the call only stands in for something that was not given: `x or Policy()`, a default argument, `if x is None`."""
        for each in expressions(stmt):
            if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or) and any(v is node for v in each.values[1:]):
                return True
            if isinstance(each, ast.IfExp) and node in (each.body, each.orelse) and _is_none_test(each.test):
                return True
            if isinstance(each, ast.Lambda) and each.body is node:
                return True
            if isinstance(each, ast.Call) and any(
                k.arg in ("default", "default_factory") and node in _within(k.value) for k in each.keywords
            ):
                return True
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
            return True
        if scope.is_class and isinstance(stmt, ast.AnnAssign):
            return True
        context = flow(scope).context.get(stmt)
        if context and isinstance(stmt, ast.Assign | ast.AnnAssign):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            for guard in context.guards:
                if guard.holds and _is_none_test(guard.test) and isinstance(guard.test, ast.Compare):
                    if ast.unparse(guard.test.left) in {ast.unparse(t) for t in targets}:
                        return True
        return False


def _enabled(arguments: Sequence[Argument]) -> Iterator[Origin]:
    """What the switch of a region is made from."""
    for argument in arguments:
        if argument.name == "enabled":
            yield from (*argument.value.origins, *argument.value.chosen_by)


def _is_none_test(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(c, ast.Constant) and c.value is None for c in node.comparators
    )


def _use(node: ast.Call, stmt: ast.stmt) -> str:
    """What becomes of the object: `with`, `alone`, `assigned`, `yielded` or `passed`."""
    match stmt:
        case ast.With(items=items) | ast.AsyncWith(items=items) if any(i.context_expr is node for i in items):
            return "with"
        case ast.Expr(value=value) if value is node:
            return "alone"
        case ast.Expr(value=ast.Yield(value=value)) if value is node:
            return "yielded"
        case ast.Assign(value=value) if value is node:
            return "assigned"
    return "passed"


def _within(node: ast.expr) -> set[ast.AST]:
    return set(ast.walk(node))


def _aliases(stmt: ast.stmt, words: set[str]) -> Iterator[str]:
    """The names that a statement makes out of wanted ones."""
    match stmt:
        case ast.ImportFrom(names=names):
            yield from (a.asname for a in names if a.asname and a.name in words)
        case ast.Assign(targets=targets, value=value):
            inner = (
                value.args[0]
                if isinstance(value, ast.Call) and value.args and last_name(value.func) == "partial"
                else value
            )
            options = [inner, *([inner.body, inner.orelse] if isinstance(inner, ast.IfExp) else [])]
            if any(last_name(o) in words for o in options):
                yield from (last_name(t) for t in targets)
        case _:
            return
