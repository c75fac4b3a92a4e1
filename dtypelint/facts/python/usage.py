"""Whether the code of a project does what a pattern says: a piece of Python in which names stand for what they are bound to.

`library.Name(option=2)` is a call of that name of the library, by whatever way it was imported, with that option among others;
`{"option": 2}` a dict with that item, `library.name = ...` an assignment to an attribute of it and
`os.environ["NAME"] = "value"` one to an item; `a | b` is either, `...` anything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope
from dtypelint.finding import Location


class Usage:
    """Answers for one project; `holding` gives the files that hold all of some words."""

    def __init__(
        self, names: Names, module: Callable[[str], Module | None], holding: Callable[..., Iterable[str]]
    ) -> None:
        self.names = names
        self.module = module
        self.holding = holding

    def first(self, patterns: tuple[str, ...], folder: str = "") -> Location | None:
        """The place of the first pattern in a file below a folder that has a place for each of them."""
        for path in self._files(patterns):
            module = self.module(path) if not folder or path.startswith(f"{folder}/") else None
            if module is not None:
                places = [self._place(parsed(pattern), module) for pattern in patterns]
                if all(places):
                    return places[0]
        return None

    def _files(self, patterns: tuple[str, ...]) -> list[str]:
        """The files with the words of one alternative of each pattern."""
        found = []
        for pattern in patterns:
            several = [self.holding(*sorted({*_words(each)})) for each in _alternatives(parsed(pattern))]
            found.append({path for files in several for path in files})
        return sorted(set.intersection(*found))

    def _place(self, pattern: ast.AST, module: Module) -> Location | None:
        if isinstance(pattern, ast.Assign):
            for stmt, scope in module.statements():
                if isinstance(stmt, ast.Assign) and self._fits(pattern.value, stmt.value, scope):
                    if any(self._fits(pattern.targets[0], target, scope) for target in stmt.targets):
                        return module.at(stmt)
            return None
        found = (module.at(node) for node, _, scope in module.expressions() if self._fits(pattern, node, scope))
        return next(found, None)

    def _fits(self, pattern: ast.AST, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression is what a pattern says."""
        match pattern, node:
            case ast.BinOp(left=left, right=right), _:
                return self._fits(left, node, scope) or self._fits(right, node, scope)
            case ast.Constant(value=wanted), _:
                return wanted is ... or (isinstance(node, ast.Constant) and node.value == wanted)
            case ast.Name() | ast.Attribute(), ast.Name() | ast.Attribute():
                return any(_is_one(path, ast.unparse(pattern)) for path in self.names.paths(node, scope))
            case ast.Subscript(value=base, slice=index), ast.Subscript():
                return self._fits(base, node.value, scope) and self._fits(index, node.slice, scope)
            case ast.Dict(keys=[key], values=[value]), ast.Dict():
                pairs = zip(node.keys, node.values, strict=True)
                return any(k and self._fits(key, k, scope) and self._fits(value, v, scope) for k, v in pairs if key)
            case ast.Call(func=func, args=args, keywords=keywords), ast.Call() if len(args) <= len(node.args):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                return (
                    all(each.arg in given and self._fits(each.value, given[each.arg], scope) for each in keywords)
                    and all(self._fits(wanted, arg, scope) for wanted, arg in zip(args, node.args, strict=False))
                    and self._fits(func, node.func, scope)
                )
        return False


@cache
def parsed(pattern: str) -> ast.AST:
    """A pattern as a tree: an assignment or an expression."""
    (stmt,) = ast.parse(pattern).body
    assert isinstance(stmt, ast.Assign | ast.Expr)
    return stmt.value if isinstance(stmt, ast.Expr) else stmt


def _is_one(path: str, wanted: str) -> bool:
    """Whether a dotted name is one of a library, wherever the library keeps it."""
    root, _, rest = wanted.partition(".")
    name = rest.rpartition(".")[2] or root
    return path.partition(".")[0] == (root if rest else "builtins") and path.rpartition(".")[2] == name


def _alternatives(pattern: ast.AST) -> Iterator[ast.AST]:
    if isinstance(pattern, ast.BinOp):
        yield from _alternatives(pattern.left)
        yield from _alternatives(pattern.right)
    else:
        yield pattern


def _words(pattern: ast.AST) -> Iterator[str]:
    """The words that stand in every text with a place for a pattern."""
    match pattern:
        case ast.BinOp(left=left, right=right):
            yield from {*_words(left)} & {*_words(right)}
        case ast.Attribute(attr=word) | ast.Constant(value=str(word)):
            yield word
        case ast.Name():
            return
        case _:
            for child in ast.iter_child_nodes(pattern):
                yield from _words(child)
            if isinstance(pattern, ast.keyword) and pattern.arg:
                yield pattern.arg
