"""The arguments that a call gets: written in it, out of a mapping that is written out nearby, or assigned later."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from dtypelint.facts.python.module import statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.syntax import last_name
from dtypelint.knowledge import Call


@dataclass(slots=True)
class Filled:
    """The arguments of a call while they are gathered."""

    values: dict[str, tuple[ast.expr, bool, bool]] = field(default_factory=dict)
    is_open: bool = False


class Fills:
    """Gathers them for the calls of one project."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def fill(
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
        items = self.items(node, scope)
        if items is None:
            return False
        for name, value in items.items():
            filled.values[name] = (value, False, True)
        return True

    def items(self, node: ast.expr, scope: Scope) -> dict[str, ast.expr] | None:
        match node:
            case ast.Dict(keys=keys, values=values):
                found: dict[str, ast.expr] = {}
                for key, value in zip(keys, values, strict=True):
                    if key is None:
                        inner = self.items(value, scope)
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
                items = self.items(bindings[0].value, bindings[0].scope)
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

    def later(self, filled: Filled, node: ast.Call, stmt: ast.stmt, scope: Scope) -> None:
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
