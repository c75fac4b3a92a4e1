"""The edits that the checks share: an argument added to a call, its value replaced, the data of a parameter cast."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from dtypelint.facts import Argument, Cast, Form, Role, Setting, Sink, Target
from dtypelint.finding import Edit, Fix, Location, Related, Safety, Span

_LOOSE = re.compile(r"\b(?:if|else|or|lambda|:=)\b")
_LOOSER = re.compile(r"\b(?:and|not|in|is)\b|[<>=]")


def add_argument(sink: Sink, name: str, text: str) -> Edit | None:
    """Add `name=text` in the layout of the call; None when there is no place for it."""
    return add_arguments(sink, {name: text})


def add_arguments(sink: Sink, values: Mapping[str, str]) -> Edit | None:
    """Add several arguments in one place; None when there is none."""
    slot = sink.slot
    if slot is None or sink.location is None:
        return None
    parts = [f"{slot.before}{name}={text}{slot.after}" for name, text in values.items()]
    place = Location(sink.location.path, Span(slot.offset, slot.offset))
    return Edit(place, ("" if slot.before else ", ").join(parts))


def replace_value(sink: Sink, argument: Argument, text: str) -> Edit | None:
    """Put another value in place of an argument's; None when it is not written in the call."""
    if not argument.written or sink.location is None:
        return None
    return Edit(Location(sink.location.path, argument.span), text)


def in_torch(sink: Sink, *names: str) -> tuple[dict[str, str], tuple[Edit, ...]] | None:
    """What members of torch are called at a sink, and the edits that import it; None where its name is taken."""
    called: dict[str, str] = {}
    edits: dict[Edit, None] = {}
    for name in names:
        found = sink.imports.get("torch", name, sink.span.start)
        if found is None:
            return None
        called[name] = found[0]
        edits.update(dict.fromkeys(found[1]))
    return called, tuple(edits)


def rival(best: Setting, found: Iterable[Setting], *roles: Role) -> str | None:
    """Why a fix cannot choose: another setting that is as near and means as much; `roles` mean the same."""
    same = roles if best.role in roles else (best.role,)
    for other in found:
        if other.role in same and other.hop == best.hop and other.name != best.name:
            return f"`{best.read}` and `{other.read}` are both in reach"
    return None


def field_fix(
    sink: Sink,
    best: Setting,
    found: Iterable[Setting],
    description: str,
    make: Callable[[str], Edit | None],
    *,
    flag: bool = False,
) -> tuple[Fix | None, str | None]:
    """Give a field of a policy a setting, or why not; `make` turns the text that reads it into the edit.

    `flag` says that the field takes a flag.
    """
    withheld = rival(best, found)
    if withheld:
        return None, withheld
    if best.form is Form.FLAG and not flag:
        return None, f"`{best.read}` is a flag, not a dtype"
    if best.unkept:
        return None, f"`{best.read}` is a {best.kind}: {best.unkept}"
    text = best.read if flag else best.text
    if text is None or (best.form is Form.STRING and text == best.read):
        return None, f"no way is known to turn `{best.read}` into a dtype here"
    edit = make(text)
    if edit is None:
        return None, "the arguments are not written in this call"
    edits = (edit, *best.stored)
    if flag or is_dtype(sink, best):
        return Fix(description.format(text), Safety.SAFE, edits), None
    return Fix(f"{description.format(text)}; it must be a dtype", Safety.UNSAFE, edits), None


def literal_fix(
    sink: Sink, name: str, description: str, make: Callable[[str], Edit | None]
) -> tuple[Fix | None, str | None]:
    """Write a member of torch where no setting says it: never safe."""
    named = in_torch(sink, name)
    if named is None:
        return None, "`torch` is the name of something else here"
    called, imported = named
    edit = make(called[name])
    if edit is None:
        return None, "the arguments are not written in this call"
    return Fix(description.format(called[name]), Safety.UNSAFE, (*imported, edit)), None


def is_dtype(sink: Sink, setting: Setting) -> bool:
    """Whether what a setting is read as is known to be a dtype: by its type, a conversion, or a sibling that is passed like it."""
    if setting.form is Form.DTYPE or setting.constants or (setting.text != setting.read and not setting.stored):
        return True
    return any(argument.value.settings for argument in sink.arguments if argument.name in sink.api.roles)


def is_given(sink: Sink, setting: Setting) -> bool:
    """Whether a test on the way to a sink says that a setting is not None."""
    names = {setting.read, setting.text}
    for condition in sink.around.conditions:
        left, _, right = condition.text.partition(" is ")
        if condition.text in names if condition.holds else left in names and right in ("None", "not None"):
            return True
    return False


def joined(one: str, other: str) -> str:
    """Two conditions that must both hold."""
    return f"({one}) and {other}" if _LOOSE.search(_top(one)) else f"{one} and {other}"


def compared(text: str, other: str) -> str:
    """The condition that two values differ."""
    loose = _LOOSE.search(_top(text)) or _LOOSER.search(_top(text))
    return f"({text}) != {other}" if loose else f"{text} != {other}"


def _top(text: str) -> str:
    """A text without what stands in brackets and strings."""
    text = re.sub(r"""'[^']*'|"[^"]*\"""", "", text)
    before = ""
    while before != text:
        before, text = text, re.sub(r"[(\[{][^()\[\]{}]*[)\]}]", "", text)
    return text


def declared(setting: Setting) -> Related:
    """The related place of a setting's declaration."""
    return Related(setting.declared, f"`{setting.name}` declared here ({setting.kind})")


def data_cast(path: str, cast: Cast) -> tuple[Fix | None, str | None]:
    """Cast the data of a parameter or buffer in place, or why not.

    After sharding only its wrapper would change (FACTS H4): there the whole module is cast, where the loop does no less.
    """
    if cast.target is Target.STATE:
        return (
            None,
            "the values of a state dict are other tensors than the parameters: cast the module, or assign to the key",
        )
    if cast.target not in (Target.PARAMETER, Target.BUFFER):
        return None, f"`{cast.receiver}` is a tensor that the loop does not own: nothing says where the result belongs"
    if cast.after_sharding is not None and cast.whole is not None:
        span, text = cast.whole
        return Fix(f"cast the module: `{text}`", Safety.UNSAFE, (Edit(Location(path, span), text),)), None
    if cast.after_sharding is not None:
        return None, (
            f"`{cast.after_name}` comes before: a sharded parameter keeps the dtype of its local shard; "
            f"cast before `{cast.after_name}`"
        )
    data = cast.receiver if cast.receiver.endswith(".data") else f"{cast.receiver}.data"
    what = cast.what.removeprefix(".data")
    return Fix(f"cast `{data}`", Safety.SAFE, (Edit(Location(path, cast.span), f"{data} = {data}{what}"),)), None
