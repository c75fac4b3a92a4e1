"""Plans for what a constructor is given: sharding policies, autocast regions, the switch of a scaler."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from dtypelint.finding import Span
from dtypelint.smoke.evaluate import Case, Goal, Outcome, cases, under
from dtypelint.smoke.plans import Attempt, Plan
from dtypelint.smoke.records import Reason
from dtypelint.smoke.regions import around
from dtypelint.smoke.sites import call_at, moved
from dtypelint.smoke.slices import leading
from dtypelint.smoke.subjects import Device, Field, Ranks, Region, Subject, Switch
from dtypelint.smoke.symbols import Dtype, Unknown, shown, torch_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dtypelint.facts.python.module import Module
    from dtypelint.facts.roles import Roles
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

BUILT = "built here"
BASES = 8
SAME = "the constructor is given the same as before"
WORD = re.compile(r"([A-Za-z_]\w*)")
KEYWORD = re.compile(r"\b\w+\s*=(?!=)")
FLAG = re.compile(r"""["']--?([\w-]+)["']""")


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of a constructor's arguments is proven: around the base, else around others that have knobs of their own."""
    tried: list[Plan] = []
    try:
        before, after = _goals(sites, finding)
        for made in _bases(after):
            tried.append(_around(before, after, made, sites, finding))
            if tried[-1].knob:
                break
    except (Unknown, RecursionError) as error:
        if not tried:
            return Plan(finding, reason=Reason.UNEVALUABLE, detail=str(error))
    return max(tried, key=lambda each: (bool(each.knob), bool(each.attempts) and not each.lost))


def _bases(goal: Goal) -> Iterator[list[Case]]:
    first = cases(goal)
    yield first
    others = [case.chosen for case in first if not case.chosen.keys() <= first[0].chosen.keys()]
    for chosen in others[:BASES]:
        yield cases(goal, chosen)


def _around(before: Goal, after: Goal, made: Sequence[Case], sites: Sites, finding: Finding) -> Plan:
    found = Plan(finding)
    pairs = [(case, _before(before, case, found)) for case in made]
    kind = next((case.outcome.call.kind for case in made if case.outcome.call is not None), "call")
    subjects = {"autocast": _region_subjects, "scaler": _switch_subjects}.get(kind, _field_subjects)
    subject = next(subjects(finding, pairs, after), None)
    if subject is None:
        found.lost = SAME
    else:
        _try(found, subject, pairs, sites, after.project.tracer.roles)
    return found


def _goals(sites: Sites, finding: Finding) -> tuple[Goal, Goal]:
    project = sites.before(finding)
    module = sites.module(project, finding)
    built = next((note.position for note in finding.related if note.message == BUILT), None)
    span = sites.span(built or finding.position)
    node = call_at(project, module, span)
    start = moved(module.tree.span(node).start, sites.edits(finding))
    fixed = sites.after(finding)
    there = sites.module(fixed, finding)
    twin = call_at(fixed, there, Span(start, start + 1), ast.unparse(node.func))
    return (
        Goal(project, module, node, _holder(module, node) if built else ""),
        Goal(fixed, there, twin, _holder(there, twin) if built else ""),
    )


def _holder(module: Module, node: ast.Call) -> str:
    """The place that a call's value is assigned to."""
    for each in reversed(leading(module.tree.root, node)):
        if isinstance(each, ast.Assign):
            return ast.unparse(each.targets[0])
        if isinstance(each, ast.AnnAssign):
            return ast.unparse(each.target)
    return ""


def _before(goal: Goal, case: Case, found: Plan) -> Outcome | None:
    found.assumed.update(dict.fromkeys(case.outcome.assumed))
    try:
        return under(goal, case.chosen)
    except Unknown as error:
        found.detail = f"before: {error}"
        return None


Pairs = list[tuple[Case, Outcome | None]]


def _field_subjects(finding: Finding, pairs: Pairs, _goal: Goal) -> Iterator[Subject]:
    assert finding.fix is not None
    written = " ".join(edit.text for edit in finding.fix.edits)
    changed: dict[str, None] = {}
    for case, before in pairs:
        fields = case.outcome.fields or {}
        if before is None or before.fields is None:
            changed.update((name, None) for name in fields if name in written)
            continue
        for name in (*fields, *before.fields):
            if fields.get(name) != before.fields.get(name):
                changed[name] = None
    return (Field(name, (name,)) for name in changed)


def _region_subjects(_finding: Finding, pairs: Pairs, goal: Goal) -> Iterator[Subject]:
    region, device = Region(around(goal.project, goal.module, goal.node)), Device()
    changed = [(case, before) for case, before in pairs if before is not None and before.fields and case.outcome.fields]
    moved_device = any(_differ(device, *pair) for pair in changed)
    yield device if moved_device and not any(_differ(region, *pair) for pair in changed) else region


def _switch_subjects(_finding: Finding, pairs: Pairs, _goal: Goal) -> Iterator[Subject]:
    ranks = Ranks("found_inf", ())
    if any(before is not None and ranks.state(before) != ranks.state(case.outcome) for case, before in pairs):
        yield ranks
    else:
        yield Switch("scaler", ("enabled", "device"))


def _try(found: Plan, subject: Subject, pairs: Pairs, sites: Sites, roles: Roles) -> None:
    """Fill in the trials of a subject: over the values of its knob, or of the literal that the fix writes."""
    base = pairs[0][0]
    moving = [case for case, _ in pairs[1:] if subject.state(case.outcome) != subject.state(base.outcome)]
    knobs = [knob for knob in dict.fromkeys(case.varied for case in moving) if _is_setting(knob, pairs, roles)]
    free = {knob: _coupled(knob, subject, pairs) for knob in knobs}
    found.subject = subject.name
    if knobs:
        found.knob = next((knob for knob in knobs if not free[knob]), knobs[0])
        found.coupled = free[found.knob]
        chosen = [pair for pair in pairs if pair[0].varied in ("", found.knob)]
    else:
        names = list(_settings(sites, found.finding))
        several = len({subject.literal(case.outcome) for case in (base, *moving)} - {""}) > 1
        if names and not several and not any(roles.flag(name) or _has_a_value(name, base, found) for name in names):
            found.lost = f"no value of `{names[0]}` reaches `{subject.name}`"
        chosen = [(case, before) for case, before in pairs if before is None or _differ(subject, case, before)]
    for case, before in chosen:
        value = case.chosen.get(found.knob)
        spelled = roles.dtype(value) if isinstance(value, str) else value.name if isinstance(value, Dtype) else None
        if spelled and torch_dtype(spelled) is None:
            # a name such as fp8 stands for no dtype of its own
            continue
        intended = subject.intended(spelled if found.knob else None, case.outcome)
        if not intended or (found.knob and not spelled and not isinstance(value, bool)):
            continue
        if before is not None and subject.kept(before, case.outcome):
            continue
        try:
            looks = (subject.look(before) if before is not None else None, subject.look(case.outcome))
        except Unknown as error:
            found.reason, found.detail = Reason.UNEVALUABLE, str(error)
            return
        attempt = Attempt(shown(value) if found.knob else "", intended, *looks)
        if attempt not in found.attempts:
            found.attempts.append(attempt)
    if not found.attempts and not found.lost:
        found.lost = SAME


def _has_a_value(name: str, base: Case, found: Plan) -> bool:
    """Whether a fix reads a setting whose value the code says by itself, so that nothing can vary it."""
    assert found.finding.fix is not None
    written = " ".join(KEYWORD.sub("", edit.text) for edit in found.finding.fix.edits)
    word = re.compile(rf"\b{re.escape(name)}\b")
    return bool(word.search(written)) and not any(map(word.search, base.chosen))


def _differ(subject: Subject, case: Case, before: Outcome) -> bool:
    return subject.state(case.outcome) != subject.state(before)


def _is_setting(knob: str, pairs: Pairs, roles: Roles) -> bool:
    """Whether the values of a knob name dtypes, or switch something on and off."""
    values = [case.chosen.get(knob) for case, _ in pairs if case.varied in ("", knob)]
    named = [value for value in values if isinstance(value, Dtype) or (isinstance(value, str) and roles.dtype(value))]
    return len(named) >= 2 or all(isinstance(value, bool) for value in values)


def _coupled(knob: str, subject: Subject, pairs: Pairs) -> str:
    """Another dtype field that a knob of a policy moves."""
    base = pairs[0][0].outcome.fields or {}
    for case, _ in pairs[1:]:
        if case.varied != knob or isinstance(subject, Region | Switch):
            continue
        for name, value in (case.outcome.fields or {}).items():
            if name not in subject.parts and isinstance(value, Dtype | bool) and value != base.get(name):
                return name
    return ""


def _settings(sites: Sites, finding: Finding) -> Iterator[str]:
    """The names of the settings that a finding speaks of."""
    for position in finding.settings:
        text = sites.text(position)
        word = FLAG.search(text) or WORD.search(text)
        if word:
            yield word[1].replace("-", "_")
