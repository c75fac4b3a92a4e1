"""The steps of training loops in their order: backward, unscale, clip, step, update, on their paths and with their objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.holders import Holders
from dtypelint.facts.python.lines import alone, end, lead
from dtypelint.facts.python.module import Module, calls, expressions
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.objects import Frame, Objects
from dtypelint.facts.python.scope import Bound, Function, Scope
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.steps import Action, Event, Trace
from dtypelint.finding import Location

_DEPTH = 4
_MOST = 400
# a file without these words has no training step
_WORTH = re.compile(rb"backward|caler\b")
_SCALES = re.compile(r"GradScaler|(?:grad|loss|amp)_?scal|scaled?_?loss|(?:^|_)scaler", re.IGNORECASE)
# calls into other files are followed only where their name speaks of a step
_STEPS = re.compile(r"clip|grad|step|backward|scal|update|optim|norm|fsdp|shard|wrap", re.IGNORECASE)
_CLIPS = re.compile(r"^(?:dispatch_)?clip_grad(?:ient)?s?(?:_norm|_value)?_?$|^clip_grads_with_norm_$")
_KINDS = {
    "clip": Action.CLIP,
    "scaler": Action.SCALER,
    "shard": Action.SHARD,
    "optimizer": Action.OPTIMIZER,
    "autocast": Action.AUTOCAST,
}


class Events:
    """Finds the traces of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.objects = Objects(names)
        self.what = Holders(names, tracer, self.objects)
        self._inlined: set[ast.AST] = set()

    def find(self) -> Iterator[Trace]:
        if not _WORTH.search(self.module.tree.data):
            return
        scales = any(_SCALES.search(name) for name in _identifiers(self.module.tree.root))
        found: list[tuple[Scope, tuple[Event, ...]]] = []
        for scope in (self.module.scope, *self.module.functions()):
            events = tuple(self._walk(Frame(scope)))
            if events:
                found.append((scope, events))
        for scope, events in found:
            owner = scope.owner
            cls = owner.name if owner is not None else ""
            yield Trace(scope.name, cls, events, scope.node in self._inlined, scales=scales)
        for cls_scope in self.module.classes():
            free = list(self._free(cls_scope))
            if len(free) > 1:
                together = tuple(e for events in free for e in events)
                yield Trace("", cls_scope.name, together, ordered=False, scales=scales)

    def _free(self, cls: Scope) -> Iterator[tuple[Event, ...]]:
        """The events of the methods of a class and its bases that no other method calls."""
        seen: set[str] = set()
        for base in self.names.mro(cls):
            for method in (s for s in base.module.functions() if s.parent is base):
                if method.name not in seen and method.node not in self._inlined:
                    events = tuple(self._walk(Frame(method)))
                    if events:
                        yield events
                seen.add(method.name)

    def _walk(self, frame: Frame, active: tuple[Scope, ...] = ()) -> Iterator[Event]:
        count = 0
        for stmt in flow(frame.scope).order:
            for node, tests in calls(stmt):
                here = self._under(tests, frame)
                for event in self._call(node, stmt, here, (*active, frame.scope)):
                    yield event
                    count += 1
                    if count > _MOST:
                        return
            if isinstance(stmt, ast.With | ast.AsyncWith):
                yield from self._entered(stmt, frame)

    def _under(self, tests: tuple[tuple[ast.expr, bool], ...], frame: Frame) -> Frame:
        """A frame in which the tests inside an expression belong to the path."""
        if not tests:
            return frame
        more = [b for test, holds in tests for b in self.objects.branches(test, holds, frame)]
        return replace(frame, path=(*frame.path, *more))

    # one call

    def _call(self, node: ast.Call, stmt: ast.stmt, frame: Frame, active: tuple[Scope, ...]) -> Iterator[Event]:
        func = node.func
        api = self.what.api(func, frame.scope)
        if api is not None and api.kind in _KINDS:
            if api.kind != "autocast" and not (api.kind == "clip" and _is_measure(node)):
                target = self.objects.key(node.args[0], frame) if node.args else ""
                subject = self._bound(node, stmt, frame)
                own = any(isinstance(s, Scope) for s in self.names.symbols(func, frame.scope))
                family = "own" if own and api.kind == "scaler" else api.family
                yield self._event(_KINDS[api.kind], node, stmt, frame, subject, target, family=family)
            return
        callees = [s for s in self._callees(func, frame.scope) if isinstance(s.node, Function)]
        if len(callees) == 1 and frame.depth < _DEPTH and callees[0] not in active:
            inner = list(self._walk(self.objects.called(node, callees[0], stmt, frame), active))
            if inner:
                if callees[0].module is self.module:
                    self._inlined.add(callees[0].node)
                yield from inner
                return
        if isinstance(func, ast.Attribute):
            yield from self._method(node, func, stmt, frame)
        elif isinstance(func, ast.Name) and _CLIPS.match(func.id) and not callees and not _is_measure(node):
            yield self._event(Action.CLIP, node, stmt, frame, "", "")

    def _method(self, node: ast.Call, func: ast.Attribute, stmt: ast.stmt, frame: Frame) -> Iterator[Event]:
        if func.attr == "backward":
            yield self._backward(node, func.value, stmt, frame)
            return
        if func.attr == "state_dict":
            yield from self._saved(node, func.value, stmt, frame)
            return
        action = self._action(node, func, frame)
        if action is not None:
            first = node.args[0] if node.args and action in (Action.UNSCALE, Action.SCALED_STEP) else None
            target = self.objects.key(first, frame) if first is not None else ""
            yield self._event(action, node, stmt, frame, self.objects.key(func.value, frame), target)

    def _action(self, node: ast.Call, func: ast.Attribute, frame: Frame) -> Action | None:
        """What a method does, by its name and by the object that it is called on."""
        match func.attr:
            case "unscale_" | "unscale_gradients":
                return Action.UNSCALE
            case "step" if node.args:
                return Action.SCALED_STEP if self.what.is_scaler(func.value, frame) else None
            case "step":
                return Action.STEP if self.what.is_optimizer(func.value, frame) else None
            case "update" if self.what.is_scaler(func.value, frame):
                return Action.UPDATE
            case "zero_grad":
                return Action.ZERO_GRAD
            case "clamp_" | "clip_" if _is_gradient(func.value):
                return Action.CLIP
            case name if _CLIPS.match(name) and (node.args or node.keywords):
                measures = _is_measure(node) or self.what.owned(func.value, frame)
                return None if measures else Action.CLIP
        return None

    def _saved(self, node: ast.Call, base: ast.expr, stmt: ast.stmt, frame: Frame) -> Iterator[Event]:
        """The state of a scaler that is asked for, and that of an optimizer where it is put under a key."""
        subject = self.objects.key(base, frame)
        if self.what.is_scaler(base, frame):
            yield self._event(Action.SAVE, node, stmt, frame, subject, "", family="scaler")
        elif self.what.is_optimizer(base, frame) and _is_entry(node, stmt):
            yield self._event(Action.SAVE, node, stmt, frame, subject, "", family="optimizer")

    def _backward(self, node: ast.Call, base: ast.expr, stmt: ast.stmt, frame: Frame) -> Event:
        owner = ""
        loss: ast.expr = base
        if node.args and (self.what.owned(base, frame) or not self.what.is_loss(base, frame)):
            owner = self.objects.key(base, frame)
            loss = node.args[0]
            if self.what.api_path(base, frame.scope, "torch.autograd"):
                owner = ""
        scaler = self._scaled(loss, frame)
        return self._event(
            Action.BACKWARD,
            node,
            stmt,
            frame,
            self.objects.key(loss, frame),
            "",
            made=self.what.made_by(*scaler, "scaler") if scaler else None,
            scaled_by=(self.objects.key(*scaler) or "scaler") if scaler else "",
            owner=owner,
        )

    def _scaled(self, node: ast.expr, frame: Frame, depth: int = 0) -> tuple[ast.expr, Frame] | None:
        """The scaler that a loss was multiplied by."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Call(func=ast.Attribute(value=base, attr="scale"), args=[_, *_]) if self.what.is_scaler(
                base, frame
            ):
                return base, frame
            case ast.Call(func=ast.Attribute(value=inner)):
                return self._scaled(inner, frame, depth + 1)
            case ast.BinOp(left=left, right=right):
                return self._scaled(left, frame, depth + 1) or self._scaled(right, frame, depth + 1)
            case ast.IfExp(body=body, orelse=orelse):
                return self._scaled(body, frame, depth + 1) or self._scaled(orelse, frame, depth + 1)
            case ast.Name():
                value, where = self.objects.alias(node, frame)
                if value is not None:
                    return self._scaled(value, where, depth + 1)
                for binding in self.names.bindings(node, frame.scope):
                    if binding.kind is Bound.ASSIGN and binding.value is not None and binding.scope is frame.scope:
                        found = self._scaled(binding.value, frame, depth + 1)
                        if found:
                            return found
        return None

    # calls into the project

    def _callees(self, func: ast.expr, scope: Scope) -> tuple[Scope, ...]:
        """The project functions that a call runs; other files are asked for only where the name speaks of a step."""
        match func:
            case ast.Attribute(value=base, attr=attr):
                if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
                    return self._above(attr, scope)
                if not _STEPS.search(attr) and not self.what.is_self(base, scope):
                    return ()
            case ast.Name(id=name):
                near = any(b.kind is not Bound.IMPORT for b in self.names.bindings(func, scope))
                if not near and not _STEPS.search(name):
                    return ()
            case _:
                return ()
        return tuple(s for s in self.names.callees(func, scope) if isinstance(s, Scope) and not s.is_class)

    def _above(self, name: str, scope: Scope) -> tuple[Scope, ...]:
        owner = scope.owner
        for base in self.names.mro(owner)[1:] if owner is not None else ():
            found = self.names.method(base, name)
            if found is not None:
                return (found,)
        return ()

    # regions and objects that are made

    def _entered(self, stmt: ast.With | ast.AsyncWith, frame: Frame) -> Iterator[Event]:
        for item in stmt.items:
            made = self.what.made_by(item.context_expr, frame, "autocast")
            if made is not None:
                yield self._event(Action.AUTOCAST, item.context_expr, stmt, frame, "", "", made=made)

    def _bound(self, node: ast.Call, stmt: ast.stmt, frame: Frame) -> str:
        """The object that a call is assigned to."""
        match stmt:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value) if (
                value is not None and node in _choices(value)
            ):
                if isinstance(target, ast.Name):
                    return f"{frame.label}{target.id}"
                return self.objects.key(target, frame)
        return ""

    def _event(
        self,
        action: Action,
        node: ast.expr,
        stmt: ast.stmt,
        frame: Frame,
        subject: str,
        target: str,
        *,
        made: Location | None = None,
        scaled_by: str = "",
        owner: str = "",
        family: str = "",
    ) -> Event:
        source = frame.scope.module.tree.source
        at, statement, home = frame.site or (node, stmt, frame)
        module = home.scope.module
        call = node if isinstance(node, ast.Call) else None
        if call is not None and isinstance(call.func, ast.Attribute):
            kind = {Action.STEP: "optimizer", Action.BACKWARD: "", Action.CLIP: ""}.get(action, "scaler")
            made = made or (self.what.made_by(call.func.value, frame, kind) if kind else None)
        return Event(
            action=action,
            subject=subject,
            target=target,
            location=module.at(at),
            statement=module.at(statement),
            function=frame.scope.name,
            path=self.objects.path(stmt, frame),
            loops=self.objects.loops(stmt, frame),
            text=source(node),
            subject_text=source(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else "",
            target_text=source(call.args[0]) if call is not None and call.args else "",
            lead=lead(module, statement),
            inner=frame.scope.module.at(node) if frame.site else None,
            family=family,
            private=action is Action.SCALED_STEP and self.what.is_private(call, frame),
            alone=alone(statement, home.scope),
            end=end(module, statement),
            made=made,
            known=made is not None,
            scaled_by=scaled_by,
            owner=owner,
        )


def _identifiers(root: ast.AST) -> Iterator[str]:
    """Every name that a module uses or makes."""
    for node in ast.walk(root):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name


def _is_gradient(node: ast.expr) -> bool:
    """Whether an expression is `p.grad` or its data."""
    match node:
        case ast.Attribute(attr="grad") | ast.Attribute(attr="data", value=ast.Attribute(attr="grad")):
            return True
    return False


def _choices(node: ast.expr) -> list[ast.expr]:
    """The expressions of which an expression is one."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [*_choices(body), *_choices(orelse)]
        case ast.BoolOp(values=values):
            return [c for v in values for c in _choices(v)]
    return [node]


def _is_entry(node: ast.expr, stmt: ast.stmt) -> bool:
    """Whether a value is put under a key: into a dict that is written out, or by an assignment."""
    if isinstance(stmt, ast.Assign) and stmt.value is node:
        return any(isinstance(target, ast.Subscript) for target in stmt.targets)
    return any(isinstance(each, ast.Dict) and node in each.values for each in expressions(stmt))


def _is_measure(node: ast.Call) -> bool:
    """Whether a clip only takes the norm: its bound is infinite."""
    given = [*node.args, *(k.value for k in node.keywords)]
    return any(re.fullmatch(r"float\(['\"]inf['\"]\)|(?:math|np|numpy|torch)\.inf", ast.unparse(a)) for a in given)
