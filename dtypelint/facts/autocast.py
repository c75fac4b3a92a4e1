"""What the autocast checks share: its device, whether it is a guard, the settings that fit, and the repair."""

from __future__ import annotations

from dtypelint.facts import Argument, Form, Kind, Role, Setting, Sink, asks_for_one
from dtypelint.facts.edits import add_argument, replace_value
from dtypelint.finding import Edit, Fix, Safety

_ROLES = (Role.AUTOCAST, Role.PARAM, Role.GENERAL)


def device(sink: Sink) -> str:
    """The device type, where it is written out; empty when it is computed."""
    fixed = sink.api.extra.get("device")
    if fixed:
        return str(fixed)
    argument = sink.get("device_type")
    if argument is None:
        return ""
    only = {o.text for o in argument.value.origins}
    return only.pop().partition(":")[0] if len(only) == 1 and argument.value.origins[0].kind is Kind.STRING else ""


def is_guard(sink: Sink) -> bool:
    """Whether `enabled` turns the region off, asks for one dtype, or follows from a tensor."""
    argument = sink.get("enabled")
    if argument is None:
        return False
    origins = (*argument.value.origins, *argument.value.chosen_by)
    if all(o.kind is Kind.BOOL for o in origins):
        return any(o.text == "False" for o in origins)
    return asks_for_one(argument.speaks) or any(o.kind is Kind.DERIVED for o in origins)


def candidates(sink: Sink, flags: bool = False) -> list[Setting]:
    """The settings that an autocast could follow: one that it asks about first, then by role, then nearest."""
    found = [s for s in sink.reach if s.role in _ROLES or (s.tested and s.role is not Role.OTHER)]
    found = [s for s in found if flags or s.form is not Form.FLAG]
    switches = ("use_amp", "amp", "enable_amp", "autocast", "use_autocast", "enable_autocast", "amp_enabled")
    found = [s for s in found if s.name not in switches]
    return sorted(found, key=lambda s: (not s.tested, _ROLES.index(s.role) if s.role in _ROLES else 9, s.hop))


def follows(sink: Sink, settings: list[Setting]) -> bool:
    """Whether a region takes its dtype from one of some settings."""
    argument = sink.get("dtype")
    origins = (*argument.value.origins, *argument.value.chosen_by) if argument is not None else ()
    return any(o.kind is Kind.SETTING and o.text == s.read for o in origins for s in settings)


def autocast_fix(sink: Sink, argument: Argument | None, found: list[Setting]) -> tuple[Fix | None, str | None]:
    """Take the dtype from the nearest setting; autocast is off where it says float32."""
    best = found[0]
    rivals = [s for s in found[1:] if s.role is best.role and s.hop == best.hop and s.name != best.name]
    if rivals:
        return None, f"`{best.read}` and `{rivals[0].read}` are both in reach"
    if best.hop == 5:
        return None, f"`{best.read}` is a {best.kind}: keep it on the object there and use it here"
    if best.text is None or (best.form in (Form.STRING, Form.FLAG) and best.text == best.read):
        return None, f"no way is known to turn `{best.read}` into a dtype here"
    old = argument.value.hardcoded if argument is not None else None
    text = best.text
    if best.optional:
        if old is None:
            return None, f"`{best.read}` may be None"
        text = f"{best.text} or torch.{old}"
    edits: list[Edit | None] = []
    test = f"{_bracketed(text)} != torch.float32"
    enabled = sink.get("enabled")
    if argument is not None:
        edits.append(replace_value(sink, argument, text))
        if enabled is None:
            edits.append(add_argument(sink, "enabled", test))
    elif enabled is None:
        both = add_argument(sink, "dtype", text)
        slot = sink.slot
        if both is not None and slot is not None:
            separator = slot.before or ", "
            both = Edit(
                both.location, f"{slot.before}dtype={text}, enabled={test}{slot.after}" if separator else both.text
            )
        edits.append(both)
    else:
        edits.append(add_argument(sink, "dtype", text))
    if enabled is not None:
        edits.append(replace_value(sink, enabled, f"{_bracketed(enabled.text)} and {test}"))
    if any(e is None for e in edits):
        return None, "the arguments are not written in this call"
    safe = sink.around.scaler is not None
    return (
        Fix(
            f"follow `{best.read}`" + ("" if safe else "; float16 needs a gradient scaler and may converge worse"),
            Safety.SAFE if safe else Safety.UNSAFE,
            tuple(e for e in edits if e is not None),
        ),
        None,
    )


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text and not text.endswith(")") else text
