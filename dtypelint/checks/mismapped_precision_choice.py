"""DTL610: see `rules/mismapped-precision-choice.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import LOW_PRECISION, Facts, Role
from dtypelint.facts.choices import Mapped
from dtypelint.finding import Confidence, Hit, Related

# other spellings name a mode, whose dtypes differ by what they are for
_PLAIN = frozenset({"bf16", "bfloat16", "fp16", "float16", "half", "fp32", "float32"})
_ROLES = (Role.GENERAL, Role.PARAM, Role.AUTOCAST, Role.MASTER)


def check(facts: Facts) -> Iterator[Hit]:
    for each in facts.mapped:
        if _is_wrong(each):
            message = f"{each.place} gives `{each.name}` the dtype {each.given}, which is not what the name says"
            yield Hit(each.span, message, Confidence.HIGH)
    for lost in facts.missing:
        if lost.wanted in LOW_PRECISION:
            yield Hit(
                lost.span,
                f"`{lost.subject}` may be `{lost.name}`, which no branch names: it silently becomes {lost.fallback}",
                Confidence.HIGH,
                (Related(lost.declared, f"`{lost.name}` is a choice"),),
            )
    for raw in facts.raw:
        yield Hit(
            raw.span,
            f"`{raw.name}` is tested as it was given, where it may be None: `{raw.resolved}` holds what counts",
            Confidence.MEDIUM,
            (Related(raw.assigned, f"`{raw.resolved}` is resolved here"),),
        )


def _is_wrong(each: Mapped) -> bool:
    """Whether a name gets a dtype that no reading of the name allows.

    A name of 16 bits beside float32 is a choice (weights that stay wide), so is a table that never says what its names say.
    """
    if each.name not in _PLAIN and not each.name.startswith(("use_", "enable_")):
        return False
    swapped = {each.wanted, each.given} <= LOW_PRECISION
    lowered = each.wanted == "float32" and each.given in LOW_PRECISION
    agreed = each.right > each.wrong if each.role is None else each.role in _ROLES
    return (swapped or lowered) and agreed
