"""From the expression of a user to the arguments that a constructor gets, for several values of each knob.

Nothing of the user is executed: the code is read by `interpreter`. A base assignment of the knobs is found first, then
one knob is varied at a time.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dtypelint.facts.python.scope import Scope
from dtypelint.smoke.interpreter import Elsewhere, Interpreter
from dtypelint.smoke.knobs import Knobs
from dtypelint.smoke.slices import Slices, leading
from dtypelint.smoke.symbols import DTYPES, Crash, Knob, Need, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dtypelint.facts.project import Project
    from dtypelint.facts.python.module import Module
    from dtypelint.facts.roles import Roles
    from dtypelint.knowledge import Call

RUNS = 200
BOOLEANS = frozenset({"enabled", "cache_enabled", "keep_low_precision_grads"})
IGNORED = frozenset({"_module_classes_to_ignore", "param_dtype_override_fn", "process_group"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the constructor gets under one assignment.

    `fields` are by parameter; None where another expression stands in its place (`nullcontext()`); `crash` names the
    exception that the user's own code raises instead.
    """

    call: Call | None
    fields: Mapping[str, Any] | None
    crash: str = ""
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """An assignment of the knobs, the knob that differs from the base ("" for the base itself), and what comes out."""

    chosen: Mapping[str, Any]
    varied: str
    outcome: Outcome


@dataclass(slots=True)
class Goal:
    """A place whose value is asked for: a call in a module, and the place that holds it while it may still change."""

    project: Project
    module: Module
    node: ast.expr
    follow: str = ""
    lenient: bool = False
    path: frozenset[ast.AST] = field(init=False)
    scopes: tuple[Scope, ...] = field(init=False)
    slices: Slices = field(init=False)

    def __post_init__(self) -> None:
        way = leading(self.module.tree.root, self.node)
        self.path = frozenset(way)
        functions = [node for node in way if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        scopes = [self.module.scopes[node] for node in functions]
        # decorators and defaults belong to the scope around
        while scopes and not any(stmt in self.path for stmt in scopes[-1].body):
            scopes.pop()
        self.scopes = tuple(scopes) or (self._around(way),)
        self.slices = Slices(way, self.scopes, self.follow)

    def _around(self, way: tuple[ast.AST, ...]) -> Scope:
        owners = [node for node in way if isinstance(node, ast.ClassDef)]
        owners = [node for node in owners if any(stmt in self.path for stmt in node.body)]
        return self.module.scopes[owners[-1]] if owners else self.module.scope

    def run(self, chosen: Mapping[str, Any]) -> Outcome:
        """What comes out under an assignment; Need when a knob is missing, Unknown when nothing can be said."""
        roles = self.project.tracer.roles
        knobs = Knobs(chosen, roles.dtype)
        interpreter = Interpreter(self.project, knobs, self.node, self.path)
        interpreter.slices, interpreter.follow, interpreter.lenient = self.slices, self.follow, self.lenient
        try:
            value = interpreter.run(self.scopes)
        except Crash as crash:
            return Outcome(None, None, str(crash), tuple(knobs.assumed))
        except Elsewhere:
            return Outcome(None, None, "", tuple(knobs.assumed))
        fields = {name: settled(value.call, name, item, knobs, roles) for name, item in value.fields.items()}
        for name in IGNORED & fields.keys():
            del fields[name]
            knobs.assumed[f"`{name}` is left out"] = None
        return Outcome(value.call, fields, "", tuple(knobs.assumed))


def settled(call: Call, name: str, value: Any, knobs: Knobs, roles: Roles) -> Any:
    """The value of a field; what is still a knob takes one of the values that the field is made for."""
    if name == "device_type":
        return value if isinstance(value, str) else "unknown"
    if name in BOOLEANS or name.startswith("cast_") or roles.flag(name):
        return knobs.settle(value, (True, False)) if isinstance(value, Knob) else value
    if name in call.roles or name.endswith("dtype"):
        return knobs.settle(value, DTYPES)
    return value


class Search:
    """The assignments of one goal; `reason` says why the last one that failed did."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._budget = RUNS
        self.reason = "nothing is known"

    def first(self, chosen: Mapping[str, Any]) -> tuple[dict[str, Any], Outcome]:
        """The first assignment that works, else one under which a branch is taken that cannot be; Unknown without one."""
        found = next(self.complete(chosen), None)
        if found is None and self._budget and not self._goal.lenient:
            reason = self.reason
            self._goal.lenient = True
            found = next(self.complete(chosen), None)
            self.reason = reason
        if found is None:
            raise Unknown(self.reason)
        return found

    def complete(self, chosen: Mapping[str, Any], free: str = "") -> Iterator[tuple[dict[str, Any], Outcome]]:
        """The assignments that extend one until the goal has its value.

        The first workable choice is taken for each knob; of the knob `free` all are.
        """
        stack = [dict(chosen)]
        while stack and self._budget:
            self._budget -= 1
            assignment = stack.pop()
            try:
                outcome = self._goal.run(assignment)
            except Need as need:
                stack += [{**assignment, need.path: choice} for choice in reversed(need.choices)]
                continue
            except (Unknown, RecursionError) as error:
                self.reason = str(error)
                continue
            yield assignment, outcome
            stack = [other for other in stack if free and other.get(free) != assignment.get(free)]


def cases(goal: Goal, start: Mapping[str, Any] | None = None) -> list[Case]:
    """The base, and each of its knobs varied alone; Unknown when no assignment works."""
    search = Search(goal)
    base = search.first(start or {})
    chosen, outcome = base
    varied: dict[str, list[Case]] = {}
    # what is asked for last is nearest to the goal, and the budget may not suffice for all
    for knob in reversed(chosen):
        rest = {path: value for path, value in chosen.items() if path != knob}
        varied[knob] = [
            Case(assignment, knob, other)
            for assignment, other in search.complete(rest, knob)
            if assignment.get(knob) != chosen[knob]
        ]
    return [Case(chosen, "", outcome), *(case for knob in chosen for case in varied[knob])]


def under(goal: Goal, chosen: Mapping[str, Any]) -> Outcome:
    """What comes out under an assignment, completed where it leaves a knob open; Unknown when nothing does."""
    return Search(goal).first(chosen)[1]
