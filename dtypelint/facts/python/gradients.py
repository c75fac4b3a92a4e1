"""Where gradients are off: in a region, in a decorated function, or from a statement on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dtypelint.facts.python.module import statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.syntax import argument
from dtypelint.knowledge import Call


class Gradients:
    """Answers it for the code of one project."""

    def __init__(self, names: Names, by_path: Mapping[str, Call]) -> None:
        self.names = names
        self.by_path = by_path

    def stops(self, node: ast.expr, scope: Scope) -> bool:
        """Whether a decorator or a context turns gradients off: `inference_mode(False)` does not, nor does a mode of unknown value."""
        api = self._api(node, scope)
        if api is None or not isinstance(node, ast.Call):
            return api is not None
        name = api.extra.get("switch") or api.extra.get("grad")
        value = argument(node, str(name), api.parameters) if name else None
        wanted = "grad" not in api.extra
        return (value is None and wanted) or (isinstance(value, ast.Constant) and value.value is wanted)

    def are_off(self, scope: Scope) -> bool:
        """Whether the statements of a scope turn them off for good: `torch.set_grad_enabled(False)`, and never on again."""
        calls = [s.value for s in statements(scope.body) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
        switches = [call for call in calls if (api := self._api(call, scope)) is not None and "grad" in api.extra]
        return bool(switches) and all(self.stops(call, scope) for call in switches)

    def _api(self, node: ast.expr, scope: Scope) -> Call | None:
        func = node.func if isinstance(node, ast.Call) else node
        found = (self.by_path.get(path) for path in self.names.paths(func, scope))
        return next((api for api in found if api is not None and api.kind == "no_grad"), None)
