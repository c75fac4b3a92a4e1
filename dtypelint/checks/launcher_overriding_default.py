"""DTL603: see `rules/launcher-overriding-default.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.given import Preset
from dtypelint.finding import Confidence, Edit, Fix, Hit, Related, Safety


def check(facts: Facts) -> Iterator[Hit]:
    seen = set()
    for preset in facts.presets:
        here = preset.declared.path == facts.path
        if here and preset.declared in seen:
            continue
        seen.add(preset.declared)
        related = [Related(preset.location, f"`{preset.read}` handed over here")]
        if not here:
            related = [Related(preset.declared, f"the default is written here ({preset.kind})")]
        fix, withheld = _fix(preset)
        yield Hit(
            preset.declared.span if here else preset.location.span,
            f"the default {preset.default} of `{preset.read}` beats the {preset.argument} of the launcher and its config",
            Confidence.HIGH,
            tuple(related),
            fix,
            withheld,
            settings=(preset.declared,),
        )


def _fix(preset: Preset) -> tuple[Fix | None, str | None]:
    if not preset.alone:
        return None, f"`{preset.read}` is read elsewhere too: let `None` mean the launcher's choice there"
    if not preset.optional:
        return None, "the annotation of the field has no room for `None`"
    return Fix("leave it to the launcher", Safety.SAFE, (Edit(preset.written, "None"),)), None
