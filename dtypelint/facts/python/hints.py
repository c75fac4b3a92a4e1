"""What annotations, classes and the tests before a statement say about an object."""

from __future__ import annotations

import ast

from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.names import External, Names, Symbol
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.syntax import parts, unquoted
from dtypelint.facts.python.things import NOTHING, Sort, Thing, join, many, mapping
from dtypelint.finding import Location

_SCALARS = frozenset({"builtins.int", "builtins.float", "builtins.bool", "builtins.str", "numpy.ndarray"})
_MANY = frozenset(
    {"list", "List", "Sequence", "Iterable", "Iterator", "Generator", "Collection", "set", "Set", "tuple", "Tuple"}
)
_MAPS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"})
_FLOATING = frozenset({"is_floating_point", "is_complex"})
# by whether they hold: an integer tensor is no floating point, and still a tensor
_TESTS = ({"torch.is_tensor"}, {"torch.is_tensor", "torch.is_floating_point", "torch.is_complex"})


class Hints:
    def __init__(self, names: Names) -> None:
        self.names = names

    def annotated(self, node: ast.expr | None, scope: Scope) -> Thing | None:
        """What an annotation, or the class in a test, says."""
        match node:
            case ast.Constant(value=str()):
                return self.annotated(unquoted(node), scope)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return join(self._member(each, scope) for each in (left, right))
            case ast.Subscript(value=base, slice=index):
                return self._generic(base, index.elts if isinstance(index, ast.Tuple) else [index], scope)
            case ast.Name() | ast.Attribute():
                at = scope.module.at(node)
                return join(self.instance(symbol, at) for symbol in self.names.symbols(node, scope))
        return None

    def _member(self, node: ast.expr, scope: Scope) -> Thing | None:
        """A member of a union; numbers, strings and None have no cast and do not count."""
        if ast.unparse(node) == "None" or _SCALARS.intersection(self.names.paths(node, scope)):
            return NOTHING
        return self.annotated(node, scope)

    def _generic(self, base: ast.expr, parts: list[ast.expr], scope: Scope) -> Thing | None:
        name = ast.unparse(base).rpartition(".")[2]
        shaped = any(path.startswith("jaxtyping.") for path in self.names.paths(base, scope))
        if name in ("Optional", "Union"):
            return join(self._member(part, scope) for part in parts)
        if shaped or name in ("Annotated", "Final", "ClassVar"):
            return self.annotated(parts[0], scope)
        if name in ("tuple", "Tuple") and ast.unparse(parts[-1]) != "...":
            return Thing(Sort.TUPLE, parts=tuple(self.annotated(part, scope) for part in parts))
        if name in _MANY:
            return many(self.annotated(parts[0], scope))
        return mapping(self.annotated(parts[-1], scope)) if name in _MAPS else None

    def instance(self, symbol: Symbol, at: Location) -> Thing | None:
        """What an instance of a class is."""
        if isinstance(symbol, External):
            paths = [symbol.path]
        else:
            paths = list(self.names.bases(symbol)) if symbol.is_class else []
        for path in paths:
            library, _, name = path.rpartition(".")
            if name in ("Parameter", "Buffer") and library.startswith("torch.nn"):
                return Thing(Sort(name.lower()), f"a `{path}`", at)
            if name.endswith("Tensor") and library.partition(".")[0] == "torch":
                return Thing(Sort.TENSOR, f"a `{path}`", at)
        return None

    # tests

    def tested(self, node: ast.expr, stmt: ast.AST, scope: Scope) -> Thing | None:
        """What the tests that lead to a statement say of an expression; NOTHING when they say that it is no tensor."""
        context = flow(scope).context.get(stmt) if isinstance(stmt, ast.stmt) else None
        if context is None or not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return None
        for guard in reversed(context.guards):
            for test, holds in parts(guard.test, guard.holds):
                found = self._says(test, holds, node, scope)
                if found is not None:
                    return found
        return None

    def _says(self, test: ast.expr, holds: bool, node: ast.expr, scope: Scope) -> Thing | None:
        kind: ast.expr | None = None
        match test:
            case ast.Call(func=ast.Attribute(value=about, attr=attr), args=[]) if attr in _FLOATING and holds:
                pass
            case ast.Call(func=func, args=[about, kind]) if self.names.is_builtin(func, "isinstance", scope):
                pass
            case ast.Call(func=func, args=[about]) if _TESTS[holds].intersection(self.names.paths(func, scope)):
                pass
            case _:
                return None
        if not self._same(about, node, scope):
            return None
        tensor: Thing | None = Thing(Sort.TENSOR, f"`{ast.unparse(test)}`", scope.module.at(test))
        if kind is not None:
            kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
            tensor = join(self.annotated(each, scope) for each in kinds)
        return (tensor or NOTHING) if holds else (NOTHING if tensor else None)

    def _same(self, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
        """Whether two expressions read the same thing: the same words, their names bound at the same places."""
        if ast.dump(one) != ast.dump(other):
            return False
        names = ([n for n in ast.walk(each) if isinstance(n, ast.Name)] for each in (one, other))
        pairs = zip(*names, strict=True)
        return all(set(self.names.bindings(a, scope)) == set(self.names.bindings(b, scope)) for a, b in pairs)
