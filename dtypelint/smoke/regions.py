"""Autocast regions around a place, and plans for products that a fix takes out of one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dtypelint.facts.python.names import External
from dtypelint.smoke.evaluate import Goal, Outcome, cases
from dtypelint.smoke.plans import Attempt, Plan
from dtypelint.smoke.records import Reason
from dtypelint.smoke.scenes import statement_at
from dtypelint.smoke.slices import leading
from dtypelint.smoke.subjects import Region
from dtypelint.smoke.symbols import Dtype, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.facts.project import Project
    from dtypelint.facts.python.module import Module
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

WIDE = "float32"


def around(project: Project, module: Module, node: ast.AST) -> list[Outcome]:
    """The regions that a node lies in, the outermost first; those that cannot be evaluated are left out."""
    found = []
    for call in _calls(leading(module.tree.root, node)):
        if is_region(project, module, call):
            try:
                found.append(cases(Goal(project, module, call))[0].outcome)
            except (Unknown, RecursionError):
                continue
    return found


def _calls(way: tuple[ast.AST, ...]) -> Iterator[ast.Call]:
    """What the functions and `with` blocks on a way enter, each once its own arguments are passed."""
    inside = set(way)
    for each in way:
        entered: list[ast.expr] = []
        match each:
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item in inside:
                        break
                    entered.append(item.context_expr)
            case (
                ast.FunctionDef(decorator_list=entered, body=body)
                | ast.AsyncFunctionDef(decorator_list=entered, body=body)
            ) if not inside.intersection(body):
                entered = []
        yield from (each for each in entered if isinstance(each, ast.Call))


def is_region(project: Project, module: Module, node: ast.Call) -> bool:
    """Whether a call makes an autocast region."""
    tables = project.knowledge.by_path
    scope = next((scope for call, _, scope in module.calls if call is node), module.scope)
    paths = [symbol.path for symbol in project.names.symbols(node.func, scope) if isinstance(symbol, External)]
    return any(path in tables and tables[path].kind == "autocast" for path in paths)


def plan(sites: Sites, finding: Finding) -> Plan:
    """How it is proven that a product is computed in float32 once the region around it is off there."""
    found = Plan(finding, subject="matmul")
    try:
        project, fixed = sites.before(finding), sites.after(finding)
        module, there = sites.module(project, finding), sites.module(fixed, finding)
        start = sites.span(finding.position).start
        product = statement_at(module, start)
        outer = around(project, module, product)
        inner = around(fixed, there, _same(there, product, start))
    except Unknown as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    new = inner[len(outer) :]
    if not new:
        found.lost = "the product lies in the same regions as before"
        return found
    if not outer:
        found.assumed["the product is computed inside a region of bfloat16"] = None
        outer = [Outcome(new[0].call, {"device_type": "unknown", "dtype": Dtype("bfloat16")})]
    for each in new:
        found.assumed.update(dict.fromkeys(each.assumed))
    looks = (Region(outer[:-1]).look(outer[-1]), Region([*outer, *new[:-1]]).look(new[-1]))
    found.attempts.append(Attempt("", WIDE, *looks))
    return found


def _same(module: Module, stmt: ast.stmt, start: int) -> ast.stmt:
    """The first statement from an offset on that reads as another one."""
    text = ast.dump(stmt)
    found = [each for each in ast.walk(module.tree.root) if isinstance(each, ast.stmt) and ast.dump(each) == text]
    later = [each for each in found if module.tree.span(each).end > start]
    if not later:
        raise Unknown("the product is another one after the fix")
    return min(later, key=lambda each: module.tree.span(each).start)
