"""Expressions of the user's code, evaluated over an allow-list of syntax; nothing of it is ever executed."""

from __future__ import annotations

import ast
import operator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dtypelint.facts.python.names import External
from dtypelint.facts.python.scope import Bound
from dtypelint.smoke.knobs import NAMES, Knobs
from dtypelint.smoke.symbols import (
    Built,
    Dtype,
    Frame,
    Knob,
    Library,
    Method,
    Refused,
    Routine,
    Unknown,
    anything,
    torch_dtype,
)
from dtypelint.smoke.unbound import not_yet

if TYPE_CHECKING:
    from dtypelint.facts.project import Project

STEPS = 20_000
TEXT = 80
_ORDER = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}


class Expressions:
    """Evaluates expressions; `path` holds the nodes that lead to the goal, which is `goal` itself."""

    def __init__(self, project: Project, knobs: Knobs, goal: ast.AST, path: frozenset[ast.AST]) -> None:
        self.project = project
        self.names = project.names
        self.knobs = knobs
        self.goal = goal
        self.path = path
        self.steps = 0
        self.places: dict[str, Any] = {}
        self._constants: dict[ast.expr, Any] = {}

    def value(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression, or Unknown."""
        self.steps += 1
        if self.steps > STEPS:
            raise Unknown("too many steps")
        value = self._value(node, frame)
        if node is self.goal and not isinstance(node, ast.Call):
            self.reached(Built(anything("value"), {"dtype": value}))
        return value

    def _value(self, node: ast.expr, frame: Frame) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(node, name, frame)
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Subscript():
                return self._subscript(node, frame)
            case ast.Call():
                return self.call(node, frame)
            case ast.Dict():
                return self._dict(node, frame)
            case ast.List() | ast.Set():
                return self.items(node.elts, frame)
            case ast.Tuple():
                return tuple(self.items(node.elts, frame))
            case ast.IfExp():
                return self.choice(node, frame)
            case ast.BoolOp():
                return self._boolean(node, frame)
            case ast.UnaryOp():
                return self._unary(node, frame)
            case ast.BinOp():
                return self._binary(node, frame)
            case ast.Compare():
                return self._compare(node, frame)
            case ast.JoinedStr():
                return self._joined(node, frame)
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                frame.env[name] = self.value(inner, frame)
                return frame.env[name]
            case ast.Await(value=inner):
                return self.value(inner, frame)
            case ast.Lambda():
                if node in self.path:
                    env = {arg.arg: Knob(arg.arg) for arg in [*node.args.args, *node.args.kwonlyargs]}
                    return self.value(node.body, Frame(frame.scope, env, frame))
                return Routine(node, frame.scope, frame.env)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return self._comprehension(node, frame)
        raise Unknown(f"`{self.text(node)}` is not read")

    def reached(self, value: Built) -> None:
        """Take note of the value of the goal; one that is no call counts as a dtype."""
        raise NotImplementedError

    def text(self, node: ast.AST) -> str:
        """The source of a node on one line."""
        text = ast.unparse(node)
        return text if len(text) <= TEXT else f"{text[:TEXT]}…"

    def opaque(self, node: ast.expr) -> Any:
        """What stands for a value that is not computed: the knob of its own text."""
        return self.place(ast.unparse(node))

    def place(self, path: str, default: Any = ...) -> Any:
        """What is stored at a path, or its knob."""
        if path in self.places:
            return self.places[path]
        return self.knobs.known(Knob(path) if default is ... else Knob(path, default))

    def _name(self, node: ast.Name, name: str, frame: Frame) -> Any:
        try:
            return self.knobs.known(frame.find(name))
        except LookupError:
            if not_yet(name, frame.scope):
                raise Refused(f"`{name}` is not assigned here") from None
        symbols = self.names.symbols(node, frame.scope)
        if len(symbols) == 1:
            symbol = symbols[0]
            if isinstance(symbol, External):
                value = self._library(symbol.path)
                return self.place(name, value) if isinstance(value, Dtype) and self._is_kept(node, frame) else value
            if isinstance(symbol.node, ast.FunctionDef | ast.AsyncFunctionDef):
                return Routine(symbol.node, symbol)
        if symbols:
            dotted = self.names.paths(node, frame.scope)
            return Library(dotted[0])
        return self._constant(node, name, frame)

    def _is_kept(self, node: ast.Name, frame: Frame) -> bool:
        """Whether a name of torch's is a constant of the project: a setting of its own."""
        bindings = self.names.bindings(node, frame.scope)
        return any(each.kind is Bound.ASSIGN or not each.target.startswith("torch.") for each in bindings)

    def _library(self, path: str) -> Any:
        library, _, name = path.rpartition(".")
        dtype = torch_dtype(name) if library == "torch" else None
        return dtype or Library(path)

    def _constant(self, node: ast.Name, name: str, frame: Frame) -> Any:
        for binding in self.names.bindings(node, frame.scope):
            if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
                found = [(binding.value, binding.scope)]
            elif binding.kind is Bound.IMPORT:
                found = list(self.names.module_values(binding))
            else:
                continue
            for expression, scope in found:
                if scope.is_function:
                    continue
                if expression not in self._constants:
                    self._constants[expression] = Knob(name)
                    with suppress(Unknown):
                        self._constants[expression] = self.value(expression, Frame(scope, {}))
                value = self._constants[expression]
                if self.knobs.spell(value):
                    return self.place(name, value)
                return value
        return self.place(name)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        owner = self.value(node.value, frame)
        if node.attr.startswith("__"):
            raise Unknown(f"`{self.text(node)}` is not read")
        return self.member(owner, node.attr)

    def member(self, owner: Any, name: str) -> Any:
        """An attribute of a value."""
        match owner:
            case Library(path):
                return self._library(f"{path}.{name}")
            case Knob(path):
                return self.place(f"{path}.{name}")
            case Built(fields=fields) if name in fields:
                return fields[name]
            case Built(call=call):
                return None if name in call.parameters else Method(owner, name)
        if name in ("value", "name") and isinstance(owner, str | Dtype):
            return owner
        return Method(owner, name)

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        owner = self.value(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            return self.opaque(node)
        key = self.value(node.slice, frame)
        if isinstance(owner, Knob):
            key = self.knobs.known(key)
            return self.place(f"{owner.path}[{key.path if isinstance(key, Knob) else key!r}]")
        if isinstance(owner, dict | list | tuple):
            return self.item(owner, key)
        return self.opaque(node)

    def item(self, owner: Any, key: Any) -> Any:
        """The item of a known container; a dtype finds the key that spells it."""
        keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
        key = self.knobs.settle(key, keys)
        try:
            return owner[key]
        except (KeyError, IndexError, TypeError):
            pass
        spelled = self.knobs.spell(key)
        for known in keys:
            if spelled is not None and self.knobs.spell(known) == spelled:
                return owner[known]
        raise Unknown(f"{key!r} is no key of the table")

    def _dict(self, node: ast.Dict, frame: Frame) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            item = self.value(value, frame)
            if key is None:
                if not isinstance(item, dict):
                    raise Unknown(f"`**{self.text(value)}` is not known")
                found.update(item)
            else:
                found[self._hashable(self.value(key, frame))] = item
        return found

    def _hashable(self, value: Any) -> Any:
        try:
            hash(value)
        except TypeError:
            raise Unknown("a key that cannot be hashed") from None
        return value

    def items(self, nodes: list[ast.expr], frame: Frame) -> list[Any]:
        """The values of some expressions, starred ones spread."""
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(node.value, frame)
                if not isinstance(inner, list | tuple):
                    raise Unknown(f"`*{self.text(node.value)}` is not known")
                found += inner
            else:
                found.append(self.value(node, frame))
        return found

    def choice(self, node: ast.IfExp, frame: Frame) -> Any:
        """One side of a conditional expression."""
        if node.test in self.path:
            return self.value(node.test, frame)
        return self.value(node.body if self.knobs.truth(self.value(node.test, frame)) else node.orelse, frame)

    def _boolean(self, node: ast.BoolOp, frame: Frame) -> Any:
        value: Any = None
        for each in node.values:
            value = self.value(each, frame)
            if each in self.path:
                return value
            if self.knobs.truth(value) is isinstance(node.op, ast.Or):
                if node in self.path:
                    raise Refused("the place is not reached")
                return self.knobs.known(value)
        return value

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            return not self.knobs.truth(value)
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return -value
        return self.opaque(node)

    def _binary(self, node: ast.BinOp, frame: Frame) -> Any:
        left, right = self.value(node.left, frame), self.value(node.right, frame)
        if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(node.op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
            return left | right
        return self.opaque(node)

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.value(node.left, frame)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator, frame)
            holds = self._holds(op, left, right)
            if holds is None:
                return self.opaque(node)
            if not holds:
                return False
            left = right
        return True

    def _holds(self, op: ast.cmpop, left: Any, right: Any) -> bool | None:
        match op:
            case ast.Eq() | ast.Is():
                return self.knobs.equals(left, right)
            case ast.NotEq() | ast.IsNot():
                same = self.knobs.equals(left, right)
                return None if same is None else not same
            case ast.In() | ast.NotIn():
                held = self._held(left, right)
                return held if held is None or isinstance(op, ast.In) else not held
        left, right = self.knobs.known(left), self.knobs.known(right)
        if isinstance(left, int | float | str) and type(left) is type(right):
            return bool(_ORDER[type(op)](left, right))
        return None

    def _held(self, left: Any, right: Any) -> bool | None:
        if isinstance(left, str) and isinstance(right, str):
            return left in right
        if not isinstance(right, list | tuple | dict):
            return None
        answers = [self.knobs.equals(left, item) for item in right]
        return True if True in answers else None if None in answers else False

    def _joined(self, node: ast.JoinedStr, frame: Frame) -> Any:
        parts = []
        for part in node.values:
            value = self.value(part.value, frame) if isinstance(part, ast.FormattedValue) else part
            value = value.value if isinstance(value, ast.Constant) else value
            if not isinstance(value, str | int | float):
                return self.opaque(node)
            parts.append(str(value))
        return "".join(parts)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, frame: Frame) -> Any:
        generator = node.generators[0]
        inner = Frame(frame.scope, {}, frame)
        if node in self.path:
            for each in node.generators:
                self.bind(each.target, self.opaque(each.target), inner)
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return next(self.value(part, inner) for part in parts if part in self.path)
        items = self.value(generator.iter, frame) if len(node.generators) == 1 else None
        if not isinstance(items, dict | list | tuple):
            return self.opaque(node)
        found: list[Any] = []
        for item in items:
            self.bind(generator.target, item, inner)
            if all(self.knobs.truth(self.value(test, inner)) for test in generator.ifs):
                if isinstance(node, ast.DictComp):
                    found.append((self._hashable(self.value(node.key, inner)), self.value(node.value, inner)))
                else:
                    found.append(self.value(node.elt, inner))
        return dict(found) if isinstance(node, ast.DictComp) else found

    def bind(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name(id=name):
                frame.env[name] = value
            case ast.Starred(value=inner):
                self.bind(inner, self.opaque(inner), frame)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                known = list(value) if isinstance(value, list | tuple) and len(value) == len(targets) else None
                for index, each in enumerate(targets):
                    self.bind(each, known[index] if known else self.opaque(each), frame)
            case ast.Subscript(value=owner, slice=key):
                with suppress(Unknown):
                    self._store(self.value(owner, frame), self.value(key, frame), value)
            case ast.Attribute(value=owner, attr=name):
                with suppress(Unknown):
                    self.assign_member(self.value(owner, frame), name, value)

    def _store(self, owner: Any, key: Any, value: Any) -> None:
        if isinstance(owner, dict):
            owner[self._hashable(self.knobs.settle(key, NAMES))] = value
        elif isinstance(owner, Knob):
            self.places[f"{owner.path}[{key!r}]"] = value

    def assign_member(self, owner: Any, name: str, value: Any) -> None:
        """Assign an attribute of a value."""
        if isinstance(owner, Knob):
            self.places[f"{owner.path}.{name}"] = value

    def call(self, node: ast.Call, frame: Frame) -> Any:
        """The value of a call: see `calls`."""
        raise NotImplementedError
