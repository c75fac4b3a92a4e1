"""DTL203: see `rules/misplaced-autocast-argument.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Form, Kind, Origin, Role, Sink
from dtypelint.facts.edits import add_argument
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Safety, Span


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast", "scaler"):
        for argument in sink.arguments:
            message = _misplaced(sink, argument)
            if message:
                yield _hit(sink, argument, message)
        if (
            sink.api.kind == "autocast"
            and "device_type" in sink.api.parameters
            and not sink.is_open
            and sink.via in ("call", "held")
        ):
            if sink.get("device_type") is None:
                text = sink.extra.get("device_type", "")
                edit = add_argument(sink, "device_type", text) if text else None
                yield Hit(
                    sink.span,
                    f"`{sink.callee}` is called without `device_type`: TypeError when it runs",
                    Confidence.HIGH,
                    fix=Fix(f"pass `device_type={text}`", Safety.SAFE, (edit,)) if edit else None,
                    withheld=None if edit else "no device is in reach",
                )


def _misplaced(sink: Sink, argument: Argument) -> str:
    origins = argument.value.origins
    dtypes = bool(origins) and all(_is_dtype(o) for o in origins)
    if argument.name == "enabled" and not argument.keyword and dtypes:
        return f"`{argument.text}` lands in `enabled`, the first parameter of `{sink.callee}`: the dtype stays float16"
    if argument.name == "device" and sink.api.kind == "scaler" and not argument.keyword and _is_flag(argument):
        return (
            f"`{argument.text}` lands in `device`, the first parameter of `{sink.callee}`: it never disables the scaler"
        )
    if argument.name == "init_scale" and dtypes:
        return f"`{argument.text}` lands in `init_scale`, the first parameter of `{sink.callee}`"
    if (
        argument.name == "dtype"
        and origins
        and all(o.kind is Kind.DTYPE and o.form is Form.STRING and o.spelled for o in origins)
    ):
        return f"`dtype` of `{sink.callee}` is a string: TypeError when it runs"
    return ""


def _is_dtype(origin: Origin) -> bool:
    if origin.kind is Kind.SETTING:
        return origin.role is not None and origin.form is Form.DTYPE
    if origin.kind is Kind.DERIVED:
        return origin.text.endswith(".dtype")
    return origin.kind is Kind.DTYPE and origin.form is Form.DTYPE


def _is_flag(argument: Argument) -> bool:
    origins = argument.value.origins
    if argument.is_test:
        return True
    return bool(origins) and all(
        o.form is Form.FLAG or o.role is Role.AUTOCAST or _named_like_flag(o.name) for o in origins
    )


def _named_like_flag(name: str) -> bool:
    return name.startswith(("use_", "enable", "is_", "amp")) or name.endswith(("_enabled", "_amp"))


def _hit(sink: Sink, argument: Argument, message: str) -> Hit:
    fix = None
    withheld = None
    place = Location(sink.location.path if sink.location else "", Span(argument.span.start, argument.span.start))
    if argument.name == "enabled" and sink.get("dtype") is None:
        fix = Fix("pass it as `dtype`", Safety.SAFE, (Edit(place, "dtype="),))
    elif argument.name == "device" and sink.get("enabled") is None:
        fix = Fix("pass it as `enabled`", Safety.SAFE, (Edit(place, "enabled="),))
    elif argument.name == "dtype":
        torch = argument.value.origins[0].text
        fix = Fix(f"pass `torch.{torch}`", Safety.SAFE, (Edit(Location(place.path, argument.span), f"torch.{torch}"),))
    else:
        withheld = f"`{sink.callee}` takes no dtype here"
    return Hit(argument.span, message, Confidence.HIGH, fix=fix, withheld=withheld)
