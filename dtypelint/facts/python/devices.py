"""The device type that code works on, where a name in reach says it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.finding import Location

_TYPES = ("device_type", "device_name")
_DEVICES = ("device",)
_OTHERS = frozenset({"mps", "xpu", "npu", "hpu", "mtia", "musa", "mlu"})
_WORTH = re.compile(rb"autocast")


def device_type(stmt: ast.stmt, scope: Scope, names: Names) -> str:
    """An expression for the device type at a statement; empty where none, or more than one, is in reach."""
    visible: dict[str, tuple[Binding, ...]] = {}
    for outer in reversed([*scope.enclosing()]):
        visible.update({name: tuple(found) for name, found in flow(outer).bindings.items()})
    visible.update(flow(scope).before.get(stmt, {}))
    found = [text for name, bindings in visible.items() if (text := _read(name, name, bindings))]
    owner = scope.owner
    if not found and owner is not None and scope.is_function:
        for name, fields in names.all_fields(owner).items():
            annotated = [_annotation(f.annotation) for f in fields]
            if name in _TYPES:
                found.append(f"self.{name}")
            elif name in _DEVICES and "torch.device" in annotated:
                found.append(f"self.{name}.type")
    return found[0] if len(found) == 1 else ""


def others(module: Module) -> Iterator[Location]:
    """Where a module takes care of devices other than cuda: it names one, or chooses between cuda and the CPU."""
    if not _WORTH.search(module.tree.data):
        return
    for node, _, _ in module.expressions():
        match node:
            case ast.Constant(value=str(name)) if name.partition(":")[0] in _OTHERS:
                yield module.at(node)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name) if name in _OTHERS:
                yield module.at(node)
            case ast.Attribute(value=ast.Attribute(attr="backends"), attr="mps"):
                yield module.at(node)
            case ast.IfExp(body=ast.Constant(value="cuda"), orelse=ast.Constant(value="cpu")):
                yield module.at(node)
            case ast.Compare(left=left, comparators=[ast.Constant(value="cpu")]) if "device" in ast.unparse(left):
                yield module.at(node)


def picked(node: ast.Call, stmt: ast.stmt) -> str:
    """The test that picks a call inside its statement; empty where there is none."""
    for each in expressions(stmt):
        if isinstance(each, ast.IfExp) and node in (*ast.walk(each.body), *ast.walk(each.orelse)):
            return ast.unparse(each.test)
    return ""


def _read(name: str, text: str, bindings: tuple[Binding, ...]) -> str:
    if any(b.kind in (Bound.UNBOUND, Bound.IMPORT, Bound.FUNCTION, Bound.CLASS) for b in bindings):
        return ""
    if name in _TYPES:
        return text
    if name in _DEVICES and all(_is_device(b) for b in bindings):
        return f"{text}.type"
    return ""


def _is_device(binding: Binding) -> bool:
    """Whether a name holds a `torch.device` and no string."""
    made = binding.value.func if isinstance(binding.value, ast.Call) and not binding.path else None
    return "torch.device" in (_annotation(binding.annotation), _annotation(made))


def _annotation(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""
