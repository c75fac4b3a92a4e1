"""Owners of an autocast that are built without a precision, and the regions that they are asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from dtypelint.facts import Role, Setting
from dtypelint.facts.inert import Inert
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.reach import Reach
from dtypelint.facts.python.scope import Scope
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_ASKS = "asks_launcher"
_ROLES = (Role.AUTOCAST, Role.PARAM, Role.GENERAL)
_AUTOCAST = ".autocast("


class Inerts:
    """Finds them in one module; `mentioning` gives the modules with a text, `is_launched` says whether a launcher is told."""

    def __init__(
        self,
        module: Module,
        names: Names,
        calls: Mapping[str, Call],
        reach: Reach,
        mentioning: Callable[[str], Iterable[Module]],
        is_launched: Callable[[], bool],
    ) -> None:
        self.module = module
        self.names = names
        self.calls = {path: call for path, call in calls.items() if _ASKS in call.extra.get("does", ())}
        self.reach = reach
        self.mentioning = mentioning
        self.is_launched = is_launched

    def find(self) -> Iterator[Inert]:
        words = {path.rpartition(".")[2].encode() for path in self.calls}
        if not any(word + b"(" in self.module.tree.data for word in words):
            return
        for node, stmt, scope in self.module.calls:
            if not self._is_bare(node, scope):
                continue
            setting = self._setting(stmt, scope)
            place = self._entered(stmt) if setting is not None else None
            if setting is not None and place is not None and not self.is_launched():
                text, entered = place
                span, source = self.module.tree.span(node), self.module.tree.source
                yield Inert(span, source(node.func), text, entered, setting)

    def _is_bare(self, node: ast.Call, scope: Scope) -> bool:
        """Whether a call builds an owner and gives it no precision."""
        if not isinstance(node.func, ast.Name | ast.Attribute):
            return False
        api = next((self.calls[path] for path in self.names.paths(node.func, scope) if path in self.calls), None)
        if api is None or any(k.arg is None or k.arg in api.roles for k in node.keywords):
            return False
        positional = api.parameters[: len(node.args)]
        return not any(isinstance(a, ast.Starred) for a in node.args) and not set(positional) & set(api.roles)

    def _setting(self, stmt: ast.stmt, scope: Scope) -> Setting | None:
        """The nearest setting for computing that the call could have been given."""
        found = self.reach.at(stmt, scope, (), frozenset())
        return next((s for s in found if s.role in _ROLES and not s.dead and s.kind != "module constant"), None)

    def _entered(self, stmt: ast.stmt) -> tuple[str, Location] | None:
        """Where the autocast of the object is entered: in this module, or under its name in another one."""
        targets = stmt.targets if isinstance(stmt, ast.Assign) else []
        held = {ast.unparse(target).rpartition(".")[2] for target in targets} or {"accelerator"}
        others = (module for module in self.mentioning(_AUTOCAST) if module is not self.module)
        for module in (self.module, *others):
            for call, _, _ in module.calls:
                match call.func:
                    case ast.Attribute(value=base, attr="autocast") if ast.unparse(base).rpartition(".")[2] in held:
                        return module.tree.source(call), module.at(call)
        return None
