"""A cast and what stands around it, as plain data that the driver can act out on tensors of its own."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dtypelint.facts.python.module import expressions, statements
from dtypelint.facts.python.names import External
from dtypelint.facts.python.scope import Function, Scope
from dtypelint.facts.python.syntax import passed
from dtypelint.smoke.slices import leading
from dtypelint.smoke.symbols import Dtype, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.facts.project import Project
    from dtypelint.facts.python.module import Module

METHODS = {
    "float": Dtype("float32"),
    "half": Dtype("float16"),
    "bfloat16": Dtype("bfloat16"),
    "double": Dtype("float64"),
}
CASTS = frozenset({*METHODS, "to", "type", "type_as"})
HELD = {
    "parameters": "parameters",
    "named_parameters": "parameters",
    "buffers": "buffers",
    "named_buffers": "buffers",
    "state_dict": "state",
}
PASSES = frozenset({"list", "tuple", "sorted", "reversed", "enumerate", "filter", "set"})
STEPS = {("shard", "fsdp2"): "fully_shard", ("shard", "fsdp1"): "FullyShardedDataParallel"}
DEEPEST = 2
MOVED = "meta"


@dataclass(frozen=True, slots=True)
class Scene:
    """What a statement casts.

    `container` is what the tensor comes out of: `parameters`, `buffers` or `state` in a loop, `module` for a whole one,
    else `tensor`; `item` the text of the tensor, `module` that of the module; `action` the statement for the driver;
    `dtype` the expression of the dtype, or the dtype of the method, or None where only the device changes.
    """

    container: str
    item: str
    module: str
    action: list[Any]
    dtype: ast.expr | Dtype | None


def statement_at(module: Module, offset: int) -> ast.stmt:
    """The innermost statement at an offset; Unknown where there is none."""
    found: ast.stmt | None = None
    for node in ast.walk(module.tree.root):
        if isinstance(node, ast.stmt):
            span = module.tree.span(node)
            if span.start <= offset < max(span.end, span.start + 1):
                found = node
    if found is None:
        raise Unknown("no statement stands here")
    return found


def scene(module: Module, stmt: ast.stmt, modules: frozenset[str]) -> Scene:
    """The scene of a statement; `modules` are the texts that are known to be modules. Unknown for what is no cast."""
    way = leading(module.tree.root, stmt)
    loops = [node for node in way if isinstance(node, ast.For | ast.AsyncFor)]
    cast = next(
        (node for node in ast.walk(stmt) if isinstance(node, ast.Call) and _is_cast(node)),
        None,
    )
    if cast is None or not isinstance(stmt, ast.Expr | ast.Assign | ast.AnnAssign):
        raise Unknown("the statement is no cast")
    assert isinstance(cast.func, ast.Attribute)
    item = _plain(cast.func.value)
    container, owner = "tensor", ""
    if ast.unparse(item) in modules:
        container, owner = "module", ast.unparse(item)
    for loop in reversed(loops):
        if isinstance(item, ast.Name) and item.id in _names(loop.target):
            container, owner = _held(loop.iter, module, loop) or (container, owner)
            break
    text = ast.unparse(item)
    return Scene(container, text, owner, _action(stmt, text, owner), _dtype(cast))


def _is_cast(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in CASTS


def _plain(node: ast.expr) -> ast.expr:
    """The tensor behind `.data`, `.detach()` and other casts."""
    match node:
        case ast.Attribute(value=owner, attr="data"):
            return _plain(owner)
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in (
            *CASTS,
            "detach",
            "clone",
            "contiguous",
            "cpu",
            "cuda",
        ):
            return _plain(owner)
    return node


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _held(node: ast.expr, module: Module, loop: ast.stmt) -> tuple[str, str] | None:
    """What an iteration goes over, and the module that it belongs to."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in HELD:
            return HELD[name], ast.unparse(owner)
        case ast.Call(func=ast.Attribute(value=owner, attr="items" | "values")):
            return _held(owner, module, loop)
        case ast.Call(func=ast.Name(id=name), args=[*_, last]) if name in PASSES:
            return _held(last, module, loop)
        case ast.ListComp(generators=[generator]) | ast.GeneratorExp(generators=[generator]):
            return _held(generator.iter, module, loop)
        case ast.Name(id=name):
            for stmt in ast.walk(module.tree.root):
                if (
                    isinstance(stmt, ast.Assign)
                    and stmt.lineno < loop.lineno
                    and name in map(ast.unparse, stmt.targets)
                ):
                    found = _held(stmt.value, module, stmt)
                    if found is not None:
                        return found
    return None


def _dtype(cast: ast.Call) -> ast.expr | Dtype | None:
    assert isinstance(cast.func, ast.Attribute)
    if cast.func.attr in METHODS:
        return METHODS[cast.func.attr]
    if cast.func.attr == "type_as":
        return cast.args[0] if cast.args else None
    named = passed(cast, "dtype")
    if named is not None:
        return named
    if len(cast.args) >= 2:
        return cast.args[1]
    if cast.args and not _is_device(cast.args[0]):
        return cast.args[0]
    return None


def _is_device(node: ast.expr) -> bool:
    """Whether the only argument of a `.to` is a device by its name."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | int)
    text = ast.unparse(node).lower()
    return "device" in text or "rank" in text


def _action(stmt: ast.Expr | ast.Assign | ast.AnnAssign, item: str, module: str) -> list[Any]:
    if isinstance(stmt, ast.Expr):
        return ["do", _encoded(stmt.value, item, module)]
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
    assert stmt.value is not None
    value = _encoded(stmt.value, item, module)
    if ast.unparse(target) == item:
        return ["bind", value]
    if isinstance(target, ast.Attribute) and target.attr == "data":
        return ["data", _encoded(target.value, item, module), value]
    raise Unknown(f"`{ast.unparse(target)}` is assigned")


def _encoded(node: ast.expr, item: str, module: str) -> list[Any]:
    text = ast.unparse(node)
    if module and text == module:
        return ["module"]
    if text == item:
        return ["item"]
    match node:
        case ast.Attribute(value=owner, attr="data"):
            return ["data", _encoded(owner, item, module)]
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in CASTS:
            return ["cast", name, _encoded(owner, item, module)]
        case ast.Call(func=ast.Attribute(value=owner, attr="cpu" | "cuda")):
            # a move to another device, which a cast is not about
            return _encoded(owner, item, module)
        case ast.Call(func=ast.Attribute(value=owner, attr="detach" | "clone" | "contiguous" as name), args=[]):
            return [name, _encoded(owner, item, module)]
        case ast.Call(func=func, args=[inner, *_]) if ast.unparse(func).rpartition(".")[2] == "Parameter":
            return ["parameter", _encoded(inner, item, module)]
    raise Unknown(f"`{text}` is not read")


def steps(project: Project, scope: Scope, before: ast.stmt | None, depth: int = 0) -> Iterator[tuple[str, ast.Call]]:
    """What a function does to a module before a statement: shards it, builds an optimizer, runs a backward pass."""
    for stmt in statements(scope.body):
        if before is not None and (stmt.lineno >= before.lineno or stmt is before):
            break
        for node in expressions(stmt):
            if isinstance(node, ast.Call):
                yield from ((step, node) for step in _steps_of(project, node, scope, depth))


def _steps_of(project: Project, node: ast.Call, scope: Scope, depth: int) -> Iterator[str]:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
        yield "backward"
        return
    for symbol in project.names.callees(node.func, scope):
        if isinstance(symbol, External):
            call = project.knowledge.by_path.get(symbol.path)
            if call is not None and call.kind == "optimizer":
                yield "optimizer"
            elif call is not None and (call.kind, call.family) in STEPS:
                yield STEPS[call.kind, call.family]
        elif isinstance(symbol.node, Function) and depth < DEEPEST:
            yield from (step for step, _ in steps(project, symbol, None, depth + 1))


def callers(project: Project, scope: Scope) -> Iterator[tuple[Module, Scope, ast.stmt]]:
    """The places of the project that call a function by its name."""
    for path in sorted(project.files):
        text = project.read(path)
        if text is None or f"{scope.name}(" not in text:
            continue
        module = project.module(path)
        if module is None:
            continue
        for node, stmt, other in module.calls:
            if ast.unparse(node.func).rpartition(".")[2] == scope.name:
                if any(symbol is scope for symbol in project.names.callees(node.func, other)):
                    yield module, other, stmt
