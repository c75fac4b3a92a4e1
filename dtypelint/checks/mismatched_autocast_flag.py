"""DTL204: see `rules/mismatched-autocast-flag.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Form, Kind, Sink
from dtypelint.finding import Confidence, Hit, Related

_WORDS = {"bfloat16": ("bf16", "bfloat16"), "float16": ("fp16", "float16", "half")}


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        dtype = _dtype(sink)
        enabled = sink.get("enabled")
        if dtype not in _WORDS or enabled is None:
            continue
        other = _contradicts(enabled, dtype)
        if other:
            yield Hit(
                sink.span,
                f"autocast computes in {dtype} and is enabled by `{enabled.text}`, which asks for {other}",
                Confidence.HIGH,
                (Related(enabled.value.origins[0].location, "the guard comes from here"),),
                withheld="whether the guard or the dtype is meant cannot be told",
            )


def _dtype(sink: Sink) -> str | None:
    argument = sink.get("dtype")
    return argument.value.hardcoded if argument is not None else None


def _contradicts(enabled: Argument, dtype: str) -> str:
    """The other dtype, when the guard is one flag or one comparison that speaks of it alone."""
    origins = enabled.value.origins
    spoken = {
        d for d, words in _WORDS.items() for o in origins for w in words if _speaks(o.name, o.text, o.kind, o.form, w)
    }
    negated = "!=" in enabled.text or enabled.text.startswith("not ") or " or " in enabled.text
    return next(iter(spoken)) if len(spoken) == 1 and dtype not in spoken and not negated else ""


def _speaks(name: str, text: str, kind: Kind, form: Form, word: str) -> bool:
    if kind is Kind.DTYPE:
        return text == word
    return kind is Kind.SETTING and form is Form.FLAG and word in name.lower().split("_")
