"""Plans for running averages: how many of their weights move, in the dtype that they get before and after the fix."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dtypelint.finding import Span
from dtypelint.smoke.evaluate import Goal, cases
from dtypelint.smoke.plans import Attempt, Look, Plan, encoded
from dtypelint.smoke.records import Reason
from dtypelint.smoke.scenes import METHODS
from dtypelint.smoke.sites import moved
from dtypelint.smoke.symbols import Dtype, Unknown, shown

if TYPE_CHECKING:
    from dtypelint.facts.project import Project
    from dtypelint.facts.python.module import Module
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

ALL = "all"


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of an average is proven."""
    found = Plan(finding, subject="what moves")
    try:
        project, fixed = sites.before(finding), sites.after(finding)
        (edit,) = sites.edits(finding)
        start = moved(edit.location.span.start, [edit])
        old = _dtypes(project, sites.module(project, finding), edit.location.span)
        new = _dtypes(fixed, sites.module(fixed, finding), Span(start, start + len(edit.text.encode())))
    except (Unknown, ValueError, RecursionError) as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    for dtype in old:
        looks = (Look({"probe": "average", "dtype": encoded(each)}, "moved") for each in (dtype, new[0]))
        found.attempts.append(Attempt(shown(dtype), ALL, *looks))
    return found


def _dtypes(project: Project, module: Module, span: Span) -> list[Dtype]:
    """The dtypes of an expression, or of a cast by its method's name, that ends where a span does."""
    found: dict[Dtype, None] = {}
    for node in ast.walk(module.tree.root):
        if not isinstance(node, ast.expr) or module.tree.span(node).end != span.end:
            continue
        name = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Attribute) and name.attr in METHODS:
            found[METHODS[name.attr]] = None
        elif module.tree.span(node) == span:
            values = ((case.outcome.fields or {}).get("dtype") for case in cases(Goal(project, module, node)))
            found.update((value, None) for value in values if isinstance(value, Dtype))
    if not found:
        raise Unknown("no dtype stands here")
    return list(found)
