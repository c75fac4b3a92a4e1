"""What a fix needs to know of a setting in reach: how it is read as a dtype, and which dtypes it can be."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from dtypelint.facts import Argument, Form, Role, Setting
from dtypelint.facts.python.conversions import Conversions
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.held import Held
from dtypelint.facts.python.imports import imports
from dtypelint.facts.python.keeping import Keeping
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.ranges import Answer, Ranges
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.knowledge import Call

_COMPUTE = (Role.AUTOCAST, Role.PARAM, Role.GENERAL)


class Offers:
    """Completes the settings of one project."""

    def __init__(self, names: Names, tracer: Tracer, held: Held) -> None:
        self.names = names
        self.held = held
        self.ranges = Ranges(names, tracer)
        self.keeping = Keeping(names, self.ranges, cache(imports))
        self.conversions = Conversions(names, self.ranges)

    def all(
        self, reach: Sequence[Setting], api: Call, arguments: Sequence[Argument], stmt: ast.stmt, scope: Scope
    ) -> tuple[Setting, ...]:
        """The settings in reach of a sink, without the objects that only hold others."""
        whole = {o.text for a in arguments for o in a.value.origins} | {s.read for s in reach if not s.resolved}
        found = [self.complete(s, stmt, scope) for s in reach if not _holds_others(s.read, whole)]
        given = {Role(api.roles[a.name]): a.value.hardcoded for a in arguments if a.name in api.roles}
        nearer = {s.role for s in found if s.hop < 5}
        for index, setting in enumerate(found):
            fits = setting.role in (_COMPUTE if api.kind == "autocast" else api.roles.values())
            old = given.get(Role.AUTOCAST if api.kind == "autocast" else setting.role)
            if setting.hop == 5 and setting.role not in nearer and fits and (old or api.kind == "policy"):
                nearer.add(setting.role)
                found[index] = self.kept(setting, scope, api.kind, old)
        return tuple(found)

    def complete(self, setting: Setting, stmt: ast.stmt, scope: Scope) -> Setting:
        """The setting with its text and its range."""
        if setting.hop in (5, 7) or setting.form is Form.FLAG:
            return setting
        read = self._placed(setting.read, stmt, scope)
        if setting.form is Form.UNKNOWN and read is not None and self.ranges.is_dtype(read, scope):
            setting = replace(setting, text=setting.read, form=Form.DTYPE)
        elif setting.text is None or (setting.text == setting.read and setting.form is not Form.DTYPE):
            converted = self.conversions.convert(setting.read, scope, exactly=setting.form is not Form.STRING)
            setting = replace(setting, text=converted or setting.text)
        node = self._placed(setting.text, stmt, scope) if setting.text is not None else None
        found = self.ranges.dtypes(node, scope) if node is not None else None
        if found is None and setting.kind == "command-line option":
            found = self._chosen(setting, scope)
        return replace(setting, constants=tuple(sorted(found))) if found else setting

    def kept(self, setting: Setting, scope: Scope, kind: str, default: str | None) -> Setting:
        """A local of another method, kept on the object and read from there."""
        me, cls = self.held.self_name(scope), scope.owner
        if setting.hop != 5 or cls is None or not me:
            return setting
        kept = self.keeping.keep(setting, cls, "_autocast_dtype" if kind == "autocast" else f"_{setting.name}", default)
        if not kept.name:
            return replace(setting, unkept=kept.reason)
        return replace(setting, text=f"{me}.{kept.name}", stored=kept.edits, constants=kept.dtypes, form=kept.form)

    def _placed(self, text: str, stmt: ast.stmt, scope: Scope) -> ast.expr | None:
        """The expression of a text, its names bound as they are at a statement."""
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            return None
        state = flow(scope)
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and (bound := state.before.get(stmt, {}).get(name.id)):
                state.reaching[name] = bound
        return node

    def _chosen(self, setting: Setting, scope: Scope) -> Answer:
        """The dtypes of the choices of a command-line option, where they are spelled like dtypes."""
        for holder in (scope.module.scope, *scope.module.functions()):
            for stmt in flow(holder).order:
                if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
                    if scope.module.at(stmt.value) == setting.declared:
                        return self.ranges.spelled(self.ranges.choices(stmt.value, holder))
        return None


def _holds_others(read: str, others: set[str]) -> bool:
    """Whether what is read is an object that holds settings, and none itself."""
    return any(other.startswith((f"{read}.", f"{read}[")) for other in others)
