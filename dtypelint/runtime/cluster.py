"""A cluster of many ranks in one process: collectives are issued and move nothing, so dtypes can be read anywhere."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.distributed.device_mesh import DeviceMesh


@contextmanager
def fake_cluster(world_size: int = 8, *, device: str = "cpu", fake_tensors: bool = False) -> Iterator[DeviceMesh]:
    """Make a process group of `world_size` ranks, and the mesh to shard over.

    With `fake_tensors` no tensor that is made inside has memory, so models of any size fit. The values that collectives
    bring are meaningless either way. RuntimeError where a process group exists already.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if dist.is_initialized():
        raise RuntimeError("a process group exists already: a fake cluster needs a process without one")
    dist.init_process_group("fake", rank=0, world_size=world_size, store=FakeStore())
    try:
        # the mesh checks its ranks with real tensors, so it is made first
        mesh = init_device_mesh(device, (world_size,))
        with ExitStack() as stack:
            if fake_tensors:
                from torch._subclasses.fake_tensor import FakeTensorMode

                stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
                stack.enter_context(torch.device(device))
            yield mesh
    finally:
        dist.destroy_process_group()
