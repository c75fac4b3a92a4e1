"""What the autocast checks share: its device, whether it is a guard, the settings that fit, and the repair."""

from __future__ import annotations

from dtypelint.facts import Argument, Form, Kind, Role, Setting, Sink, asks_for_one
from dtypelint.facts.edits import add_arguments, compared, in_torch, is_dtype, is_given, joined, replace_value, rival
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
    best = _usable(found)
    withheld = rival(best, found, Role.AUTOCAST, Role.PARAM)
    if withheld:
        return None, withheld
    if best.unkept:
        return None, f"`{best.read}` is a {best.kind}: {best.unkept}"
    if best.text is None or (best.form in (Form.STRING, Form.FLAG) and best.text == best.read):
        return None, f"no way is known to turn `{best.read}` into a dtype here"
    old = argument.value.hardcoded if argument is not None else None
    optional = best.optional and not is_given(sink, best)
    if optional and old is None:
        return None, f"`{best.read}` may be None"
    named = in_torch(sink, "float32", *([old] if old else []))
    if named is None:
        return None, "`torch` is the name of something else here"
    names, imported = named
    text = f"{best.text} or {names[old]}" if optional and old else best.text
    edits = _edits(sink, argument, text, compared(best.text, names["float32"]))
    if edits is None:
        return None, "the arguments are not written in this call"
    return _graded(sink, best, (*imported, *edits, *best.stored)), None


def _usable(found: list[Setting]) -> Setting:
    """The setting to follow: the best one, a local that holds it already, or one that is as near and can be read as a dtype."""
    best = found[0]
    for other in found:
        holds = any(place == best.declared for place, _ in other.hops)
        if other.hop == 1 and other.text is not None and (other.dead or holds):
            return other
    if best.text is None:
        return next((other for other in found if other.text is not None and other.hop <= max(best.hop, 5)), best)
    return best


def _edits(sink: Sink, argument: Argument | None, text: str, test: str) -> tuple[Edit, ...] | None:
    """The dtype put in or replaced, the test joined to an `enabled` that is there."""
    enabled = sink.get("enabled")
    edits: list[Edit | None] = []
    missing = {}
    if argument is not None:
        edits.append(replace_value(sink, argument, text))
    else:
        missing["dtype"] = text
    if enabled is None:
        missing["enabled"] = test
    elif test not in enabled.text:
        edits.append(replace_value(sink, enabled, test if enabled.text == "True" else joined(enabled.text, test)))
    if missing:
        edits.append(add_arguments(sink, missing))
    found = tuple(edit for edit in edits if edit is not None)
    return found if len(found) == len(edits) else None


def _graded(sink: Sink, best: Setting, edits: tuple[Edit, ...]) -> Fix:
    """Safe where the setting is known to be a dtype that needs no scaler, or one is there."""
    doubts = []
    if not is_dtype(sink, best):
        doubts.append(f"`{best.read}` must be a dtype")
    if sink.around.scaler is None and "float16" in (best.constants or ("float16",)):
        doubts.append("float16 needs a gradient scaler and may converge worse")
    return Fix(
        "; ".join([f"follow `{best.read}`{_kept(best)}", *doubts]), Safety.UNSAFE if doubts else Safety.SAFE, edits
    )


def _kept(setting: Setting) -> str:
    return f", kept as `{setting.text}`" if setting.stored else ""
