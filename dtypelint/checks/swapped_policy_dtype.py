"""DTL102: see `rules/swapped-policy-dtype.md`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dtypelint.facts import POLICY_ROLES, Argument, Facts, Form, Role, Setting, Sink
from dtypelint.facts.edits import declared, field_fix, replace_value
from dtypelint.finding import Confidence, Fix, Hit, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("policy", "forward"):
        found = [(_hit(sink, name, argument, right), right[0].used) for name, argument, right in _misfed(sink)]
        crossed = [hit.fix for hit, used in found if used and hit.fix is not None]
        for hit, used in found:
            # settings in each other's place change places at once: one edit alone would give one setting both fields
            yield replace(hit, fix=_joined(crossed)) if used and hit.fix is not None else hit


def _misfed(sink: Sink) -> Iterator[tuple[str, Argument, list[Setting]]]:
    """The fields that get the setting of another role, with the settings that would be right."""
    for name, role_name in sink.api.roles.items():
        role = Role(role_name)
        argument = sink.get(name)
        if argument is None or (sink.api.kind == "policy" and sink.around.pure):
            continue
        if sink.api.kind == "policy":
            right = [s for s in sink.settings(role) if s.hop <= 4] if _wrong(argument, role) else []
        else:
            right = [s for s in sink.reach if s.name == name and s.hop <= 4]
        arrives = any(s.used and not _is_misplaced(sink, s) for s in right)
        if right and not _is_island(sink) and not arrives and not _overlaps(argument, right):
            yield name, argument, right


def _joined(fixes: list[Fix]) -> Fix:
    safety = Safety.SAFE if all(fix.safety is Safety.SAFE for fix in fixes) else Safety.UNSAFE
    return Fix(" and ".join(fix.description for fix in fixes), safety, tuple(e for fix in fixes for e in fix.edits))


def _is_misplaced(sink: Sink, setting: Setting) -> bool:
    """Whether the only arguments that take a setting are those of other roles: two settings in each other's place."""
    takers = [a for a in sink.arguments if any(o.text == setting.read for o in (*a.value.origins, *a.value.chosen_by))]
    if sink.api.kind == "policy":
        return bool(takers) and all(
            a.name in sink.api.roles and _wrong(a, Role(sink.api.roles[a.name])) for a in takers
        )
    return bool(takers) and all(a.named == setting.name != a.name for a in takers)


def _wrong(argument: Argument, role: Role) -> bool:
    """Whether the name that is passed, or every leaf of the value, is a setting of another role of a policy."""
    if argument.named_role in POLICY_ROLES:
        return argument.named_role is not role
    origins = argument.value.origins
    return bool(origins) and all(
        o.role in POLICY_ROLES and o.role is not role and o.form is not Form.FLAG for o in origins
    )


def _is_island(sink: Sink) -> bool:
    """Whether the policy keeps fp32 for a part of the model, whose outputs go back to the dtype around it."""
    param = sink.of(Role.PARAM)
    return param is not None and param.value.hardcoded == "float32"


def _overlaps(argument: Argument, right: list[Setting]) -> bool:
    return any(o.text == s.read for s in right for o in (*argument.value.origins, *argument.value.chosen_by))


def _hit(sink: Sink, name: str, argument: Argument, right: list[Setting]) -> Hit:
    best = right[0]
    flags = best.form is Form.FLAG and all(o.form is Form.FLAG for o in argument.value.origins)
    fix, withheld = field_fix(
        sink, best, right, "pass `{}`", lambda text: replace_value(sink, argument, text), flag=flags
    )
    fed = argument.value.origins[0].text
    where = "passed elsewhere" if best.used else "unused"
    return Hit(
        argument.span,
        f"`{name}` is fed from `{fed}` although `{best.read}` is in reach and {where}: the setting does not arrive",
        Confidence.HIGH,
        (declared(best),),
        fix,
        withheld,
        settings=(best.declared,),
    )
