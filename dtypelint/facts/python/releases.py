"""Tests of the installed release of torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from packaging.version import InvalidVersion, Version

from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope

_RELEASE = {"torch.__version__", "torch.version.__version__"}

# the release in which torch.cuda.amp.autocast got its dtype
_WITH_DTYPE = Version("1.10")
_BELOW = (ast.Lt, ast.LtE)
_ABOVE = (ast.Gt, ast.GtE)


def before_dtype(test: ast.expr, holds: bool, scope: Scope, names: Names) -> bool:
    """Whether the outcome of a test means a torch whose autocast takes no dtype."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values) if holds:
            return any(before_dtype(value, True, scope, names) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return before_dtype(operand, not holds, scope, names)
        case ast.Compare(left=left, ops=ops, comparators=others) if holds or len(ops) == 1:
            sides = [left, *others]
            return any(
                _is_old(right) and _is_release(left, scope, names)
                for left, right in _bounds(zip(sides, ops, others, strict=False), holds)
            )
    return False


def _bounds(pairs: Iterable[tuple[ast.expr, ast.cmpop, ast.expr]], holds: bool) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is smaller, and than what."""
    for left, operator, right in pairs:
        if isinstance(operator, _BELOW):
            yield (left, right) if holds else (right, left)
        elif isinstance(operator, _ABOVE):
            yield (right, left) if holds else (left, right)


def _is_release(node: ast.expr, scope: Scope, names: Names) -> bool:
    """Whether an expression is made from the release of torch, directly or through a name."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute) and _RELEASE.intersection(names.paths(part, scope)):
            return True
        for binding in names.bindings(part, scope) if isinstance(part, ast.Name) else ():
            if (
                binding.value is not None
                and binding.value is not node
                and _is_release(binding.value, binding.scope, names)
            ):
                return True
    return False


def _is_old(node: ast.expr) -> bool:
    return any(version <= _WITH_DTYPE for version in _versions(node))


def _versions(node: ast.expr) -> Iterator[Version]:
    """The release that one side of a comparison writes out, as a text or as a tuple of numbers."""
    for part in ast.walk(node):
        text = ""
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            text = part.value
        elif isinstance(part, ast.Tuple):
            text = ".".join(str(each.value) for each in part.elts if isinstance(each, ast.Constant))
        try:
            yield Version(text)
        except InvalidVersion:
            continue
