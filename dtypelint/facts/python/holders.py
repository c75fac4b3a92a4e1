"""What an object of a training loop is: a scaler, an optimizer, the owner of both; and who can reach it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import External, Names, dotted
from dtypelint.facts.python.objects import Frame, Objects
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_SCALER = re.compile(r"(?:^|_)(?:grad|loss|amp)?_?scaler(?:_\w+)?$", re.IGNORECASE)
_OPTIMIZER = re.compile(r"opt", re.IGNORECASE)
_OWNERS = re.compile(r"(?:accelerator|fabric|engine|booster|strategy|trainer)$", re.IGNORECASE)


class Holders:
    """Answers for the expressions of one project."""

    def __init__(self, names: Names, tracer: Tracer, objects: Objects) -> None:
        self.names = names
        self.tracer = tracer
        self.objects = objects

    def is_loss(self, node: ast.expr, frame: Frame) -> bool:
        return "loss" in (self.objects.key(node, frame).rpartition(".")[2] or ast.unparse(node)).lower()

    def is_scaler(self, node: ast.expr, frame: Frame) -> bool:
        return self.made_by(node, frame, "scaler") is not None or bool(
            _SCALER.search(self.objects.key(node, frame).rpartition(".")[2])
        )

    def is_optimizer(self, node: ast.expr, frame: Frame) -> bool:
        last = self.objects.key(node, frame).rpartition(".")[2] or ast.unparse(node)
        return self.made_by(node, frame, "optimizer") is not None or bool(
            _OPTIMIZER.search(last) and "sched" not in last.lower()
        )

    def owned(self, node: ast.expr, frame: Frame) -> bool:
        """Whether an object runs backward and clipping itself and unscales on its own."""
        key = self.objects.key(node, frame)
        return self.made_by(node, frame, "owner") is not None or bool(_OWNERS.search(key.rpartition(".")[2]))

    def made_by(self, node: ast.expr, frame: Frame, kind: str) -> Location | None:
        """The call of an api of some kind that built an object."""
        node, frame = self.objects.resolve(node, frame)
        match node:
            case ast.Call(func=func):
                api = self.api(func, frame.scope)
                return frame.scope.module.at(node) if api is not None and api.kind == kind else None
            case ast.IfExp(body=body, orelse=orelse):
                return self.made_by(body, frame, kind) or self.made_by(orelse, frame, kind)
            case ast.Name():
                for binding in self.names.bindings(node, frame.scope):
                    if binding.kind is Bound.ASSIGN and binding.value is not None and not binding.path:
                        inside = frame if binding.scope is frame.scope else Frame(binding.scope)
                        if isinstance(binding.value, ast.Call | ast.IfExp):
                            found = self.made_by(binding.value, inside, kind)
                            if found is not None:
                                return found
            case ast.Attribute(value=base, attr=attr):
                for cls in self.names.classes(base, frame.scope):
                    for held in self.names.fields(cls, attr):
                        if isinstance(held.value, ast.Call | ast.IfExp | ast.Name):
                            found = self.made_by(held.value, Frame(held.scope), kind)
                            if found is not None:
                                return found
        return None

    def api(self, func: ast.expr, scope: Scope) -> Call | None:
        """The api that a call uses; a class of the project stands for the api that it is derived from."""
        for symbol in self.names.symbols(func, scope):
            paths = [dotted(symbol)]
            if isinstance(symbol, Scope) and symbol.is_class:
                paths += self.names.bases(symbol)
            for path in paths:
                call = self.tracer.calls.get(path)
                if call is not None:
                    return call
        return None

    def api_path(self, node: ast.expr, scope: Scope, path: str) -> bool:
        return External(path) in self.names.symbols(node, scope)

    def is_self(self, node: ast.expr, scope: Scope) -> bool:
        return isinstance(node, ast.Name) and scope.owner is not None and node.id in ("self", "cls")

    def is_private(self, call: ast.Call | None, frame: Frame) -> bool:
        """Whether the scaler of a step was made in this file and is used for nothing but its own methods."""
        if call is None or not isinstance(call.func, ast.Attribute):
            return False
        node, frame = self.objects.resolve(call.func.value, frame)
        made = self.made_by(node, frame, "scaler")
        if made is None or made.path != frame.scope.module.path:
            return False
        match node:
            case ast.Name():
                return self._stays(frame.scope.module, lambda n: isinstance(n, ast.Name) and n.id == node.id)
            case ast.Attribute(attr=attr) if self.is_self(node.value, frame.scope):
                return self._stays(frame.scope.module, lambda n: isinstance(n, ast.Attribute) and n.attr == attr)
        return False

    def _stays(self, module: Module, matches: Callable[[ast.AST], bool]) -> bool:
        """Whether an object is only assigned, tested, and asked for its methods in a module."""
        for node in ast.walk(module.tree.root):
            for child in ast.iter_child_nodes(node):
                if matches(child) and isinstance(getattr(child, "ctx", None), ast.Load):
                    tested = isinstance(node, ast.Compare | ast.UnaryOp | ast.BoolOp | ast.If | ast.IfExp)
                    if not isinstance(node, ast.Attribute) and not tested:
                        return False
        return True
