"""What becomes of an object that a call makes: entered, dropped, kept, or only there for one that was not given."""

from __future__ import annotations

import ast

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.syntax import last_name

_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})


class Uses:
    """Answers for the calls of one module."""

    def __init__(self, module: Module, names: Names) -> None:
        self.module = module
        self.names = names

    def of(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> str:
        """What is done with it: `with`, `alone`, `assigned` or `passed`."""
        match stmt:
            case ast.With(items=items) | ast.AsyncWith(items=items) if any(i.context_expr is node for i in items):
                return "with"
            case ast.Expr(value=value) if value is node:
                return "alone"
            case ast.Expr(value=ast.Yield(value=value)) if value is node:
                return "alone" if self._is_manager(scope) and not self._is_kept(scope.name) else "passed"
            case ast.Assign(value=value) if value is node:
                return "assigned"
        return "passed"

    def applied(self, stmt: ast.stmt, scope: Scope, use: str) -> bool:
        """Whether an object that is stored in a local is used at all."""
        if use == "alone":
            return False
        if use == "assigned" and isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
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

    def is_default(self, node: ast.Call, stmt: ast.stmt, scope: Scope) -> bool:
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


def _is_none_test(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(c, ast.Constant) and c.value is None for c in node.comparators
    )


def _within(node: ast.expr) -> set[ast.AST]:
    return set(ast.walk(node))
