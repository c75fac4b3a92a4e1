"""Where a statement stands in its block and on its line, for edits that add or remove statements."""

from __future__ import annotations

import ast

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, blocks
from dtypelint.facts.python.scope import Scope


def lead(module: Module, stmt: ast.stmt) -> str:
    """What separates a statement from one that is put before it: a line break and the indentation, or a semicolon."""
    start = module.tree.span(stmt).start
    data = module.tree.data
    line = data.rfind(b"\n", 0, start) + 1
    indent = data[line:start]
    if indent.strip():
        return "; "
    return ("\r\n" if data[line - 2 : line] == b"\r\n" else "\n") + indent.decode()


def end(module: Module, stmt: ast.stmt) -> int | None:
    """The offset behind a simple statement's last line, a comment on it included."""
    data, end = module.tree.data, module.tree.span(stmt).end
    stop = data.find(b"\n", end)
    rest = data[end : len(data) if stop < 0 else stop].rstrip()
    return (
        None
        if hasattr(stmt, "body") or (rest[:1] not in (b"", b"#") and rest.lstrip()[:1] != b"#")
        else end + len(rest)
    )


def alone(stmt: ast.stmt, scope: Scope) -> bool:
    """Whether nothing else stands in the block of a statement."""
    return any(
        len(block) == 1 and block[0] is stmt for other in (scope.node, *flow(scope).order) for block in blocks(other)
    )
