"""Comparisons of a string with a `torch.dtype`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Form
from dtypelint.facts.given import Comparison
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.module import Module, expressions
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Function, Scope
from dtypelint.facts.python.spellings import Spelled, Spellings
from dtypelint.facts.python.trace import Tracer
from dtypelint.finding import Span

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


class Comparisons:
    """Finds the comparisons of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.spellings = Spellings(names, tracer)

    def find(self) -> Iterator[Comparison]:
        if b"torch" not in self.module.tree.data:
            return
        for node, stmt, scope in self.module.expressions():
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
                yield from self._compared(node, stmt, scope)

    def _compared(self, node: ast.Compare, stmt: ast.stmt, scope: Scope) -> Iterator[Comparison]:
        left, right = node.left, node.comparators[0]
        if not (self._speaks(left, scope) or self._speaks(right, scope)):
            return
        sides = [self.spellings.of(each, stmt, scope) for each in (left, right)]
        first, second = sides
        if first is None or second is None or first.form is second.form:
            return
        literal = _written(left), _written(right)
        if literal[0] and not literal[1] and not isinstance(right, ast.Tuple | ast.List | ast.Set):
            yield from self._made(node, right, second, left, stmt, scope)
        elif not literal[0]:
            yield from self._made(node, left, first, right, stmt, scope)

    def _speaks(self, node: ast.expr, scope: Scope) -> bool:
        """Whether one side writes out a dtype, as a string or as an attribute of torch, or is a name for some."""
        match node:
            case ast.Constant(value=str(text)):
                return self.tracer.roles.dtype(text) is not None
            case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Set(elts=several):
                return any(self._speaks(each, scope) for each in several)
            case ast.Name() | ast.Attribute():
                return isinstance(node, ast.Name) or self.tracer.torch_dtype(node, scope) is not None
        return False

    def _made(
        self, node: ast.Compare, side: ast.expr, spelled: Spelled, other: ast.expr, stmt: ast.stmt, scope: Scope
    ) -> Iterator[Comparison]:
        text = self.module.tree.source(side)
        if self._tested(text, node, stmt, scope):
            return
        is_text = spelled.form is Form.STRING
        yield Comparison(
            span=self.module.tree.span(node),
            operator=_OPERATORS[type(node.ops[0])],
            text=text,
            text_span=self.module.tree.span(side),
            is_text=is_text,
            other=self.module.tree.source(other),
            why=spelled.why,
            evidence=spelled.at,
            literals=() if is_text else tuple(self._literals(other)),
            converted=self._converted(text) if is_text else "",
        )

    def _tested(self, text: str, node: ast.Compare, stmt: ast.stmt, scope: Scope) -> bool:
        """Whether the code asks for the kind first, or compares with both kinds."""
        context = flow(scope).context.get(stmt)
        tests = [ast.unparse(g.test) for g in context.guards] if context else []
        for each in expressions(stmt):
            if isinstance(each, ast.BoolOp):
                tests += [ast.unparse(v) for v in each.values if v is not node]
            elif isinstance(each, ast.IfExp):
                tests.append(ast.unparse(each.test))
        asked = (f"isinstance({text},", f"type({text})")
        both = [t for t in tests if t.startswith(f"{text} ")]
        return any(a in t for a in asked for t in tests) or bool(both)

    def _literals(self, node: ast.expr) -> Iterator[tuple[Span, str]]:
        """The strings of one side as dtypes of torch; none when one of them is not known."""
        parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        found = []
        for part in parts:
            text = part.value if isinstance(part, ast.Constant) else None
            dtype = self.tracer.roles.dtype(text) if isinstance(text, str) else None
            if dtype is None or "torch" not in self.module.bindings:
                return
            found.append((self.module.tree.span(part), f"torch.{dtype}"))
        yield from found

    def _converted(self, text: str) -> str:
        """The string as a dtype, by a table or a function at the top of the module."""
        for name, bindings in self.module.bindings.items():
            node, value = bindings[0].node, bindings[0].value
            if isinstance(value, ast.Dict) and value.keys and isinstance(node, ast.stmt):
                texts = all(isinstance(k, ast.Constant) and isinstance(k.value, str) for k in value.keys)
                dtypes = all(self.tracer.torch_dtype(v, self.module.scope) for v in value.values)
                if texts and dtypes and len(bindings) == 1:
                    return f"{name}[{text}]"
            if isinstance(node, Function) and node.returns is not None and len(node.args.args) == 1:
                takes = node.args.args[0].annotation
                if takes is not None and (ast.unparse(takes), ast.unparse(node.returns)) == ("str", "torch.dtype"):
                    return f"{name}({text})"
        return ""


def _written(node: ast.expr) -> bool:
    """Whether an expression is written out: a string, an attribute, or a list of those."""
    return isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Set)
