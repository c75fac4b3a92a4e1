"""What the checks of training loops share: scalers that are switched off, and statements that are added or removed."""

from __future__ import annotations

import re

from dtypelint.facts import Facts, Kind
from dtypelint.facts.steps import Branch, Event
from dtypelint.finding import Edit, Fix, Location, Safety, Span

_PRECISION = re.compile(
    r"amp\b|amp_|half|fp16|bf16|fp32|float16|bfloat16|float32|precision|dtype|autocast|scal|mixed", re.IGNORECASE
)
# libraries that take over a part of the step together with the precision
_OWNERS = re.compile(r"apex|deepspeed|xla|accelerat", re.IGNORECASE)


def is_precision(branch: Branch) -> bool:
    """Whether a test may pick a precision or the scaler, and no library that does the rest of the step too."""
    return bool(_PRECISION.search(branch.text)) and not _OWNERS.search(branch.text)


def chosen(event: Event, other: Event) -> tuple[Branch, ...]:
    """The tests on the way to an event, and not to another, that may pick a precision, the scaler or a library."""
    return tuple(b for b in event.path if b not in other.path and (_PRECISION.search(b.text) or _OWNERS.search(b.text)))


def shares(event: Event, other: Event) -> bool:
    """Whether one run comes to both events: no test of a precision leads to one of them alone, or one implies the other."""
    return event.meets(other) and (event.sides(other) or not (chosen(event, other) and chosen(other, event)))


def disabled(facts: Facts, event: Event) -> bool:
    """Whether the scaler of an event is switched off by a literal."""
    return event.made is not None and disabled_call(facts, event.made)


def disabled_call(facts: Facts, made: Location) -> bool:
    """Whether the call at a place makes a scaler that is switched off by a literal."""
    sink = next((s for s in facts.of("scaler") if s.location == made), None)
    enabled = sink.get("enabled") if sink is not None else None
    return enabled is not None and all(o.kind is Kind.BOOL and o.text == "False" for o in enabled.value.origins)


def insert_before(event: Event, text: str) -> Edit:
    """Put a statement before that of an event, in its block."""
    start = event.statement.span.start
    return Edit(Location(event.statement.path, Span(start, start)), text + event.lead)


def insert_after(event: Event, text: str) -> Edit | None:
    """Put a statement behind that of an event, in its block; None behind a compound one or in the middle of a line."""
    if event.end is None or event.lead == "; ":
        return None
    return Edit(Location(event.statement.path, Span(event.end, event.end)), event.lead + text)


def remove(event: Event) -> Edit | None:
    """Take out the statement of an event, a comment behind it kept; None where its block would be empty."""
    if event.alone or event.end is None or event.lead == "; ":
        return None
    start = event.statement.span.start - len(event.lead.encode())
    return Edit(Location(event.statement.path, Span(start, event.statement.span.end)), "")


def fix_of(description: str, edit: Edit | None) -> tuple[Fix | None, str | None]:
    """An unsafe fix of one edit, or why there is none."""
    if edit is None:
        return None, "the statement stands on a line or in a block of its own kind: edit it by hand"
    return Fix(description, Safety.UNSAFE, (edit,)), None
