"""What is observed of a constructor: how a case asks for it, what it is made from, and how it is driven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dtypelint.smoke.plans import RAISES, Look, encoded
from dtypelint.smoke.symbols import Dtype, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dtypelint.smoke.evaluate import Outcome

# which observation of the policy probe shows what a field does
POLICY = {
    "param_dtype": "all_gather",
    "reduce_dtype": "reduce_scatter",
    "output_dtype": "output",
    "buffer_dtype": "buffer",
    "cast_forward_inputs": "forward_input",
    "cast_root_forward_inputs": "root_input",
    "keep_low_precision_grads": "grad",
}
REGION = ("dtype", "enabled")


class Subject:
    """What is observed of a constructor: how a case asks for it, what it is made from, and how it is driven."""

    def __init__(self, name: str, parts: tuple[str, ...]) -> None:
        self.name = name
        self.parts = parts

    def state(self, outcome: Outcome) -> tuple[Any, ...]:
        """What decides about the subject, to see whether a knob moves it."""
        fields = outcome.fields
        return (outcome.crash, fields is None, *((fields or {}).get(part) for part in self.parts))

    def literal(self, outcome: Outcome) -> str:
        """What the arguments ask for by themselves."""
        value = (outcome.fields or {}).get(self.parts[0])
        return "" if value is None else shown(value)

    def intended(self, dtype: str | None, outcome: Outcome) -> str:
        """What is asked for: by a setting that names a dtype, else by the arguments."""
        return dtype or self.literal(outcome)

    def kept(self, _before: Outcome, _after: Outcome) -> bool:
        """Whether the fix is not about this value, which only another device can show."""
        return False

    def look(self, outcome: Outcome) -> Look:
        """How it is observed."""
        raise NotImplementedError


class Field(Subject):
    """A field of a policy, or of a constructor that no probe drives."""

    def look(self, outcome: Outcome) -> Look:
        """The operation that follows the field, or the field itself."""
        if outcome.crash:
            return Look(None, text=RAISES + outcome.crash)
        call, fields = outcome.call, outcome.fields or {}
        key = POLICY.get(self.name)
        if call is not None and call.library == "torch" and call.kind == "policy" and key:
            return Look({"probe": "policy", "family": call.family, "fields": encoded(fields)}, key)
        return Look(None, text=shown(fields.get(self.name, "left out")))


class Region(Subject):
    """The dtype of a matrix product inside an autocast, which may lie in others."""

    def __init__(self, around: Sequence[Outcome] = ()) -> None:
        super().__init__("matmul", REGION)
        self._around = around

    def literal(self, outcome: Outcome) -> str:
        """The dtype of the region; float32 where it is off."""
        fields = outcome.fields
        if fields is None or fields.get("enabled", True) in (False, None):
            return "float32"
        dtype = fields.get("dtype")
        return dtype.name if isinstance(dtype, Dtype) else ""

    def kept(self, before: Outcome, after: Outcome) -> bool:
        """A region in float32, which casts up on CUDA and is off on a CPU, as it was before the fix."""
        old, new = before.fields or {}, after.fields or {}
        same = all(old.get(part) == new.get(part) for part in REGION)
        return same and new.get("dtype") == Dtype("float32") and self.literal(after) == "float32"

    def look(self, outcome: Outcome) -> Look:
        """A product inside the region."""
        if outcome.crash:
            return Look(None, text=RAISES + outcome.crash)
        around = [_region(each) for each in self._around]
        return Look({"probe": "autocast", **({"around": around} if around else {}), **_region(outcome)}, "matmul")


class Device(Region):
    """The dtype of a product on the CPU, for a region that names another device or none."""

    def __init__(self) -> None:
        super().__init__()
        self.name, self.parts = "matmul on the cpu", ("device_type",)

    def literal(self, outcome: Outcome) -> str:
        """The dtype of the region; torch's default on the CPU."""
        return super().literal(outcome) or "bfloat16"

    def kept(self, _before: Outcome, _after: Outcome) -> bool:
        """Any dtype but float32, which is what the CPU computes in anyway."""
        return self.literal(_after) == "float32"

    def look(self, outcome: Outcome) -> Look:
        """A product on the CPU inside the region as it is written."""
        look = super().look(outcome)
        return look if look.job is None else Look({**look.job, "place": "cpu"}, look.key)


def _region(outcome: Outcome) -> dict[str, Any]:
    """A region for the driver: its arguments, and the device that it asks for."""
    if outcome.call is None or outcome.fields is None:
        return {"asked": "unknown", "fields": None}
    fields = dict(outcome.fields)
    device = outcome.call.extra.get("device")
    if device:
        fields["device_type"] = device
    asked = str(fields.get("device_type", "unknown")).partition(":")[0]
    if not device and fields.get("device_type") == "unknown":
        fields["device_type"] = asked
    return {"asked": asked, "fields": encoded(fields)}


class Switch(Subject):
    """Whether a scaler scales."""

    def literal(self, outcome: Outcome) -> str:
        """Whether the arguments ask for it."""
        return str(bool((outcome.fields or {}).get("enabled", True)))

    def intended(self, _dtype: str | None, outcome: Outcome) -> str:
        """What the arguments ask for: a dtype that decides about it is none itself."""
        return self.literal(outcome)

    def look(self, outcome: Outcome) -> Look:
        """The scaler itself."""
        if outcome.crash or outcome.call is None:
            return Look(None, text=RAISES + outcome.crash)
        fields = {name: value for name, value in (outcome.fields or {}).items() if name in ("device", "enabled")}
        family = outcome.call.family
        return Look({"probe": "scaler-switch", "family": family, "fields": encoded(fields)}, "enabled")


class Ranks(Subject):
    """Whether a scaler shares with the other ranks that it found an infinity."""

    def state(self, outcome: Outcome) -> tuple[Any, ...]:
        """The class of the scaler."""
        return (outcome.call.family if outcome.call is not None else "",)

    def literal(self, _outcome: Outcome) -> str:
        """What a sharded model needs."""
        return "reduced over the ranks"

    def look(self, outcome: Outcome) -> Look:
        """A step of the scaler on a sharded model."""
        family = outcome.call.family if outcome.call is not None else ""
        return Look({"probe": "scaler-ranks", "family": family}, "found_inf")
