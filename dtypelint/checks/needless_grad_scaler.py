"""DTL403: see `rules/needless-grad-scaler.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import LOW_PRECISION, Condition, Facts, Form, Kind, Role, Setting, Sink
from dtypelint.facts.edits import add_argument, is_dtype, joined, literal_fix, replace_value
from dtypelint.facts.loops import chosen
from dtypelint.facts.steps import Action, Event
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related

_ROLES = (Role.AUTOCAST, Role.GENERAL)
_BF16 = "bfloat16"


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("scaler"):
        if sink.around.inference or sink.api.family == "cpu" or not _on(sink):
            continue
        tests = [c for c in sink.around.conditions if c.granted & LOW_PRECISION == {_BF16}]
        if tests:
            yield _hit(sink, "in a branch for bfloat16", tests[-1].location, "asked here")
        elif not sink.is_open and not any(_asks(c) for c in sink.around.conditions) and not _gated(facts, sink):
            yield from _ungated(facts, sink)


def _ungated(facts: Facts, sink: Sink) -> Iterator[Hit]:
    regions = [s for s in facts.of("autocast") if _near(s, sink)]
    dtypes = [dtype.value.hardcoded if (dtype := s.get("dtype")) is not None else None for s in regions]
    setting = next((s for s in sink.reach if _chooses(s)), None)
    if regions and set(dtypes) == {_BF16} and regions[0].location is not None:
        yield _hit(sink, "beside a region in bfloat16", regions[0].location, "computes in bfloat16")
    elif setting is not None and not any(set(dtypes) == {d} for d in (_BF16, "float16")):
        yield _hit(
            sink, f"whatever `{setting.read}` says", setting.declared, f"`{setting.name}`, {setting.kind}", setting
        )


def _near(region: Sink, scaler: Sink) -> bool:
    """Whether they stand in one class, or in one function."""
    here, there = region.around, scaler.around
    return here.cls == there.cls if there.cls else here.function == there.function


def _chooses(setting: Setting) -> bool:
    """Whether a setting picks the dtype that is computed in, and may pick bfloat16; a far one must say so by its name."""
    known = setting.constants
    near = setting.hop <= 3 or setting.role is Role.AUTOCAST
    may = not known or {_BF16, "float16"} <= set(known)
    return near and may and setting.role in _ROLES and setting.form is not Form.FLAG


def _on(sink: Sink) -> bool:
    """Whether `enabled` is left out, true, or a switch that says nothing of a dtype."""
    enabled = sink.get("enabled")
    if enabled is None:
        return True
    origins = enabled.value.origins
    off = all(o.kind is Kind.BOOL and o.text == "False" for o in origins)
    plain = all(o.kind is Kind.BOOL or o.form is Form.FLAG for o in origins)
    plain &= all(o.role is None for o in enabled.value.chosen_by)
    return not off and plain and not enabled.speaks and not enabled.is_test


def _asks(condition: Condition) -> bool:
    """Whether a test asks for one 16-bit dtype, or hands the precision to something that may."""
    whether_set = any(o.kind is Kind.NONE for o in condition.origins)
    return bool(condition.speaks & LOW_PRECISION) or any(
        o.role in _ROLES and o.form is not Form.FLAG and not condition.speaks and not whether_set
        for o in condition.origins
    )


def _gated(facts: Facts, sink: Sink) -> bool:
    """Whether a test leads to a step with a scaler of this name and not to making it: it may be made and left unused."""
    made = next((e for t in facts.traces for e in t.of(Action.SCALER) if e.location == sink.location), None)
    steps = (e for t in facts.traces for e in t.of(Action.SCALED_STEP, Action.UPDATE, Action.UNSCALE))
    return made is not None and any(
        made.subject and step.subject.rpartition(".")[2] == made.subject.rpartition(".")[2] and _tests(step, made)
        for step in steps
    )


def _tests(step: Event, made: Event) -> bool:
    """Whether the precision is tested on the way to a step, and not only whether there is a scaler."""
    there = {step.subject, f"{step.subject} is None", f"{step.subject} is not None"}
    return any(branch.text not in there for branch in chosen(step, made))


def _hit(sink: Sink, where: str, place: Location, said: str, setting: Setting | None = None) -> Hit:
    fix, withheld = _fix(sink, setting)
    return Hit(
        sink.span,
        f"`{sink.callee}` scales the loss {where}: bfloat16 has the range of float32, so it only costs time and skips steps",
        Confidence.LOW,
        (Related(place, said),),
        fix,
        withheld,
    )


def _fix(sink: Sink, setting: Setting | None) -> tuple[Fix | None, str | None]:
    """Scale for float16 alone: what is saved of the scaler changes with it."""
    if setting is None:
        return None, "which steps use it is not known: take it out by hand"
    if setting.text is None or setting.stored or not is_dtype(sink, setting):
        return None, f"no way is known to turn `{setting.read}` into a dtype here"
    enabled = sink.get("enabled")

    def make(float16: str) -> Edit | None:
        test = f"{setting.text} == {float16}"
        if enabled is None:
            return add_argument(sink, "enabled", test)
        return replace_value(sink, enabled, test if enabled.text == "True" else joined(enabled.text, test))

    return literal_fix(sink, "float16", f"scale only where `{setting.read}` is float16", make)
