"""What a fix needs to know of a setting in reach: how it is read as a dtype, and which dtypes it can be."""

from __future__ import annotations

import ast
from dataclasses import replace

from dtypelint.facts import Form, Setting
from dtypelint.facts.python.conversions import Conversions
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.ranges import Answer, Ranges
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.trace import Tracer


class Offers:
    """Completes the settings of one project."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.ranges = Ranges(names, tracer)
        self.conversions = Conversions(names, self.ranges)

    def complete(self, setting: Setting, stmt: ast.stmt, scope: Scope) -> Setting:
        """The setting with its text and its range."""
        if setting.hop in (5, 7) or setting.form is Form.FLAG:
            return setting
        text = setting.text
        if text is None or (text == setting.read and setting.form is not Form.DTYPE):
            converted = self.conversions.convert(setting.read, scope, exactly=setting.form is not Form.STRING)
            text = converted or text
        if text is None:
            return setting
        node = self._placed(text, stmt, scope)
        if node is None:
            return setting
        found = self.ranges.dtypes(node, scope)
        if found is None and setting.kind == "command-line option":
            found = self._chosen(setting, scope)
        form = setting.form
        if form is Form.UNKNOWN and text == setting.read and self.ranges.is_dtype(node, scope):
            form = Form.DTYPE
        return replace(setting, text=text, form=form, constants=tuple(sorted(found)) if found else setting.constants)

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
