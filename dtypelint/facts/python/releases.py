"""Tests of the installed release of torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

# the release in which torch.cuda.amp.autocast got its dtype
_WITH_DTYPE = Version("1.10")
_BELOW = (ast.Lt, ast.LtE)
_ABOVE = (ast.Gt, ast.GtE)


def before_dtype(test: ast.expr, holds: bool) -> bool:
    """Whether the outcome of a test means a torch whose autocast takes no dtype."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values) if holds:
            return any(before_dtype(value, True) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return before_dtype(operand, not holds)
        case ast.Compare(left=left, ops=ops, comparators=others) if holds or len(ops) == 1:
            sides = [left, *others]
            return any(_bounded(*pair, holds) for pair in zip(sides, ops, others, strict=False))
    return False


def _bounded(left: ast.expr, operator: ast.cmpop, right: ast.expr, holds: bool) -> bool:
    below = _BELOW if holds else _ABOVE
    above = _ABOVE if holds else _BELOW
    if isinstance(operator, above):
        left, right = right, left
    elif not isinstance(operator, below):
        return False
    names = {
        n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(left) if isinstance(n, ast.Name | ast.Attribute)
    }
    asked = any("torch" in name.lower() for name in names) and any("version" in name.lower() for name in names)
    return asked and any(version <= _WITH_DTYPE for version in _versions(right))


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
