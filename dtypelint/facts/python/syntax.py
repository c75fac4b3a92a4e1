"""Small questions about one node of a syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `c`; empty for what is no name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def is_none(node: ast.expr | None) -> bool:
    """Whether None is written out."""
    return isinstance(node, ast.Constant) and node.value is None


def passed(call: ast.Call, name: str) -> ast.expr | None:
    """What a call passes by a keyword."""
    return next((each.value for each in call.keywords if each.arg == name), None)


def unquoted(node: ast.Constant) -> ast.expr | None:
    """The expression inside of a quoted annotation, at the place of the quotes."""
    try:
        inner = ast.parse(str(node.value), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return inner


def plain(annotation: ast.expr | None) -> ast.expr | None:
    """An annotation without its quotes and without the None that it allows."""
    match annotation:
        case ast.Constant(value=str()):
            return plain(unquoted(annotation))
        case ast.BinOp(op=ast.BitOr(), left=left, right=right) if is_none(left) or is_none(right):
            return plain(left if is_none(right) else right)
        case ast.Subscript(value=base, slice=inner) if last_name(base) == "Optional":
            return plain(inner)
    return annotation


def argument(call: ast.Call, name: str, order: Sequence[str]) -> ast.expr | None:
    """What a call passes for a parameter; `order` holds those that may be given by their place."""
    named = passed(call, name)
    if named is not None or name not in order:
        return named
    index = order.index(name)
    plain = index < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args[: index + 1])
    return call.args[index] if plain else None


def parts(test: ast.expr, holds: bool) -> Iterator[tuple[ast.expr, bool]]:
    """What is known to hold, or not to hold, where a test does (or does not); of `a != b`, whether they are the same."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from parts(inner, not holds)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is holds:
            for each in values:
                yield from parts(each, holds)
        case ast.Compare(ops=[ast.NotEq() | ast.IsNot() | ast.NotIn()]):
            yield test, not holds
        case _:
            yield test, holds


def entry(table: ast.Dict, wanted: object) -> ast.expr | None:
    """What a table that is written out holds under a literal key."""
    pairs = zip(table.keys, table.values, strict=True)
    return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == wanted), None)


def unpacked(value: ast.expr, path: tuple[int | str, ...]) -> ast.expr | None:
    """The part of a value that an unpacking path leads to, when it is written out."""
    for step in path:
        if not isinstance(value, ast.Tuple | ast.List) or not isinstance(step, int) or step >= len(value.elts):
            return None
        value = value.elts[step]
    return value
