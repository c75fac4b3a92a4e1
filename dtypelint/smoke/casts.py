"""Plans for casts: the tensor that was to change, in its place among sharding, optimizer and backward pass."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dtypelint.smoke.evaluate import Goal, cases
from dtypelint.smoke.plans import Attempt, Look, Plan, encoded
from dtypelint.smoke.records import Reason
from dtypelint.smoke.scenes import MOVED, callers, scene, statement_at, steps
from dtypelint.smoke.sites import moved
from dtypelint.smoke.slices import leading
from dtypelint.smoke.symbols import DTYPES, Dtype, Unknown, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.facts.project import Project
    from dtypelint.facts.python.module import Module
    from dtypelint.facts.python.scope import Scope
    from dtypelint.finding import Finding
    from dtypelint.smoke.scenes import Scene
    from dtypelint.smoke.sites import Sites


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of a cast is proven."""
    found = Plan(finding)
    try:
        _fill(found, sites, finding)
    except (Unknown, RecursionError) as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
    return found


def _fill(found: Plan, sites: Sites, finding: Finding) -> None:
    project, fixed = sites.before(finding), sites.after(finding)
    module, there = sites.module(project, finding), sites.module(fixed, finding)
    start = sites.span(finding.position).start
    edits = sites.edits(finding)
    covering = [
        edit.location.span.start for edit in edits if edit.location.span.start <= start < edit.location.span.end
    ]
    stmt = statement_at(module, start)
    twin = statement_at(there, min(covering) if covering else moved(start, edits))
    before = scene(module, stmt, frozenset())
    after = scene(there, twin, frozenset({before.module} - {""}))
    past = list(dict.fromkeys(_past(found, project, module, stmt)))
    for value in _values(found, project, module, before):
        device = value == MOVED
        job = {
            "probe": "cast",
            "container": before.container,
            "past": past,
            "dtype": None if device else encoded(value),
        }
        key = "device" if device else "dtype"
        looks = (Look({**job, "action": each.action}, key) for each in (before, after))
        intended = MOVED if device else shown(value)
        found.attempts.append(Attempt(shown(value), intended, *looks))
    found.subject = f"`{before.item}`"


def _values(found: Plan, project: Project, module: Module, before: Scene) -> Iterator[Any]:
    """The dtypes that the cast is made to; the device that shows a move where it is made to none."""
    if before.dtype is None:
        yield MOVED
    elif isinstance(before.dtype, Dtype):
        yield before.dtype
    else:
        made = cases(Goal(project, module, before.dtype))
        values = dict.fromkeys((case.outcome.fields or {}).get("dtype") for case in made)
        known = [value for value in values if isinstance(value, Dtype)]
        if not known:
            raise Unknown(f"`{ast.unparse(before.dtype)}` is no dtype")
        found.knob = ast.unparse(before.dtype) if len(known) > 1 else ""
        for case in made:
            found.assumed.update(dict.fromkeys(case.outcome.assumed))
        yield from known if len(known) == 1 else dict.fromkeys((*known, *DTYPES))


def _past(found: Plan, project: Project, module: Module, stmt: ast.stmt) -> Iterator[str]:
    """What happened to the module before: in the function itself, else before a call of it."""
    way = leading(module.tree.root, stmt)
    functions = [node for node in way if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    scope = module.scopes[functions[-1]] if functions else module.scope
    own = [step for step, _ in steps(project, scope, stmt)]
    yield from own
    if not own and functions:
        yield from _before_calls(found, project, scope)


def _before_calls(found: Plan, project: Project, scope: Scope) -> Iterator[str]:
    for module, other, stmt in callers(project, scope):
        for step, node in steps(project, other, stmt):
            found.assumed[f"{step} comes before, in {module.path}:{node.lineno}"] = None
            yield step
