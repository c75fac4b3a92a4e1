"""Defaults of options and fields that reach a constructor which would else ask its launcher."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from dtypelint.facts.given import Preset
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.options import options_of
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import passed
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_ASKS = "asks_launcher"


class Presets:
    """Finds the presets of one module; `mentioning` gives the modules in whose text a word occurs."""

    def __init__(
        self,
        module: Module,
        names: Names,
        calls: Mapping[str, Call],
        mentioning: Callable[[str], Iterable[Module]],
    ) -> None:
        self.module = module
        self.names = names
        self.calls = {path: call for path, call in calls.items() if _ASKS in call.extra.get("does", ())}
        self.mentioning = mentioning

    def find(self) -> Iterator[Preset]:
        words = {path.rpartition(".")[2].encode() for path in self.calls}
        if not any(word in self.module.tree.data for word in words):
            return
        for node, _, scope in self.module.calls:
            if (api := self._api(node.func, scope)) is not None:
                yield from self._presets(node, api, scope)

    def _api(self, func: ast.expr, scope: Scope) -> Call | None:
        if not isinstance(func, ast.Name | ast.Attribute):
            return None
        return next((self.calls[path] for path in self.names.paths(func, scope) if path in self.calls), None)

    def _presets(self, node: ast.Call, api: Call, scope: Scope) -> Iterator[Preset]:
        given = {k.arg: k.value for k in node.keywords if k.arg in api.roles}
        given.update({n: a for n, a in zip(api.parameters, node.args, strict=False) if n in api.roles})
        for name, value in given.items():
            if name is None:
                continue
            read = self._unaliased(value, scope)
            if isinstance(read, ast.Attribute) and not self._set(read):
                for default, where, declared, kind, optional in self._defaults(read, scope):
                    yield Preset(
                        api,
                        name,
                        self.module.tree.source(read),
                        self.module.at(node),
                        where.tree.source(default),
                        where.at(default),
                        declared,
                        kind,
                        self._alone(read),
                        optional,
                    )

    def _unaliased(self, node: ast.expr, scope: Scope) -> ast.expr:
        """What a local was assigned, when it is one thing."""
        if isinstance(node, ast.Name):
            bindings = self.names.bindings(node, scope)
            if len(bindings) == 1 and bindings[0].kind is Bound.ASSIGN and bindings[0].value and not bindings[0].path:
                return bindings[0].value
        return node

    def _set(self, read: ast.Attribute) -> bool:
        """Whether the attribute is assigned somewhere in the file, so that the default may be gone."""
        return any(
            isinstance(n, ast.Attribute) and n.attr == read.attr and isinstance(n.ctx, ast.Store)
            for n in ast.walk(self.module.tree.root)
        )

    def _defaults(self, read: ast.Attribute, scope: Scope) -> Iterator[tuple[ast.expr, Module, Location, str, bool]]:
        classes = self.names.classes(read.value, scope)
        for cls in classes:
            fields = self.names.fields(cls, read.attr)
            first = fields[0] if fields else None
            if first is not None and first.in_body and _chosen(first.value):
                assert first.value is not None
                optional = first.annotation is None or "None" in (a := ast.unparse(first.annotation)) or "Optional" in a
                module = first.owner.module
                yield first.value, module, module.at(first.node), f"field of `{cls.name}`", optional
        if classes:
            return
        for node in options_of(self.module, read.attr):
            default = passed(node, "default")
            if _chosen(default):
                assert default is not None
                yield default, self.module, self.module.at(node), "command-line option", True

    def _alone(self, read: ast.Attribute) -> bool:
        """Whether nothing else in the project reads an attribute of this name."""
        return not any(
            isinstance(n, ast.Attribute) and n.attr == read.attr and n is not read and isinstance(n.ctx, ast.Load)
            for module in self.mentioning(f".{read.attr}")
            for n in ast.walk(module.tree.root)
        )


def _chosen(node: ast.expr | None) -> bool:
    """Whether a default is a precision, and not the absence of one."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)
