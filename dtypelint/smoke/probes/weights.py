"""Many small updates: how many weights of an average, or of an optimizer, they move; and gradients that underflow."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch import nn

UPDATES = 50
SIZES = (64, 65)
DECAY = 0.9999
DRIFT = 1e-3
RATE = 1e-5
LOSS = 1e-6


def average(job: dict[str, Any], device: str) -> dict[str, str]:
    """How many weights of a running average move while those of the model drift."""
    model = _weights(device)
    held = model.to(job["dtype"])
    start = held.clone()
    for _ in range(UPDATES):
        model += DRIFT * torch.randn(SIZES, device=device)
        held.mul_(DECAY).add_(model, alpha=1 - DECAY)
    return {**_moved(start, held), "assumed": f"the average has a decay of {DECAY}"}


def masters(job: dict[str, Any], device: str) -> dict[str, str]:
    """How many weights an optimizer moves that holds them in a dtype."""
    weight = nn.Parameter(_weights(device).to(job["dtype"]))
    start = weight.detach().clone()
    optimizer = torch.optim.AdamW([weight], lr=RATE, weight_decay=0.0, foreach=False)
    for _ in range(UPDATES):
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    return {**_moved(start, weight.detach()), "assumed": f"the learning rate is {RATE:g}"}


def underflow(job: dict[str, Any], device: str) -> dict[str, str]:
    """How many gradients of a small loss are zero, computed in a dtype with or without a gradient scaler."""
    linear = nn.Linear(*SIZES, bias=False).to(device)
    region = torch.autocast(device, dtype=job["dtype"]) if job["dtype"] != torch.float32 else nullcontext()
    scaler = torch.amp.GradScaler(device, enabled=job["scaled"])
    with region:
        # a layer whose loss is that of another network, scaled down
        loss = linear(torch.randn(8, SIZES[0], device=device)).float().pow(2).mean() * LOSS
    torch.autograd.backward(scaler.scale(loss))
    gradient = linear.weight.grad
    assert gradient is not None
    zero, whole = int((gradient == 0).sum()), gradient.numel()
    return {
        "arrive": "most" if 2 * zero < whole else "few",
        "seen": f"{zero} of {whole} gradients are zero",
        "witness": "value",
    }


def _weights(device: str) -> torch.Tensor:
    return 0.02 * torch.randn(SIZES, generator=torch.Generator().manual_seed(0)).to(device)


def _moved(start: torch.Tensor, end: torch.Tensor) -> dict[str, str]:
    moved, whole = int((start != end).sum()), end.numel()
    seen = f"{UPDATES} updates move {moved} of {whole} weights"
    return {"moved": "all" if moved == whole else "not all", "seen": seen, "witness": "value"}
