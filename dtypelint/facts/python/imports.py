"""The imports of a module as data: see `facts.imports`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from dtypelint.facts.imports import Imported, Imports, Statement
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, blocks
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.finding import Span

_Import = ast.Import | ast.ImportFrom


def imports(module: Module) -> Imports:
    """What the imports of a module give, and where another one goes."""
    tree = module.tree
    newline = "\r\n" if b"\r\n" in tree.data else "\n"
    body = tree.root.body
    documented = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    start = _line_after(module, body[0]) if documented else _first(module)
    names = tuple(_names(module))
    return Imports(
        module.path,
        names,
        tuple(_statement(module, stmt) for stmt in _head(module, body[int(documented) :])),
        tuple(_rebound(module, {each.local for each in names})),
        frozenset(name for scope in module.scopes.values() for name in flow(scope).bindings),
        start,
        newline,
        documented,
        tree.data[start : start + len(newline)] == newline.encode(),
    )


def _head(module: Module, body: list[ast.stmt]) -> Iterator[_Import]:
    """The imports at the head of the module, each alone on its lines."""
    for stmt in body:
        if isinstance(stmt, _Import):
            if _alone(module, stmt):
                yield stmt
        elif not isinstance(stmt, ast.If | ast.Try | ast.Expr):
            # tests of what is installed and set-up calls stand between the imports of many files
            break


def _first(module: Module) -> int:
    """Behind the comments at the top of a file, which hold the encoding and the licence."""
    place = 0
    for line in module.tree.data.splitlines(keepends=True):
        if not line.startswith(b"#"):
            break
        place += len(line)
    return place


def _line_after(module: Module, stmt: ast.stmt) -> int:
    starts, last = module.tree.starts, stmt.end_lineno or stmt.lineno
    return starts[last] if last < len(starts) else len(module.tree.data)


def _alone(module: Module, stmt: ast.stmt) -> bool:
    """Whether a statement has its lines for itself, a comment aside."""
    span = module.tree.span(stmt)
    before = module.tree.data[module.tree.starts[stmt.lineno - 1] : span.start]
    after = module.tree.data[span.end : _line_after(module, stmt)]
    return not before.strip() and re.fullmatch(rb"\s*(#.*)?\s*", after) is not None and after.endswith((b"\n", b"\r"))


def _dotted(stmt: ast.ImportFrom) -> str:
    return "." * stmt.level + (stmt.module or "")


def _statement(module: Module, stmt: _Import) -> Statement:
    tree = module.tree
    lines = Span(tree.starts[stmt.lineno - 1], _line_after(module, stmt))
    if isinstance(stmt, ast.Import):
        return Statement(stmt.names[0].name, lines)
    if stmt.names[0].name == "*":
        return Statement(_dotted(stmt), lines, ())
    spans = [tree.span(alias) for alias in stmt.names]
    between = ", "
    if len(spans) > 1:
        gap = tree.data[spans[0].end : spans[1].start].decode()
        between = gap if re.fullmatch(r",\s*", gap) else ", "
    elif match := re.search(r"\(([ \t]*\r?\n[ \t]*)$", tree.data[lines.start : spans[0].start].decode()):
        between = "," + match[1]
    if "\n" in between and between != ", " and not tree.source(stmt).rstrip().endswith(")"):
        between = ", "
    names = tuple((alias.name, span.start) for alias, span in zip(stmt.names, spans, strict=True))
    return Statement(_dotted(stmt), lines, names, spans[-1].end, between)


def _names(module: Module) -> Iterator[Imported]:
    words = Counter(re.findall(r"\w+", module.tree.text))
    written: dict[str, list[Span]] = {}
    for node in ast.walk(module.tree.root):
        if isinstance(node, ast.Name):
            written.setdefault(node.id, []).append(module.tree.span(node))
    for scope in module.scopes.values():
        if scope.is_class:
            continue
        guarded = _guarded(scope)
        for name, bindings in flow(scope).bindings.items():
            for binding in bindings:
                if binding.kind is not Bound.IMPORT or not isinstance(binding.node, _Import):
                    continue
                if binding.node in guarded:
                    continue
                uses = tuple(written.get(name, ()))
                at_top = scope is module.scope
                single = at_top and len(bindings) == 1
                removal = _removal(module, binding.node, name, words[name] - len(uses)) if single else None
                place = None if at_top else module.tree.span(scope.node)  # type: ignore[arg-type]
                target = binding.target
                yield Imported(name, target, module.tree.span(binding.node), place, uses, removal)


def _guarded(scope: Scope) -> set[ast.stmt]:
    """The imports that only a type checker sees."""
    found: set[ast.stmt] = set()
    stack = list(scope.body)
    while stack:
        stmt = stack.pop()
        inner = [each for block in blocks(stmt) for each in block]
        if isinstance(stmt, ast.If) and "TYPE_CHECKING" in ast.unparse(stmt.test):
            found.update(stmt.body)
        if not isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack.extend(inner)
    return found


def _removal(module: Module, stmt: _Import, name: str, others: int) -> Span | None:
    """The span that takes a name out of its import; None where something else may need it, or a comment speaks of it.

    `others` counts the places where the word stands and is no use of the name.
    """
    tree = module.tree
    inside = len(re.findall(rf"\b{re.escape(name)}\b", tree.source(stmt)))
    if module.path.endswith("__init__.py") or others != inside or inside != 1 or not _alone(module, stmt):
        return None
    lines = Span(tree.starts[stmt.lineno - 1], _line_after(module, stmt))
    if stmt not in tree.root.body or b"#" in tree.data[lines.start : lines.end]:
        return None
    if len(stmt.names) == 1:
        return lines
    index = next(i for i, alias in enumerate(stmt.names) if name in (alias.asname, alias.name.partition(".")[0]))
    own = tree.span(stmt.names[index])
    if index:
        return Span(tree.span(stmt.names[index - 1]).end, own.end)
    return Span(own.start, tree.span(stmt.names[1]).start)


def _rebound(module: Module, imported: set[str]) -> Iterator[tuple[str, Span]]:
    """The imported names that a function binds by anything but an import, with the span of the function."""
    for scope in module.functions():
        span = module.tree.span(scope.node)  # type: ignore[arg-type]
        for name, bindings in flow(scope).bindings.items():
            if name in imported and any(binding.kind is not Bound.IMPORT for binding in bindings):
                yield name, span
