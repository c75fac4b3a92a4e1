"""What stands around a place: the tests that lead there, gradient mode, owners, comments, signs of training or inference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from dtypelint.facts import Around, Condition
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.gradients import Gradients
from dtypelint.facts.python.module import Module, blocks, calls, expressions, statements
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.releases import before_dtype
from dtypelint.facts.python.scope import Binding, Function, Scope
from dtypelint.facts.python.syntax import parts
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.python.wording import Wording
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location
from dtypelint.knowledge import Call

_INFERENCE = {
    "eval", "evaluate", "evaluation", "generate", "generation", "infer", "inference", "predict", "prediction", "validate",
    "validation", "val", "sample", "sampling", "benchmark", "bench", "demo", "test", "tests", "chat", "encode", "rollout",
    "serve", "serving", "profile", "visualize", "export", "example", "examples", "testing", "decode", "mining", "mine",
    "evals", "metrics", "metric",
}  # fmt: skip
_WORD = re.compile(r"[a-z0-9]+")
_REASON = re.compile(
    r"bf16|bfloat16|fp16|float16|half|fp32|float32|dtype|precision|autocast|amp\b|nan|overflow", re.IGNORECASE
)


class Surroundings:
    """Answers for one module what stands around its statements."""

    def __init__(self, module: Module, names: Names, tracer: Tracer, targets: Targets) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.wording = Wording(tracer)
        self.targets = targets
        self.by_path: dict[str, Call] = dict(tracer.calls)
        self.gradients = Gradients(names, self.by_path)
        self._lines = module.tree.data.decode("utf-8").splitlines()

    def around(self, stmt: ast.stmt, scope: Scope, place: ast.expr | None = None) -> Around:
        context = flow(scope).context.get(stmt)
        conditions: list[Condition] = []
        tests = [(g.test, g.holds) for g in context.guards] if context else []
        items = list(context.items) if context else []
        nested = any(self._is(i.context_expr, scope, "autocast") for i in items)
        if isinstance(stmt, ast.With | ast.AsyncWith):
            items += stmt.items
        outer: Scope | None = scope
        no_grad = False
        functions: list[str] = []
        while outer is not None:
            if isinstance(outer.node, Function):
                functions.append(outer.name)
                no_grad |= any(self.gradients.stops(d, outer.parent or outer) for d in outer.node.decorator_list)
                inner = outer.parent
                if inner is not None and inner.is_function and outer.node in flow(inner).context:
                    around = flow(inner).context[outer.node]
                    tests = [(g.test, g.holds) for g in around.guards] + tests
                    items = [*around.items, *items]
            no_grad |= self.gradients.are_off(outer)
            outer = outer.parent
        tests += self._opened(stmt, scope, place)
        tests += next((inside for node, inside in calls(stmt) if node is place), ())
        for test, holds in (part for each in tests for part in parts(*each)):
            traced = self.tracer.value(test, scope)
            origins = (*traced.origins, *traced.chosen_by)
            speaks = self.wording.speaks(test, scope)
            conditions.append(Condition(self._text(test), holds, origins, self.module.at(test), speaks))
        conditions += self._entry(stmt, scope, place)
        no_grad |= any(self.gradients.stops(i.context_expr, scope) for i in items)
        owner = scope.owner
        holder = owner if owner is not None else scope
        owners = self._owners(scope)
        return Around(
            function=".".join(reversed(functions)),
            cls=owner.name if owner is not None else "",
            conditions=tuple(conditions),
            no_grad=no_grad,
            trains=self._calls(holder, {"backward"}),
            inference=self._inference(functions),
            comment=self._comment(stmt, scope),
            owners=tuple(call.name for call in owners),
            duties=frozenset(self._duties(owners)),
            dummy=self._is_dummy(stmt, scope),
            old=any(before_dtype(test, holds, scope, self.names) for test, holds in tests),
            asked=frozenset(d for name in functions for d in self.tracer.roles.named_dtypes(name)),
            frozen=self._freezes(scope),
            scaler=self._scaler(holder),
            nested=nested,
        )

    def _entry(self, stmt: ast.stmt, scope: Scope, place: ast.expr | None) -> Iterator[Condition]:
        """The key of a table under which an expression stands, as the condition that it is."""
        for table in expressions(stmt) if place is not None else ():
            if isinstance(table, ast.Dict):
                for key, value in zip(table.keys, table.values, strict=True):
                    if key is not None and any(node is place for node in ast.walk(value)):
                        speaks = self.wording.speaks(ast.Compare(key, [], [key]), scope)
                        yield Condition(self._text(key), True, (), self.module.at(key), speaks)

    def _opened(self, stmt: ast.stmt, scope: Scope, place: ast.expr | None) -> tuple[tuple[ast.expr, bool], ...]:
        """The tests that made a called name mean a library's call: `region = autocast if half else nullcontext`."""
        func = place.func if isinstance(place, ast.Call) else None
        found = flow(scope).before.get(stmt, {}).get(func.id, ()) if isinstance(func, ast.Name) else ()
        meanings = [each for binding in found for each in _meanings(binding)]
        opened = [tests for value, tests in meanings if self.by_path.keys() & set(self.names.paths(value, scope))]
        return opened[0] if len(opened) == 1 < len(meanings) else ()

    def _freezes(self, scope: Scope) -> bool:
        """Whether a function calls `requires_grad_(False)`."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requires_grad_"
            and any(isinstance(a, ast.Constant) and a.value is False for a in node.args)
            for stmt in statements(scope.body)
            for node in expressions(stmt)
        )

    def _text(self, node: ast.expr) -> str:
        try:
            return self.module.tree.source(node)
        except (AttributeError, IndexError):
            return ast.unparse(node)

    def _is(self, node: ast.expr, scope: Scope, kind: str) -> bool:
        func = node.func if isinstance(node, ast.Call) else node
        return any(
            (call := self.by_path.get(p)) is not None and call.kind == kind for p in self.names.paths(func, scope)
        )

    def _inference(self, functions: list[str]) -> str:
        for name in functions:
            hit = _INFERENCE.intersection(name.lower().strip("_").split("_"))
            if hit:
                return name
        for part in self.module.path.lower().split("/"):
            if _INFERENCE.intersection(_WORD.findall(part.removesuffix(".py").replace("_", " "))):
                return part
        return ""

    def _calls(self, holder: Scope, names: set[str]) -> bool:
        scopes = (
            [holder]
            if holder.is_function
            else [s for s in self.module.functions() if s.owner is holder or holder is self.module.scope]
        )
        for scope in scopes:
            for stmt in statements(scope.body):
                for node in expressions(stmt):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                        return True
        return False

    def _scaler(self, holder: Scope) -> Location | None:
        scopes = [holder] if holder.is_function else [s for s in self.module.functions() if s.owner is holder]
        for scope in (*scopes, self.module.scope):
            for stmt in statements(scope.body):
                for node in expressions(stmt):
                    if (
                        isinstance(node, ast.Call)
                        and "Scaler" in ast.unparse(node.func)
                        and self._is(node, scope, "scaler")
                    ):
                        return self.module.at(node)
        return None

    def _owners(self, scope: Scope) -> tuple[Call, ...]:
        """The libraries that run this code in an autocast of their own: by a base class, or by an object made here."""
        cls = scope.owner
        paths = list(self.names.bases(cls)) if cls is not None else []
        for stmt in statements(scope.body):
            for node in expressions(stmt):
                if isinstance(node, ast.Call):
                    paths.extend(self.names.paths(node.func, scope))
        calls = (self.by_path.get(path) for path in paths)
        return tuple({call.name: call for call in calls if call is not None and call.kind == "owner"}.values())

    def _duties(self, owners: Iterable[Call]) -> Iterator[str]:
        """What the owners do in the targeted versions."""
        for call in owners:
            yield from call.extra.get("does", ())
            for row in call.extra.get("behaves", ()):
                if self.targets.affects(call.library, row["versions"]):
                    yield from row["does"]

    def _is_dummy(self, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether what a region computes is multiplied by zero, inside it or right after it."""
        body = next((b for b in _all_blocks(scope.body) if stmt in b), ())
        near = body[body.index(stmt) : body.index(stmt) + 3] if body else ()
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and (_is_zero(node.left) or _is_zero(node.right))
            for each in near
            for node in ast.walk(each)
        )

    def _comment(self, stmt: ast.stmt, scope: Scope) -> str:
        """A comment about precision on the statement's header, directly above it, or above an `if` that leads to it."""
        first = stmt.lineno
        body = getattr(stmt, "body", None)
        last = (
            body[0].lineno - 1
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt)
            else stmt.end_lineno or first
        )
        parts = []
        for number in range(first, min(last, first + 12) + 1):
            _, sign, text = self._lines[number - 1].partition("#")
            if sign:
                parts.append(text)
        for place in (stmt, *_branches(stmt, scope.body)):
            line = place.lineno - 1
            while line >= 1 and self._lines[line - 1].lstrip().startswith("#"):
                parts.append(self._lines[line - 1].strip())
                line -= 1
        if isinstance(stmt, ast.Assign):
            held = self._text(stmt.targets[0])
            uses = (line.partition("#") for line in self._lines if f"{held}" in line)
            parts += [text for code, sign, text in uses if sign and held in code]
        text = " ".join(parts)
        return text if _REASON.search(text) and "flagged" not in text else ""


def _meanings(binding: Binding) -> Iterator[tuple[ast.expr, tuple[tuple[ast.expr, bool], ...]]]:
    """The expressions of which a name is one by a binding, each with the tests that lead to it."""
    context = flow(binding.scope).context.get(binding.node) if isinstance(binding.node, ast.stmt) else None
    guards = tuple((g.test, g.holds) for g in context.guards) if context is not None else ()
    match binding.value:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield body, (*guards, (test, True))
            yield orelse, (*guards, (test, False))
        case ast.expr() as value:
            yield value, guards


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0


def _all_blocks(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    yield body
    for each in body:
        if not isinstance(each, Function | ast.ClassDef):
            for block in blocks(each):
                yield from _all_blocks(block)


def _branches(stmt: ast.stmt, body: Sequence[ast.stmt]) -> Iterator[ast.If]:
    """The `if` statements around a statement."""
    for each in body:
        if each.lineno <= stmt.lineno <= (each.end_lineno or each.lineno) and each is not stmt:
            if isinstance(each, ast.If):
                yield each
            for block in blocks(each):
                yield from _branches(stmt, block)
