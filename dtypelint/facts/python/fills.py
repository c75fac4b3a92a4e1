"""The arguments of a call by field: written in it, spread from a mapping that is built nearby, or set on the object later."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Bound, Function, Scope, parameters
from dtypelint.facts.python.syntax import last_name
from dtypelint.knowledge import Call

_CHANGES = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__"})


@dataclass(slots=True)
class Filled:
    """The arguments of a call while they are gathered: value, whether it is written in the call, whether by name."""

    values: dict[str, tuple[ast.expr, bool, bool]] = field(default_factory=dict)
    is_open: bool = False


class Fills:
    """Gathers them for the calls of one project, and says where there may be more."""

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
            elif (items := self.items(keyword.value, scope)) is not None:
                filled.values |= {name: (value, False, True) for name, value in items.items()}
            else:
                filled.is_open = True

    def items(self, node: ast.expr, scope: Scope) -> dict[str, ast.expr] | None:
        """What a mapping holds that is written out nearby; None where it may hold more."""
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
        """What later `name["key"] = …` adds; None where other statements may add anything."""
        if name in flow(scope).captured and any(_changes(node, name) for node in flow(scope).nested):
            return None
        for stmt in statements(scope.body):
            match stmt:
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=str(key)))], value=value
                ) if found == name:
                    items = {**items, key: value}
                case _:
                    if any(_writes(each, name) for each in (stmt, *expressions(stmt))):
                        return None
                    if self._is_changed(stmt, name, scope):
                        return None
        return items

    def later(self, filled: Filled, node: ast.Call, stmt: ast.stmt, scope: Scope) -> None:
        """Fields that are assigned, or replaced, after construction."""
        match stmt:
            case ast.Assign(targets=[ast.expr() as target], value=value) if value is node:
                name = ast.unparse(target)
            case ast.AnnAssign(target=target, value=value) if value is node:
                name = ast.unparse(target)
            case _:
                return
        for other in statements(scope.body):
            match other:
                case ast.Assign(targets=[ast.Attribute(value=base, attr=attr)], value=value) if (
                    ast.unparse(base) == name
                ):
                    filled.values.setdefault(attr, (value, False, True))
                case (
                    ast.Assign(value=ast.Call(args=[first, *_], keywords=keywords) as call)
                    | ast.Return(value=ast.Call(args=[first, *_], keywords=keywords) as call)
                ) if ast.unparse(first) == name and last_name(call.func) == "replace":
                    for keyword in keywords:
                        if keyword.arg:
                            filled.values.setdefault(keyword.arg, (keyword.value, False, True))
                        else:
                            filled.is_open = True
                case _:
                    filled.is_open |= self._is_changed(other, name, scope)

    def _is_changed(self, stmt: ast.stmt, name: str, scope: Scope) -> bool:
        """Whether a statement hands an object to `setattr`, or to a function of the project that changes it."""
        for call in (node for node in expressions(stmt) if isinstance(node, ast.Call)):
            given: list[tuple[int | str, ast.expr]] = [*enumerate(call.args)]
            given += [(k.arg, k.value) for k in call.keywords if k.arg]
            for place in (place for place, value in given if ast.unparse(value) == name):
                if last_name(call.func) == "setattr" or any(self._received(call, place, scope)):
                    return True
        return False

    def _received(self, call: ast.Call, place: int | str, scope: Scope) -> Iterator[bool]:
        """For each function that a call may run, whether it changes what it gets in one place."""
        for callee in self.names.callees(call.func, scope):
            if isinstance(callee, Scope) and isinstance(callee.node, Function):
                names = [arg.arg for arg in parameters(callee.node)]
                if names[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
                    names = names[1:]
                own = [place] if isinstance(place, str) else names[place : place + 1]
                yield any(_changes(callee.node, each) for each in own)


def _changes(node: ast.AST, name: str) -> bool:
    """Whether the code below a node stores into the object of a name."""
    return any(_writes(each, name) for each in ast.walk(node))


def _writes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=found), ctx=ast.Store()):
            return found == name
        case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.AugAssign(target=ast.Name(id=found)):
            return found == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=attr)) if attr in _CHANGES:
            return found == name
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=found), *_]):
            return found == name
    return False
