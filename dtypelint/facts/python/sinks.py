"""The calls of a module that decide about a dtype, with their arguments and the settings in reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from dtypelint.facts import POLICY_ROLES, Argument, Kind, Origin, Role, Sink, Value
from dtypelint.facts.imports import Imports
from dtypelint.facts.python.context import Surroundings
from dtypelint.facts.python.devices import device_type, picked
from dtypelint.facts.python.fills import Filled, Fills
from dtypelint.facts.python.imports import imports
from dtypelint.facts.python.lapses import lapses
from dtypelint.facts.python.layout import slot
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.offers import Offers
from dtypelint.facts.python.reach import Reach
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import last_name, passed, plain
from dtypelint.facts.python.trace import Leaf, Tracer
from dtypelint.facts.python.uses import Uses
from dtypelint.facts.python.wording import Wording
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_PARTIAL = ("functools.partial", "partial")
WANTED = frozenset({"policy", "autocast", "scaler"})


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
        self.fills = Fills(names)
        self.uses = Uses(module, names)
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
                    self.fills.fill(filled, api, inner.args[1:], inner.keywords, where, own=False)
        if api is None and name == "partial" and node.args and last_name(node.args[0]) in words:
            api = self.api(node.args[0], scope)
            if api is None or not set(self.names.paths(node.func, scope)) & set(_PARTIAL):
                return
            via = "partial"
            self.fills.fill(filled, api, node.args[1:], node.keywords, scope)
        elif api is not None:
            self.fills.fill(filled, api, node.args, node.keywords, scope)
        elif name == "replace" and node.args:
            api = self._replaced(node, scope)
            if api is None:
                return
            via = "replace"
            self.fills.fill(filled, api, [], node.keywords, scope)
            filled.is_open = True
        if api is None:
            return
        self.fills.later(filled, node, stmt, scope)
        yield self.made(api, node, stmt, scope, filled, via)

    def _policy_dict(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> Iterator[Sink]:
        """A policy that is handed over as a dict."""
        name = next((k.arg for k in node.keywords if k.arg in self._dict_arguments), None)
        value = passed(node, name) if name is not None else None
        if name is None or value is None:
            return
        for path in self.names.paths(node.func, scope):
            holder = self.tracer.calls.get(path)
            items = (
                self.fills.items(value, scope) if holder is not None and holder.extra.get("policy") == name else None
            )
            if holder is None or items is None:
                continue
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            rows = holder.extra.get("policy_dict", ())
            row = next((r for r in rows if all(given.get(k) == v for k, v in r["when"].items())), None)
            policies = (c for c in self.tracer.calls.values() if c.kind == "policy")
            api = next((c for c in policies if row is not None and c.family == row["family"]), None)
            if api is not None:
                filled = Filled({key: (each, True, True) for key, each in items.items()})
                yield replace(self.made(api, node, stmt, scope, filled, "dict"), slot=None)

    def _forward(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> Iterator[Sink]:
        """Any call that passes one named precision setting under the name of another."""
        crossed = {}
        for keyword in node.keywords:
            if keyword.arg is not None and self._is_precision(keyword.arg):
                named, _ = self.wording.named(keyword.value, scope)
                if named and named != keyword.arg and self._is_precision(named):
                    crossed[keyword.arg] = keyword.value
        if crossed and not self.knows(node, scope):
            names = tuple(k.arg for k in node.keywords if k.arg)
            roles = {name: self.tracer.roles.role(name) or Role.GENERAL for name in crossed}
            api = Call("", "forward", last_name(node.func), "any", (), names, (), roles, False, {})
            filled = Filled(
                {k.arg: (k.value, True, True) for k in node.keywords if k.arg and self._is_precision(k.arg)}
            )
            yield self.made(api, node, stmt, scope, filled, "call")

    def knows(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call is a sink of its own."""
        calls = map(self.tracer.calls.get, self.names.paths(node.func, scope))
        return any(call is not None and call.kind in WANTED for call in calls)

    def _is_precision(self, name: str) -> bool:
        """Whether a name is that of a flag for one dtype, or of a dtype for one part of a policy."""
        return bool(self.tracer.roles.flag(name)) or self.tracer.roles.role(name) in POLICY_ROLES

    def made(self, api: Call, node: ast.Call, stmt: ast.stmt, scope: Scope, filled: Filled, via: str) -> Sink:
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
        use = self.uses.of(node, stmt, scope)
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
            entered=use == "with",
            applied=self.uses.applied(stmt, scope, use),
            location=self.module.at(node),
            imports=self.imports,
            unset=self._unset(api),
            extra=self._extra(api, node, stmt, scope),
            lapse=self._lapse(api, filled, stmt, scope),
        )

    def _extra(self, api: Call, node: ast.Call, stmt: ast.stmt, scope: Scope) -> dict[str, str]:
        found = {"default": "yes"} if self.uses.is_default(node, stmt, scope) else {}
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
                if (annotation := plain(binding.annotation)) is not None:
                    found = self.api(annotation, binding.scope)
                    if found is not None:
                        return found
        return None


def _enabled(arguments: Sequence[Argument]) -> Iterator[Origin]:
    """What the switch of a region is made from."""
    for argument in arguments:
        if argument.name == "enabled":
            yield from (*argument.value.origins, *argument.value.chosen_by)


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
