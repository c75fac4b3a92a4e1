"""What the words of an expression say, before any value is followed: the dtypes that a test asks for, the name that is passed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from dtypelint.facts import Role
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.trace import Tracer, tail


class Wording:
    """Reads tests and arguments of one project."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def named(self, node: ast.expr, scope: Scope) -> tuple[str, Role | None]:
        """The one name that a value is converted from, and its role: `reduce_dtype` of `TABLE[cfg.reduce_dtype]`."""
        match node:
            case ast.Name(id=name):
                return name, self.tracer.roles.role(name)
            case ast.Attribute(attr="value" | "name", value=inner):
                return self.named(inner, scope)
            case ast.Attribute(attr=name, value=base):
                return (
                    (name, self.tracer.roles.role(name, tail(base)))
                    if self.tracer.torch_dtype(node, scope) is None
                    else ("", None)
                )
            case ast.Subscript(slice=ast.Constant(value=str(name)), value=base):
                return name, self.tracer.roles.role(name, tail(base))
            case ast.Subscript(slice=inner):
                return self.named(inner, scope)
            case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(name)), *_]):
                return name, self.tracer.roles.role(name, tail(node))
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                return name, self.tracer.roles.role(name)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, inner, *_]):
                return self.named(inner, scope)
            case ast.Call(func=ast.Attribute(value=inner), args=[]):
                return self.named(inner, scope)
            case ast.Call(args=[inner, *_]):
                return self.named(inner, scope)
        return "", None

    def speaks(self, node: ast.expr, scope: Scope, depth: int = 0) -> frozenset[str]:
        """The dtypes that a test asks for; whether something is set or is None asks for none."""
        if depth > 4:
            return frozenset()
        inner: Iterable[ast.expr] = ()
        match node:
            case ast.Compare(left=left, comparators=others):
                return frozenset(d for each in (left, *others) for d in self._spelled(each, scope, depth))
            case ast.BoolOp(values=inner) | ast.Tuple(elts=inner):
                pass
            case ast.UnaryOp(operand=each) | ast.NamedExpr(value=each) | ast.IfExp(test=each):
                inner = [each]
            case ast.Call(func=func, args=args):
                name = tail(func)
                return frozenset(
                    {*self.tracer.roles.named_dtypes(name)} | {d for a in args for d in self._spelled(a, scope, depth)}
                )
            case ast.Name():
                flag = self.tracer.roles.flag(node.id)
                if flag:
                    return frozenset({flag})
                inner = [b.value for b in self.tracer.names.bindings(node, scope) if b.value is not None and not b.path]
                inner = [v for v in inner if isinstance(v, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call)]
            case ast.Attribute() | ast.Subscript():
                return frozenset({d} if (d := self.tracer.roles.flag(tail(node))) else ())
        return frozenset(d for each in inner for d in self.speaks(each, scope, depth + 1))

    def _spelled(self, node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        """The dtypes that one side of a comparison writes out: a literal, a dtype, a member of an enum, a list of those."""
        match node:
            case ast.Constant(value=str(text)):
                yield from self.tracer.roles.named_dtypes(text)
            case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Set(elts=several):
                for each in several:
                    yield from self._spelled(each, scope, depth)
            case ast.Attribute(attr=attr):
                dtype = self.tracer.torch_dtype(node, scope)
                members = [
                    field.value
                    for cls in self.tracer.names.symbols(node.value, scope)
                    if isinstance(cls, Scope) and cls.is_class
                    for field in self.tracer.names.fields(cls, attr)
                    if isinstance(field.value, ast.Constant)
                ]
                if dtype is not None:
                    yield dtype
                elif members:
                    for member in members:
                        yield from self._spelled(member, scope, depth)
                elif attr.isupper():
                    yield from self.tracer.roles.named_dtypes(attr)
                elif attr in ("value", "name"):
                    yield from self._spelled(node.value, scope, depth)
            case ast.Name():
                if self.tracer.is_import(node, scope) and (dtype := self.tracer.torch_dtype(node, scope)):
                    yield dtype
            case ast.Call() | ast.Compare() | ast.BoolOp():
                yield from self.speaks(node, scope, depth + 1)
