"""The edits that the checks share: an argument added to a call, or its value replaced."""

from __future__ import annotations

from dtypelint.facts import Argument, Setting, Sink
from dtypelint.finding import Edit, Location, Related, Span


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
