"""Process groups for one process: a fake one of many ranks, and a real one of one."""

from __future__ import annotations

import torch
import torch.distributed as dist

_state: dict[str, tuple[str, int]] = {}


def fake(world: int | None = None) -> int:
    """Make the default group a fake one; its size, a multiple of the GPUs as a device mesh demands."""
    size = world or 2 * max(2, torch.cuda.device_count())
    if _switch("fake", size):
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", rank=0, world_size=size, store=FakeStore())
    return size


def single(device: str) -> None:
    """Make the default group a real one of one rank."""
    backend = "nccl" if device == "cuda" else "gloo"
    if _switch(backend, 1):
        dist.init_process_group(backend, rank=0, world_size=1, store=dist.HashStore())  # type: ignore[attr-defined]


def _switch(backend: str, world: int) -> bool:
    if _state.get("now") == (backend, world) and dist.is_initialized():
        return False
    if dist.is_initialized():
        dist.destroy_process_group()
    _state["now"] = (backend, world)
    return True
