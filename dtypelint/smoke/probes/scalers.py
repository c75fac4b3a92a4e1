"""Gradient scalers: whether one scales, whether its ranks agree, and which updates reach the weights through it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from dtypelint.runtime.recorder import Recorder
from dtypelint.smoke.probes import groups
from dtypelint.smoke.probes.stages import Stage

ROUNDS = 3
RATE = 0.5
GRADIENT = 3.0
BOUND = 1.0
WIDTH = 4


def switch(job: dict[str, Any], device: str) -> dict[str, str]:
    """Whether a scaler scales."""
    fields = dict(job["fields"])
    notes: dict[str, str] = {}
    asked = fields.get("device", "cuda")
    if isinstance(asked, str) and asked != device:
        notes["substituted"] = f"{asked} by {device}"
        fields["device"] = device
    try:
        notes["enabled"] = str(_made(job["family"], fields).is_enabled())
    except Exception as error:
        raise Stage("construct", error) from error
    return notes


def _made(family: str, fields: dict[str, Any]) -> torch.amp.GradScaler:
    if family != "sharded":
        return torch.amp.GradScaler(**fields)
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    groups.fake()
    return ShardedGradScaler(**fields)


def ranks(job: dict[str, Any], device: str) -> dict[str, str]:
    """Whether a scaler tells the other ranks of an FSDP1 model that it found an infinity."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    groups.fake()
    model = FullyShardedDataParallel(
        nn.Linear(WIDTH, WIDTH).to(device), device_id=torch.device(device), use_orig_params=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    scaler = _made(job["family"], {"device": device})
    recorder = Recorder()
    try:
        scaler.scale(model(torch.ones(1, WIDTH, device=device)).sum()).backward()
        with recorder:
            scaler.step(optimizer)
            scaler.update()
    except Exception as error:
        raise Stage("run", error) from error
    shared = any(seen.scalar for seen in recorder.of("all_reduce"))
    return {"found_inf": "reduced over the ranks" if shared else "left to each rank"}


def rounds(job: dict[str, Any], device: str) -> dict[str, str]:
    """How large the updates are that rounds of a training loop make, in units of the right ones.

    `events` are the steps of a round, each with the optimizer that it concerns; the scale grows after every round, so
    that a step which divides by another scale than the loss was multiplied by shows.
    """
    events = [tuple(event) for event in job["events"]]
    names = sorted({name for action, name in events if action != "backward" and name})
    weights = {name: nn.Parameter(torch.zeros(WIDTH, device=device)) for name in names}
    optimizers = {name: torch.optim.SGD([weights[name]], lr=RATE) for name in names}
    scaler = torch.amp.GradScaler(device, init_scale=job["scale"], growth_interval=1)
    clipped = {name for action, name in events if action == "clip"}
    length = GRADIENT * math.sqrt(WIDTH)
    for _ in range(ROUNDS):
        before = {name: weight.detach().clone() for name, weight in weights.items()}
        for optimizer in optimizers.values():
            optimizer.zero_grad()
        try:
            for index, (action, name) in enumerate(events):
                if action == "backward":
                    _backward(scaler if name else None, [weights[each] for each in _fed(events, index)])
                else:
                    _do(action, name, weights, optimizers, scaler)
        except (RuntimeError, AssertionError, ValueError) as error:
            raise Stage("run", error) from error
        for name in names:
            moved = float((before[name] - weights[name].detach()).norm())
            right = RATE * (min(length, BOUND) if name in clipped else length)
            if not math.isclose(moved, right, rel_tol=1e-3):
                return {"updates": f"x{moved / right:.3g}", "witness": "value"}
    return {"updates": "x1", "witness": "value"}


def _fed(events: list[tuple[str, str]], index: int) -> set[str]:
    """The optimizers that a backward pass is for: those that step before the next one, else all."""
    everything = {name for action, name in events if action in ("step", "scaled_step")}
    found: set[str] = set()
    for action, name in events[index + 1 :]:
        if action == "backward":
            break
        if action in ("step", "scaled_step"):
            found.add(name)
    return found or everything


def _backward(scaler: torch.amp.GradScaler | None, weights: list[nn.Parameter]) -> None:
    loss = torch.stack([(weight * GRADIENT).sum() for weight in weights]).sum()
    scaled = scaler.scale(loss) if scaler is not None else loss
    torch.autograd.backward(scaled)


def _do(action: str, name: str, weights: dict[str, Any], optimizers: dict[str, Any], scaler: Any) -> None:
    if action == "unscale":
        scaler.unscale_(optimizers[name])
    elif action == "clip":
        torch.nn.utils.clip_grad_norm_([weights[name]], BOUND)
    elif action == "step":
        optimizers[name].step()
    elif action == "scaled_step":
        scaler.step(optimizers[name])
    elif action == "update":
        scaler.update()
