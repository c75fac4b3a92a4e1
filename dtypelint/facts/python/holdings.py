"""What the objects hold that a call takes its arguments from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from dtypelint.facts.python.callers import Callers
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.options import destination, options_of, parses
from dtypelint.facts.python.readable import Readable, base_of, last
from dtypelint.facts.python.reads import Reads
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.finding import Location

_DEPTH = 4


class Holdings:
    """Answers for the expressions of one project."""

    def __init__(self, names: Names, readable: Readable, callers: Callers, reads: Reads) -> None:
        self.names = names
        self.readable = readable
        self.callers = callers
        self.reads = reads

    def sources(self, call: ast.Call, scope: Scope) -> dict[str, list[tuple[str, ast.expr]]]:
        """The objects whose fields a call forwards, by their text: what each argument is called, and the read."""
        found: dict[str, list[tuple[str, ast.expr]]] = {}
        for name, value in [*(("", a) for a in call.args), *((k.arg, k.value) for k in call.keywords)]:
            base = base_of(value)
            if name is None or base is None or not _is_path(base) or self._is_imported(base, scope):
                continue
            found.setdefault(ast.unparse(base), []).append((name or last(value), value))
        return found

    def _is_imported(self, base: ast.expr, scope: Scope) -> bool:
        """Whether an object is a module, a class or a function: `torch.bfloat16` is no field."""
        return bool(self.names.symbols(base, scope))

    def find(self, base: ast.expr, fits: Callable[[str], bool], scope: Scope) -> Iterator[tuple[str, Location]]:
        """The fields of an object whose name fits: declared by its class or parser, or read beside."""
        for cls in self.callers.classes(base, scope):
            for name, fields in self.names.all_fields(cls).items():
                if fits(name):
                    yield name, fields[0].owner.module.at(fields[0].node)
        yield from self._options(base, fits, scope, 0)
        text = ast.unparse(base)
        for holder in (scope, *([scope.owner] if scope.owner is not None else [])):
            if holder.is_function or holder.is_class:
                for _, node, where in self.readable.reads(holder).get(text, ()):
                    if fits(last(node)):
                        yield last(node), where.module.at(node)

    def _options(
        self, base: ast.expr, fits: Callable[[str], bool], scope: Scope, depth: int
    ) -> Iterator[tuple[str, Location]]:
        """The options of a command line whose namespace an object is."""
        if not isinstance(base, ast.Name) or depth > _DEPTH:
            return
        for binding in self.names.bindings(base, scope):
            if parses(binding.value):
                for node in options_of(binding.scope.module):
                    if fits(destination(node)):
                        yield destination(node), binding.scope.module.at(node)
            elif binding.kind is Bound.PARAMETER:
                for given, where in self.callers.given(binding):
                    yield from self._options(given, fits, where, depth + 1)

    def elsewhere(self, base: ast.expr, name: str, scope: Scope) -> Location | None:
        """Where another function reads a field from the same attribute of an object of the same class."""
        if not isinstance(base, ast.Attribute):
            return None
        owners = self.names.classes(base.value, scope)
        for use in self.reads.of(name) if owners else ():
            other = use.base
            if isinstance(other, ast.Attribute) and other.attr == base.attr and use.scope is not None:
                if set(owners) & set(self.names.classes(other.value, use.scope)):
                    return use.module.at(use.node)
        return None


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a name, or attributes and keys of one."""
    while (inner := base_of(node)) is not None:
        node = inner
    return isinstance(node, ast.Name)
