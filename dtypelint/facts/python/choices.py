"""Tables and chains of tests that turn the names of precisions into dtypes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dtypelint.facts import Role
from dtypelint.facts.choices import Mapped, Missing, Raw
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.options import options_of
from dtypelint.facts.python.scope import Bound, Function, Scope, defaults
from dtypelint.facts.python.syntax import is_none
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Location, Span

Named = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Arm:
    """A branch that gives a dtype: the names that lead there, what is given it, and where."""

    names: tuple[Named, ...]
    given: str
    role: Role | None
    span: Span
    subject: str
    target: str


class Choices:
    """Finds the mappings of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.roles = tracer.roles

    def mapped(self) -> Iterator[Mapped]:
        if b"torch" not in self.module.tree.data:
            return
        for stmt, scope in self.module.statements():
            for node in expressions(stmt):
                if isinstance(node, ast.Dict):
                    yield from self._table(node, scope)
                elif isinstance(node, ast.IfExp):
                    yield from self._arms([a for a in [self._conditional(node, stmt, scope)] if a is not None])
            if isinstance(stmt, ast.If) and stmt not in self._continued:
                yield from self._arms(self._chain(stmt, scope))

    def missing(self) -> Iterator[Missing]:
        for stmt, scope in self.module.statements() if b"torch" in self.module.tree.data else ():
            if isinstance(stmt, ast.If) and stmt not in self._continued:
                yield from self._left_out(stmt, scope)

    @cached_property
    def _continued(self) -> frozenset[ast.stmt]:
        """The statements that are the `elif` of another one."""
        chains = (s for s, _ in self.module.statements() if isinstance(s, ast.If) and len(s.orelse) == 1)
        return frozenset(s.orelse[0] for s in chains)

    # tables

    def _table(self, node: ast.Dict, scope: Scope) -> Iterator[Mapped]:
        pairs: list[tuple[str, str, str, Span]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                wanted = self.roles.dtype(key.value)
                given = self.tracer.torch_dtype(value, scope)
                if wanted is not None and given is not None:
                    pairs.append((key.value, wanted, given, self.module.tree.span(value)))
        right = sum(wanted == given for _, wanted, given, _ in pairs)
        for name, wanted, given, span in pairs:
            if wanted != given:
                yield Mapped(span, name, wanted, given, "the table", None, right, len(pairs) - right - 1)

    # chains

    def _arms(self, arms: list[Arm]) -> Iterator[Mapped]:
        pairs = [(arm, name, wanted) for arm in arms for name, wanted in arm.names]
        right = sum(wanted == arm.given for arm, _, wanted in pairs)
        for arm, name, wanted in pairs:
            if wanted != arm.given:
                wrong = len(pairs) - right - 1
                yield Mapped(arm.span, name, wanted, arm.given, f"`{arm.target}`", arm.role, right, wrong)

    def _chain(self, stmt: ast.If, scope: Scope) -> list[Arm]:
        found: list[Arm] = []
        node: ast.If | None = stmt
        while node is not None:
            arm = self._arm(node.test, node.body, scope)
            if arm is not None:
                found.append(arm)
            following = node.orelse[0] if len(node.orelse) == 1 else None
            node = following if isinstance(following, ast.If) else None
        return found

    def _arm(self, test: ast.expr, body: list[ast.stmt], scope: Scope) -> Arm | None:
        subject, names = self._asked(test)
        given = self._given(body, scope)
        if not names or given is None:
            return None
        value, target, role = given
        dtype = self.tracer.torch_dtype(value, scope)
        return Arm(names, dtype, role, self.module.tree.span(value), subject, target) if dtype is not None else None

    def _given(self, body: list[ast.stmt], scope: Scope) -> tuple[ast.expr, str, Role | None] | None:
        """The one dtype that a block assigns or returns."""
        for stmt in body:
            match stmt:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    text = ast.unparse(target)
                    role = self.roles.role(text.rpartition(".")[2])
                    if role is not None and self.tracer.torch_dtype(value, scope) is not None:
                        return value, text, role
                case ast.Return(value=ast.expr() as value) if self.tracer.torch_dtype(value, scope) is not None:
                    return value, f"{scope.name}()", self.roles.role(scope.name)
        return None

    def _conditional(self, node: ast.IfExp, stmt: ast.stmt, scope: Scope) -> Arm | None:
        subject, names = self._asked(node.test)
        dtype = self.tracer.torch_dtype(node.body, scope)
        if not names or dtype is None:
            return None
        target, role = "", None
        if isinstance(stmt, ast.Assign) and stmt.value is node:
            target = ast.unparse(stmt.targets[0])
            role = self.roles.role(target.rpartition(".")[2])
        elif isinstance(stmt, ast.Return) and stmt.value is node:
            target, role = f"{scope.name}()", self.roles.role(scope.name)
        return Arm(names, dtype, role, self.module.tree.span(node.body), subject, target) if target else None

    def _asked(self, test: ast.expr) -> tuple[str, tuple[Named, ...]]:
        """What a test asks for, when any of its parts alone lets it hold: the thing that is compared, and the names."""
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(text))]):
                dtype = self.roles.dtype(text)
                return ast.unparse(left), ((text, dtype),) if dtype is not None else ()
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as several]):
                texts = [e.value for e in several.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
                named = tuple((t, d) for t in texts if (d := self.roles.dtype(t)) is not None)
                return ast.unparse(left), named if len(named) == len(several.elts) else ()
            case ast.BoolOp(op=ast.Or(), values=values):
                parts = [self._asked(value) for value in values]
                return parts[0][0], tuple(n for _, names in parts for n in names)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                flag = self.roles.flag(name)
                return name, ((name, flag),) if flag is not None else ()
        return "", ()

    # what is left out

    def _left_out(self, stmt: ast.If, scope: Scope) -> Iterator[Missing]:
        arms = self._chain(stmt, scope)
        subjects = {arm.subject for arm in arms}
        if len(subjects) != 1 or not isinstance(stmt.test, ast.Compare):
            return
        length, last = 1, stmt
        while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
            length, last = length + 1, last.orelse[0]
        fallback = self._fallback(stmt, last, arms[0], scope)
        if fallback is None or length != len(arms):
            return
        handled = {dtype for arm in arms for _, dtype in arm.names}
        for name, declared in self._declared(stmt.test.left, scope):
            wanted = self.roles.dtype(name)
            if wanted is not None and wanted not in handled and wanted != fallback:
                yield Missing(self.module.tree.span(stmt.test), arms[0].subject, name, wanted, fallback, declared)

    def _fallback(self, stmt: ast.If, last: ast.If, arm: Arm, scope: Scope) -> str | None:
        """The dtype of the `else`, or what the target held before the chain."""
        if last.orelse:
            given = self._given(last.orelse, scope)
            return self.tracer.torch_dtype(given[0], scope) if given is not None and given[1] == arm.target else None
        before = [b for b in flow(scope).before.get(stmt, {}).get(arm.target, ()) if b.kind is not Bound.UNBOUND]
        values = {self.tracer.torch_dtype(b.value, scope) if b.value is not None else None for b in before}
        return values.pop() if len(values) == 1 else None

    def _declared(self, node: ast.expr, scope: Scope) -> Iterator[tuple[str, Location]]:
        """The choices of a setting: of an option of this file, or of a `Literal`."""
        annotations: list[tuple[ast.expr | None, Scope]] = []
        match node:
            case ast.Name():
                annotations = [(b.annotation, b.scope) for b in self.names.bindings(node, scope)]
            case ast.Attribute(value=base, attr=attr):
                fields = [f for c in self.names.classes(base, scope) for f in self.names.fields(c, attr)]
                annotations = [(f.annotation, f.scope) for f in fields]
                if not fields:
                    yield from self._options(attr)
        for annotation, where in annotations:
            match annotation:
                case ast.Subscript(value=base, slice=index) if "typing.Literal" in self.names.paths(base, where):
                    parts = index.elts if isinstance(index, ast.Tuple) else [index]
                    for part in parts:
                        if isinstance(part, ast.Constant) and isinstance(part.value, str):
                            yield part.value, where.module.at(part)

    def _options(self, attr: str) -> Iterator[tuple[str, Location]]:
        for node in options_of(self.module, attr):
            for keyword in node.keywords:
                if keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple):
                    for part in keyword.value.elts:
                        if isinstance(part, ast.Constant) and isinstance(part.value, str):
                            yield part.value, self.module.at(part)

    # raw arguments

    def raw(self) -> Iterator[Raw]:
        """`if precision == …` behind `self.precision = precision or …`, where the argument may be None."""
        for scope in self.module.functions():
            assert isinstance(scope.node, Function)
            optional = {n for n, d in defaults(scope.node).items() if is_none(d)}
            optional = {n for n in optional if self.roles.role(n) is not None}
            if optional:
                yield from self._raw(scope, optional)

    def _raw(self, scope: Scope, optional: set[str]) -> Iterator[Raw]:
        resolved: dict[str, tuple[str, ast.stmt]] = {}
        for stmt in flow(scope).order:
            match stmt:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name()) as target], value=value):
                    for name in optional & {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
                        if isinstance(value, ast.BoolOp | ast.IfExp) and not flow(scope).context[stmt].guards:
                            resolved[name] = (ast.unparse(target), stmt)
            for node in expressions(stmt):
                match node:
                    case ast.Compare(left=ast.Name(id=name) as left, ops=[ast.Eq()], comparators=[ast.Constant()]) if (
                        name in resolved and resolved[name][1] is not stmt
                    ):
                        kinds = {b.kind for b in self.names.bindings(left, scope)}
                        if kinds == {Bound.PARAMETER}:
                            text, where = resolved[name]
                            yield Raw(self.module.tree.span(node), name, text, self.module.at(where))
