"""Autocast regions: what was asked for, and what is in effect."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import nn

from dtypelint.runtime.recorder import Recorder
from dtypelint.smoke.probes.stages import Elsewhere, Stage

WIDTH = 8


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """A matrix product inside the region; `fields` is None where there is no region at all."""
    fields = job["fields"]
    notes: dict[str, str] = {}
    region: Any = nullcontext() if fields is None else _region(dict(fields), job["asked"], device, notes)
    weights = job.get("weights", torch.float32)
    linear = nn.Linear(WIDTH, WIDTH).to(device, weights)
    recorder = Recorder()
    try:
        with region:
            notes["enabled"] = str(torch.is_autocast_enabled(device))
            with recorder:
                linear(torch.randn(2, WIDTH, device=device, dtype=weights))
    except Exception as error:
        raise Stage("enter", error) from error
    notes["matmul"] = "+".join(recorder.dtypes("matmul"))
    return notes


def _region(fields: dict[str, Any], asked: str, device: str, notes: dict[str, str]) -> Any:
    """The region that was asked for, on the device that is there; the default dtype stays that of the asked device."""
    wanted = fields.pop("device_type", None)
    if asked == "unknown":
        asked = device if device != "cpu" else "cuda"
        notes["assumed"] = f"the device of the region is taken to be {asked}"
    enabled = fields.get("enabled", True)
    if asked != device:
        dtype = fields.get("dtype")
        if asked != "cpu" and dtype in (torch.float32, torch.float64) and enabled is True:
            # on CUDA this casts 16-bit inputs up, on a CPU it switches the region off
            raise Elsewhere("needs-cuda")
        notes["substituted"] = f"{asked} by {device}"
        if dtype is None:
            fields["dtype"] = torch.get_autocast_dtype(asked)
    try:
        return torch.autocast(**fields) if wanted is None else torch.autocast(device, **fields)
    except Exception as error:
        raise Stage("construct", error) from error
