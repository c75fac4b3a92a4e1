"""DTL208: see `rules/hardcoded-autocast-device.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts, Kind, Sink
from dtypelint.facts.edits import replace_value
from dtypelint.finding import Confidence, Fix, Hit, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    for sink in facts.of("autocast") if facts.devices else ():
        argument = sink.get("device_type")
        if argument is None or not argument.written or not _is_cuda(argument) or _asks(sink):
            continue
        text = sink.extra.get("device_type", "")
        edit = replace_value(sink, argument, text) if text else None
        yield Hit(
            argument.span,
            "autocast is for cuda only, and the code runs on other devices too: there it has no effect",
            Confidence.LOW,
            (Related(facts.devices[0], "another device here"),),
            Fix(f"take the device type from `{text}`", Safety.UNSAFE, (edit,)) if edit else None,
            None if edit else "no device type is in reach, or more than one",
        )


def _is_cuda(argument: Argument) -> bool:
    origins = argument.value.origins
    spelled = bool(origins) and all(o.kind is Kind.STRING and o.text.strip("'\"") == "cuda" for o in origins)
    return spelled and not argument.value.chosen_by


def _asks(sink: Sink) -> bool:
    """Whether something makes sure that the region is on a GPU, or switches it off."""
    enabled = sink.get("enabled")
    tests = [c.text for c in sink.around.conditions] + [sink.extra.get("picked", ""), enabled.text if enabled else ""]
    off = enabled is not None and enabled.text == "False"
    return off or any("cuda" in test or "device" in test or "gpu" in test for test in tests)
