"""Calls in the user's code: known constructors, tables and strings, and functions of the project read in place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dtypelint.facts.python.scope import Scope, defaults
from dtypelint.smoke.expressions import Expressions
from dtypelint.smoke.knobs import NAMES
from dtypelint.smoke.symbols import (
    Built,
    Dtype,
    Frame,
    Knob,
    Library,
    Method,
    Missing,
    Refused,
    Routine,
    Unknown,
    anything,
    torch_dtype,
)

if TYPE_CHECKING:
    from dtypelint.knowledge import Call

DEEPEST = 8
TEXTS = frozenset({"lower", "upper", "strip", "replace", "removeprefix", "removesuffix", "split", "title"})
NULL = Library("contextlib.nullcontext")


class Calls(Expressions):
    """Evaluates calls."""

    depth = 0

    def call(self, node: ast.Call, frame: Frame) -> Any:
        """The value of a call."""
        if node in self.path and node is not self.goal:
            return self._towards_goal(node, frame)
        value = self._called(node, frame)
        if node is self.goal:
            if not isinstance(value, Built):
                value = Built(anything(ast.unparse(node.func)), self.arguments(node, frame)[1])
            self.reached(value)
        return value

    def body(self, routine: Routine, frame: Frame) -> Any:
        """What a function returns, given its frame."""
        raise NotImplementedError

    def _towards_goal(self, node: ast.Call, frame: Frame) -> Any:
        parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        part = next(part for part in parts if part in self.path)
        self.value(part.value if isinstance(part, ast.Starred) else part, frame)
        return self.opaque(node)

    def _called(self, node: ast.Call, frame: Frame) -> Any:
        func = node.func
        if isinstance(func, ast.Name):
            simple = self._builtin(node, func.id, frame)
            if simple is not Missing.VALUE:
                return simple
        callee = self._callee(func, frame)
        match callee:
            case Library(path):
                return self._library_call(node, path, frame)
            case Routine():
                return self._inline(node, callee, [], frame)
            case Built(partial=True):
                return self._construct(callee.call, node, frame, dict(callee.fields))
            case Method(owner, name):
                return self._method(node, owner, name, frame)
            case Knob(path):
                return self._knob_call(node, path, frame)
        return self._unknown(node, frame)

    def _callee(self, func: ast.expr, frame: Frame) -> Any:
        value = self.value(func, frame)
        if isinstance(value, Knob) and isinstance(func, ast.Attribute):
            found = self.names.callees(func, frame.scope)
            if len(found) == 1 and isinstance(found[0], Scope):
                return self._bound(found[0], self.value(func.value, frame)) or value
        return value

    def _bound(self, scope: Scope, owner: Any) -> Any:
        node = scope.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        static = any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)
        first = node.args.args[0].arg if node.args.args and not static else None
        return Routine(node, scope, {first: owner} if first else {})

    def _builtin(self, node: ast.Call, name: str, frame: Frame) -> Any:
        if not self.names.is_builtin(node.func, name, frame.scope) or name in frame.env:
            return Missing.VALUE
        args = node.args
        if name == "getattr" and len(args) >= 2:
            return self._getattr(node, frame)
        if name == "isinstance" and len(args) == 2:
            return self._isinstance(node, frame)
        if name == "dict":
            positional, keywords = self.arguments(node, frame)
            if not positional:
                return keywords
            return {**positional[0], **keywords} if isinstance(positional[0], dict) else self.opaque(node)
        if name in ("str", "bool", "list", "tuple") and len(args) == 1:
            value = self.knobs.known(self.value(args[0], frame))
            if name == "bool":
                return self.knobs.truth(value)
            if name == "str":
                return f"torch.{value.name}" if isinstance(value, Dtype) else value
            return value if isinstance(value, Knob | list | tuple) else self.opaque(node)
        return Missing.VALUE

    def _getattr(self, node: ast.Call, frame: Frame) -> Any:
        owner, name = self.value(node.args[0], frame), self.value(node.args[1], frame)
        default = self.value(node.args[2], frame) if len(node.args) > 2 else ...
        if owner == Library("torch"):
            name = self.knobs.settle(name, NAMES)
            if isinstance(name, Dtype):
                return name
            dtype = torch_dtype(name) if isinstance(name, str) else None
            if dtype is None:
                if default is not ...:
                    return default
                raise Refused(f"torch has no dtype {name!r}")
            return dtype
        if isinstance(name, str):
            if isinstance(owner, Knob):
                return self.place(f"{owner.path}.{name}", default)
            return self.member(owner, name)
        return self.opaque(node)

    def _isinstance(self, node: ast.Call, frame: Frame) -> Any:
        value = self.knobs.known(self.value(node.args[0], frame))
        kind = ast.unparse(node.args[1])
        if isinstance(value, Knob):
            # a dtype first, which is what a policy takes
            return self.place(ast.unparse(node), kind.endswith("dtype"))
        if isinstance(value, str):
            return "str" in kind
        if isinstance(value, Dtype):
            return kind.endswith("dtype")
        if isinstance(value, dict):
            return "dict" in kind.lower() or "Mapping" in kind
        return self.opaque(node)

    def arguments(self, node: ast.Call, frame: Frame) -> tuple[list[Any], dict[str, Any]]:
        """The values of the arguments of a call."""
        positional = self.items(node.args, frame)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords.update(value)
            else:
                raise Unknown(f"`**{self.text(keyword.value)}` is not known")
        return positional, keywords

    def _library_call(self, node: ast.Call, path: str, frame: Frame) -> Any:
        known = self.project.knowledge.by_path.get(path)
        if known is not None and known.parameters:
            return self._construct(known, node, frame, {})
        if path == "functools.partial" and node.args:
            target = self.value(node.args[0], frame)
            known = self.project.knowledge.by_path.get(target.path) if isinstance(target, Library) else None
            if known is not None:
                rest = ast.Call(node.args[0], node.args[1:], node.keywords)
                built = self._construct(known, ast.copy_location(rest, node), frame, {})
                built.partial = True
                return built
        if path in ("dataclasses.replace", "copy.replace") and node.args:
            positional, keywords = self.arguments(node, frame)
            if isinstance(positional[0], Built):
                return Built(positional[0].call, {**positional[0].fields, **keywords})
        if path in ("copy.copy", "copy.deepcopy") and node.args:
            value = self.value(node.args[0], frame)
            return Built(value.call, dict(value.fields)) if isinstance(value, Built) else value
        if path == NULL.path:
            return NULL
        return self._unknown(node, frame)

    def _construct(self, call: Call, node: ast.Call, frame: Frame, fields: dict[str, Any]) -> Built:
        positional, keywords = self.arguments(node, frame)
        free = [name for name in call.parameters if name not in fields]
        if len(positional) > len(free):
            raise Refused(f"`{call.name}` takes {len(call.parameters)} positional arguments")
        return Built(call, {**fields, **dict(zip(free, positional, strict=False)), **keywords})

    def _method(self, node: ast.Call, owner: Any, name: str, frame: Frame) -> Any:
        positional, keywords = self.arguments(node, frame)
        if isinstance(owner, dict):
            return self._dict_method(node, owner, name, positional, keywords)
        if isinstance(owner, str) and name in (*TEXTS, "startswith", "endswith", "format"):
            if all(isinstance(item, str | int) for item in positional):
                return getattr(owner, name)(*positional)
        if isinstance(owner, list) and name in ("append", "extend") and positional:
            owner += [positional[0]] if name == "append" else positional[0]
            return None
        return self.opaque(node)

    def _dict_method(self, node: ast.Call, owner: dict[Any, Any], name: str, positional: list[Any], more: Any) -> Any:
        if name in ("get", "pop") and positional:
            try:
                found = self.item(owner, positional[0])
            except Refused:
                raise
            except Unknown:
                if name == "pop" and len(positional) < 2:
                    raise
                return positional[1] if len(positional) > 1 else None
            if name == "pop":
                owner.pop(positional[0], None)
            return found
        if name == "copy":
            return dict(owner)
        if name == "update":
            other = positional[0] if positional else {}
            if not isinstance(other, dict):
                raise Unknown(f"`{self.text(node)}` adds unknown keys")
            owner.update(other, **more)
            return None
        if name == "setdefault" and positional and not isinstance(positional[0], Knob):
            return owner.setdefault(positional[0], positional[1] if len(positional) > 1 else None)
        if name in ("items", "keys", "values"):
            return list(getattr(owner, name)())
        return self.opaque(node)

    def _knob_call(self, node: ast.Call, path: str, frame: Frame) -> Any:
        owner, _, name = path.rpartition(".")
        if name in ("get", "pop") and node.args:
            key = self.value(node.args[0], frame)
            if isinstance(key, str):
                default = self.value(node.args[1], frame) if len(node.args) > 1 else None
                default = ... if isinstance(default, Knob | dict | list) else default
                return self.place(f"{owner}[{key!r}]", default)
        if name in TEXTS and owner:
            return self.place(owner)
        return self._unknown(node, frame)

    def _unknown(self, node: ast.Call, frame: Frame) -> Any:
        try:
            positional, keywords = self.arguments(node, frame)
        except Refused:
            raise
        except Unknown:
            return self.opaque(node)
        several = [value for value in (*positional, *keywords.values()) if isinstance(value, Knob | str | Dtype)]
        text = ast.unparse(node)
        if text not in self.places and len(several) == 1 == len(positional) + len(keywords):
            return self.knobs.converted(several[0], self.text(node))
        return self.opaque(node)

    def _inline(self, node: ast.Call, routine: Routine, first: list[Any], frame: Frame) -> Any:
        if self.depth >= DEEPEST:
            return self._unknown(node, frame)
        positional, keywords = self.arguments(node, frame)
        env = dict(routine.env or {})
        args = routine.node.args
        names = [arg.arg for arg in [*args.posonlyargs, *args.args] if arg.arg not in env]
        inner = Frame(routine.scope, env)
        for name, default in defaults(routine.node).items():
            if name not in env:
                env[name] = self._default(default, inner)
        env.update(zip(names, [*first, *positional], strict=False))
        env.update(keywords)
        if args.vararg is not None or args.kwarg is not None:
            return self._unknown(node, frame)
        missing = [arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs] if arg.arg not in env]
        env.update((name, Knob(f"{self.text(node.func)}({name})")) for name in missing)
        self.depth += 1
        try:
            return self.body(routine, inner)
        except Refused:
            raise
        except (Unknown, RecursionError):
            return self._unknown(node, frame)
        finally:
            self.depth -= 1

    def _default(self, node: ast.expr, frame: Frame) -> Any:
        try:
            return self.value(node, frame)
        except Unknown:
            return Knob(ast.unparse(node))
