"""A sharding policy, driven through a small model: the dtypes that each part of it really uses."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dtypelint.runtime.recorder import Recorder, local, name
from dtypelint.smoke.probes import groups
from dtypelint.smoke.probes.stages import Elsewhere, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 8


class Block(nn.Module):
    """A linear layer and a buffer that write down what reaches them; it casts its input itself, so nothing clashes."""

    def __init__(self, notes: dict[str, str]) -> None:
        super().__init__()
        self.notes = notes
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.buffer: torch.Tensor
        self.register_buffer("buffer", torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Note the dtypes of input, weight and buffer."""
        self.notes.setdefault("forward_input", name(x.dtype))
        self.notes.setdefault("unsharded_param", name(self.linear.weight.dtype))
        self.notes.setdefault("buffer", name(self.buffer.dtype))
        y: torch.Tensor = self.linear(x.to(self.linear.weight.dtype))
        return y * self.buffer.to(y.dtype)


class Root(nn.Module):
    """Two blocks, and a note of what the root itself is given."""

    def __init__(self, notes: dict[str, str]) -> None:
        super().__init__()
        self.notes = notes
        self.blocks = nn.ModuleList([Block(notes), Block(notes)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Note the dtypes of input and output."""
        self.notes["root_input"] = name(x.dtype)
        for block in self.blocks:
            x = block(x)
        return x


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """What a policy of a family does, by the names of the observations."""
    families: dict[str, Callable[[dict[str, Any], str], dict[str, str]]] = {
        "fsdp2": fsdp2,
        "fsdp1": fsdp1,
        "ddp": ddp,
    }
    return families[job["family"]](job["fields"], device)


def fsdp2(fields: dict[str, Any], device: str) -> dict[str, str]:
    """A `MixedPrecisionPolicy` on a flat mesh, and on one of two dimensions for the all-reduce."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    try:
        policy = MixedPrecisionPolicy(**fields)
    except Exception as error:
        raise Stage("construct", error) from error
    world = groups.fake()

    def shard(model: Root, shape: tuple[int, ...]) -> nn.Module:
        mesh = init_device_mesh(device, shape, mesh_dim_names=("replicate", "shard")[-len(shape) :])
        for block in model.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        return model

    seen = step(lambda model: shard(model, (world,)), device)
    hybrid = step(lambda model: shard(model, (2, world // 2)), device)
    return {**seen, "all_reduce": hybrid["all_reduce"]}


def fsdp1(fields: dict[str, Any], device: str) -> dict[str, str]:
    """A `MixedPrecision` of FullyShardedDataParallel."""
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

    try:
        policy = MixedPrecision(**fields)
    except Exception as error:
        raise Stage("construct", error) from error
    groups.fake()
    return step(
        lambda model: FullyShardedDataParallel(
            model, mixed_precision=policy, device_id=torch.device(device), use_orig_params=True
        ),
        device,
    )


def ddp(fields: dict[str, Any], device: str) -> dict[str, str]:
    """Replicas with a policy, or with the communication hook that `hook` names; one real rank."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from torch.nn.parallel import DistributedDataParallel
    from torch.nn.parallel.distributed import _MixedPrecision

    fields = dict(fields)
    hook = fields.pop("hook", None)
    if device == "cpu" and (fields or hook == "bf16_compress_hook"):
        # the copies of a policy are ordered by CUDA events, and the hook asks for NCCL
        raise Elsewhere("needs-cuda")
    policy = _MixedPrecision(**fields) if fields else None
    groups.single(device)

    def replicate(model: Root) -> nn.Module:
        replica = DistributedDataParallel(model, mixed_precision=policy)
        if hook is not None:
            replica.register_comm_hook(None, getattr(default_hooks, hook))
        return replica

    return step(replicate, device)


def step(shard: Callable[[Root], nn.Module], device: str) -> dict[str, str]:
    """Shard the small model, run one step of it and read the dtypes."""
    notes: dict[str, str] = {}
    recorder = Recorder()
    try:
        model = shard(Root(notes).to(device))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
        with recorder:
            output = model(torch.randn(4, WIDTH, device=device))
            notes["output"] = name(output.dtype)
            output.float().sum().backward()
    except Exception as error:
        raise Stage("run", error) from error
    # AdamW refuses gradients that are narrower than their parameters
    with suppress(RuntimeError):
        optimizer.step()
    for kind in ("all_gather", "reduce_scatter", "all_reduce", "reduce_copy", "matmul"):
        notes[kind] = "+".join(recorder.dtypes(kind))
    parameters = [each for each in model.parameters() if each.requires_grad]
    notes["sharded_param"] = joined(local(each) for each in parameters)
    notes["grad"] = joined(local(each.grad) for each in parameters if each.grad is not None)
    states = [value for state in optimizer.state.values() for key, value in state.items() if key != "step"]
    notes["optimizer_state"] = joined(local(each) for each in states if isinstance(each, torch.Tensor))
    return notes


def joined(tensors: Any) -> str:
    """The dtypes of some tensors."""
    return "+".join(sorted({name(each.dtype) for each in tensors}))
