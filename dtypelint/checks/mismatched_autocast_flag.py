"""DTL204: see `rules/mismatched-autocast-flag.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Form, Kind, Setting, Sink
from dtypelint.facts.autocast import device
from dtypelint.facts.edits import add_argument, declared, literal_fix, replace_value
from dtypelint.finding import Confidence, Fix, Hit, Related

_WORDS = {"bfloat16": ("bf16", "bfloat16"), "float16": ("fp16", "float16", "half")}


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast"):
        dtype = _dtype(sink)
        enabled = sink.get("enabled")
        if dtype not in _WORDS or enabled is None:
            continue
        other = _contradicts(enabled, dtype)
        lost = next(d for d in _WORDS if d != dtype)
        served = any(lost in c.speaks for c in sink.around.conditions) or enabled.speaks != {dtype}
        choice = next((s for s in sink.reach if s.tested and not served and _offers(s, dtype)), None)
        if choice is not None:
            yield Hit(
                sink.span,
                f"autocast is on only for {dtype}: `{choice.read}` may be {_WORDS[lost][0]} too, which computes in float32",
                Confidence.HIGH,
                (declared(choice),),
                withheld="whether another region serves that choice cannot be told",
                settings=(choice.declared,),
            )
        elif other:
            fix, withheld = _fix(sink, enabled, other)
            yield Hit(
                sink.span,
                f"autocast computes in {dtype} and is enabled by `{enabled.text}`, which asks for {other}",
                Confidence.HIGH,
                (Related(enabled.value.origins[0].location, "the guard comes from here"),),
                fix,
                withheld,
            )


def _dtype(sink: Sink) -> str | None:
    argument = sink.get("dtype")
    if argument is None:
        return None if sink.is_open or device(sink) in ("", "cpu", "hpu", "xla") else "float16"
    return argument.value.hardcoded


def _offers(setting: Setting, dtype: str) -> bool:
    """Whether the choices of a setting hold the dtype and the other 16-bit one."""
    return {dtype, *_WORDS} <= set(setting.constants)


def _fix(sink: Sink, enabled: Argument, other: str) -> tuple[Fix | None, str | None]:
    """The dtype that a flag names; a comparison may have meant the other choice."""
    if any(o.form is not Form.FLAG for o in enabled.value.origins):
        return None, "whether the guard or the dtype is meant cannot be told"
    given = sink.get("dtype")
    return literal_fix(
        sink,
        other,
        "compute in `{}`",
        lambda text: replace_value(sink, given, text) if given is not None else add_argument(sink, "dtype", text),
    )


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
