"""Autocast regions: what was asked for, and what is in effect."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from dtypelint.runtime.recorder import Recorder
from dtypelint.smoke.probes.stages import Elsewhere, Stage

WIDTH = 8


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """A matrix product inside the region; `fields` is None where there is no region at all.

    `around` are the regions that it lies in, the outermost first; with a `place` the product is computed there, and a
    region for another device stays one.
    """
    notes: dict[str, str] = {}
    place = job.get("place", device)
    weights = job.get("weights", torch.float32)
    linear = nn.Linear(WIDTH, WIDTH).to(place, weights)
    recorder = Recorder()
    with ExitStack() as stack:
        for depth, each in enumerate((*job.get("around", ()), job)):
            if each["fields"] is not None:
                region = _region(dict(each["fields"]), each["asked"], job.get("place"), device, notes, inner=depth > 0)
                try:
                    stack.enter_context(region)
                except Exception as error:
                    raise Stage("enter", error) from error
        notes["enabled"] = str(torch.is_autocast_enabled(place))
        with recorder:
            linear(torch.randn(2, WIDTH, device=place, dtype=weights))
    notes["matmul"] = "+".join(recorder.dtypes("matmul"))
    return notes


def _region(
    fields: dict[str, Any], asked: str, place: str | None, device: str, notes: dict[str, str], *, inner: bool
) -> Any:
    """The region that was asked for, on the device that is there; its default dtype stays that of the asked device."""
    wanted = fields.pop("device_type", None)
    if asked == "unknown":
        asked = place or (device if device != "cpu" else "cuda")
        notes["assumed"] = f"the device of the region is taken to be {asked}"
    used = asked if place else device
    if asked != used:
        dtype = fields.get("dtype")
        if asked != "cpu" and dtype in (torch.float32, torch.float64) and fields.get("enabled", True) is True:
            # on CUDA this casts 16-bit inputs up, on a CPU it switches the region off
            raise Elsewhere("needs-cuda")
        notes["substituted"] = f"{asked} by {used}"
        if dtype is None:
            # a region inside another one of its device takes the dtype of that one
            fields["dtype"] = torch.get_autocast_dtype(used if inner else asked)
    try:
        return torch.autocast(**fields) if wanted is None else torch.autocast(used, **fields)
    except Exception as error:
        raise Stage("construct", error) from error
