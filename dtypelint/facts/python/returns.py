"""What a call returns by a type variable of its function: `def parse(raw, kind: type[T]) -> T`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts.python.scope import Function, Scope, parameters
from dtypelint.facts.python.syntax import argument


def models(call: ast.Call, callee: Scope) -> Iterator[tuple[ast.expr, bool]]:
    """The arguments that are annotated as the result is, each with whether it is the class and not an instance."""
    node = callee.node
    if not isinstance(node, Function) or node.returns is None:
        return
    returned = ast.unparse(node.returns)
    several = parameters(node)
    bound = callee.parent is not None and callee.parent.is_class and not is_static(callee)
    order = [each.arg for each in several[bound:]]
    for index, parameter in enumerate(several):
        if parameter.annotation is None:
            continue
        said = ast.unparse(parameter.annotation)
        is_class = said in (f"type[{returned}]", f"Type[{returned}]", f"typing.Type[{returned}]")
        if said != returned and not is_class:
            continue
        if bound and not index:
            given = call.func.value if isinstance(call.func, ast.Attribute) else None
        else:
            given = argument(call, parameter.arg, order)
        if given is not None:
            yield given, is_class


def is_own(callee: Scope) -> bool:
    """Whether a method may return an instance of its own class, as an alternative constructor does: it says so, or nothing."""
    assert isinstance(callee.node, Function)
    returned = callee.node.returns
    return returned is None or ast.unparse(returned).rpartition(".")[2].strip("'\"") == "Self"


def is_static(callee: Scope) -> bool:
    """Whether a method gets no object."""
    assert isinstance(callee.node, Function)
    return any(ast.unparse(each) == "staticmethod" for each in callee.node.decorator_list)
