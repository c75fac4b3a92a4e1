"""The edits that the checks share: an argument added to a call, its value replaced, the data of a parameter cast."""

from __future__ import annotations

from dtypelint.facts import Argument, Cast, Setting, Sink, Target
from dtypelint.finding import Edit, Fix, Location, Related, Safety, Span


def add_argument(sink: Sink, name: str, text: str) -> Edit | None:
    """Add `name=text` in the layout of the call; None when there is no place for it."""
    slot = sink.slot
    if slot is None or sink.location is None:
        return None
    place = Location(sink.location.path, Span(slot.offset, slot.offset))
    return Edit(place, f"{slot.before}{name}={text}{slot.after}")


def replace_value(sink: Sink, argument: Argument, text: str) -> Edit | None:
    """Put another value in place of an argument's; None when it is not written in the call."""
    if not argument.written or sink.location is None:
        return None
    return Edit(Location(sink.location.path, argument.span), text)


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
