"""DTL601: see `rules/unread-precision-setting.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.arrivals import Declaration, Proof, Unread
from dtypelint.finding import Confidence, Hit, Related

_CONFIDENCE = {Proof.READERS: Confidence.HIGH, Proof.USERS: Confidence.MEDIUM, Proof.NONE: Confidence.LOW}


def check(facts: Facts) -> Iterator[Hit]:
    for unread in facts.unread:
        related = []
        if unread.given is not None:
            related.append(Related(unread.given, "a value is passed here"))
        if unread.twin is not None:
            related.append(Related(unread.twin, f"another `{unread.name}` is read here"))
        yield Hit(unread.span, _message(unread), _CONFIDENCE[unread.proof], tuple(related))


def _message(unread: Unread) -> str:
    match unread.kind:
        case Declaration.FIELD:
            return f"nothing reads `{unread.name}` of `{unread.owner}`: the setting has no effect"
        case Declaration.OPTION:
            return f"nothing reads the option `{unread.name}`: it has no effect"
        case Declaration.PARAMETER:
            return f"`{unread.owner}` never reads its `{unread.name}`: what callers pass has no effect"
        case Declaration.LOCAL:
            return f"`{unread.name}` is worked out from a setting and never read: the setting does not arrive"
