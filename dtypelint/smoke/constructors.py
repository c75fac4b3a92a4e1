"""Plans for what a constructor is given: sharding policies, autocast regions, the switch of a scaler."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from dtypelint.finding import Span
from dtypelint.smoke.evaluate import Case, Goal, Outcome, cases, under
from dtypelint.smoke.plans import RAISES, Attempt, Look, Plan, encoded
from dtypelint.smoke.records import Reason
from dtypelint.smoke.sites import call_at, moved
from dtypelint.smoke.slices import leading
from dtypelint.smoke.symbols import Dtype, Unknown, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dtypelint.facts.python.module import Module
    from dtypelint.facts.roles import Roles
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

# which observation of the policy probe shows what a field does
POLICY = {
    "param_dtype": "all_gather",
    "reduce_dtype": "reduce_scatter",
    "output_dtype": "output",
    "buffer_dtype": "buffer",
    "cast_forward_inputs": "forward_input",
    "cast_root_forward_inputs": "root_input",
    "keep_low_precision_grads": "grad",
}
REGION = ("dtype", "enabled")
BUILT = "built here"
SAME = "the constructor is given the same as before"
WORD = re.compile(r"([A-Za-z_]\w*)")
FLAG = re.compile(r"""["']--?([\w-]+)["']""")


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of a constructor's arguments is proven."""
    found = Plan(finding)
    try:
        before, after = _goals(sites, finding)
        made = cases(after)
    except (Unknown, RecursionError) as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    pairs = [(case, _before(before, case, found)) for case in made]
    kind = next((case.outcome.call.kind for case in made if case.outcome.call is not None), "call")
    subjects = {"autocast": _region_subjects, "scaler": _switch_subjects}.get(kind, _field_subjects)
    for subject in subjects(finding, pairs):
        _try(found, subject, pairs, sites, after.project.tracer.roles)
        break
    else:
        found.lost = SAME
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


class Subject:
    """What is observed of a constructor: how a case asks for it, what it is made from, and how it is driven."""

    def __init__(self, name: str, parts: tuple[str, ...]) -> None:
        self.name = name
        self.parts = parts

    def state(self, outcome: Outcome) -> tuple[Any, ...]:
        """What decides about the subject, to see whether a knob moves it."""
        fields = outcome.fields
        return (outcome.crash, fields is None, *((fields or {}).get(part) for part in self.parts))

    def literal(self, outcome: Outcome) -> str:
        """What the arguments ask for by themselves."""
        value = (outcome.fields or {}).get(self.parts[0])
        return "" if value is None else shown(value)

    def intended(self, dtype: str | None, outcome: Outcome) -> str:
        """What is asked for: by a setting that names a dtype, else by the arguments."""
        return dtype or self.literal(outcome)

    def kept(self, _before: Outcome, _after: Outcome) -> bool:
        """Whether the fix is not about this value, which only another device can show."""
        return False

    def look(self, outcome: Outcome) -> Look:
        """How it is observed."""
        raise NotImplementedError


class Field(Subject):
    """A field of a policy, or of a constructor that no probe drives."""

    def look(self, outcome: Outcome) -> Look:
        """The operation that follows the field, or the field itself."""
        if outcome.crash:
            return Look(None, text=RAISES + outcome.crash)
        call, fields = outcome.call, outcome.fields or {}
        key = POLICY.get(self.name)
        if call is not None and call.library == "torch" and call.kind == "policy" and key:
            return Look({"probe": "policy", "family": call.family, "fields": encoded(fields)}, key)
        return Look(None, text=shown(fields.get(self.name, "left out")))


class Region(Subject):
    """The dtype of a matrix product inside an autocast."""

    def literal(self, outcome: Outcome) -> str:
        """The dtype of the region; float32 where it is off."""
        fields = outcome.fields
        if fields is None or fields.get("enabled", True) in (False, None):
            return "float32"
        dtype = fields.get("dtype")
        return dtype.name if isinstance(dtype, Dtype) else ""

    def kept(self, before: Outcome, after: Outcome) -> bool:
        """A region in float32, which casts up on CUDA and is off on a CPU, as it was before the fix."""
        old, new = before.fields or {}, after.fields or {}
        same = all(old.get(part) == new.get(part) for part in REGION)
        return same and new.get("dtype") == Dtype("float32") and self.literal(after) == "float32"

    def look(self, outcome: Outcome) -> Look:
        """A product inside the region."""
        call = outcome.call
        if outcome.crash:
            return Look(None, text=RAISES + outcome.crash)
        if call is None or outcome.fields is None:
            return Look({"probe": "autocast", "asked": "unknown", "fields": None}, "matmul")
        fields = dict(outcome.fields)
        device = call.extra.get("device")
        if device:
            fields["device_type"] = device
        asked = str(fields.get("device_type", "unknown")).partition(":")[0]
        if not device and fields.get("device_type") == "unknown":
            fields["device_type"] = asked
        return Look({"probe": "autocast", "asked": asked, "fields": encoded(fields)}, "matmul")


class Switch(Subject):
    """Whether a scaler scales."""

    def literal(self, outcome: Outcome) -> str:
        """Whether the arguments ask for it."""
        return str(bool((outcome.fields or {}).get("enabled", True)))

    def intended(self, _dtype: str | None, outcome: Outcome) -> str:
        """What the arguments ask for: a dtype that decides about it is none itself."""
        return self.literal(outcome)

    def look(self, outcome: Outcome) -> Look:
        """The scaler itself."""
        if outcome.crash or outcome.call is None:
            return Look(None, text=RAISES + outcome.crash)
        fields = {name: value for name, value in (outcome.fields or {}).items() if name in ("device", "enabled")}
        family = outcome.call.family
        return Look({"probe": "scaler-switch", "family": family, "fields": encoded(fields)}, "enabled")


class Ranks(Subject):
    """Whether a scaler shares with the other ranks that it found an infinity."""

    def state(self, outcome: Outcome) -> tuple[Any, ...]:
        """The class of the scaler."""
        return (outcome.call.family if outcome.call is not None else "",)

    def literal(self, _outcome: Outcome) -> str:
        """What a sharded model needs."""
        return "reduced over the ranks"

    def look(self, outcome: Outcome) -> Look:
        """A step of the scaler on a sharded model."""
        family = outcome.call.family if outcome.call is not None else ""
        return Look({"probe": "scaler-ranks", "family": family}, "found_inf")


def _field_subjects(finding: Finding, pairs: Pairs) -> Iterator[Subject]:
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


def _region_subjects(_finding: Finding, _pairs: Pairs) -> Iterator[Subject]:
    yield Region("matmul", REGION)


def _switch_subjects(_finding: Finding, pairs: Pairs) -> Iterator[Subject]:
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
        if names and not any(roles.flag(name) for name in names):
            found.lost = f"no value of `{names[0]}` reaches `{subject.name}`"
        chosen = [(case, before) for case, before in pairs if before is None or _differ(subject, case, before)]
    for case, before in chosen:
        value = case.chosen.get(found.knob)
        spelled = roles.dtype(value) if isinstance(value, str) else value.name if isinstance(value, Dtype) else None
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
        found.attempts.append(Attempt(shown(value) if found.knob else "", intended, *looks))
    if not found.attempts and not found.lost:
        found.lost = SAME


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
