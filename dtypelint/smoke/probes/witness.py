"""The arithmetic of a reduction over two real ranks, each a process of its own: NCCL on two GPUs, else gloo."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from dtypelint.smoke.probes import processes
from dtypelint.smoke.probes.stages import Elsewhere, Stage

RANKS = 2
LIMIT = 120.0
WIDTH = 4
# their mean is 0.5 in bfloat16 and 0.5009765625 in every wider dtype
GRADIENTS = (1.0, 2.0**-9)


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """The mean that a policy makes of two gradients."""
    if device == "cuda" and torch.cuda.device_count() < RANKS:
        raise Elsewhere("needs-2-gpus")
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "store"))
        jobs = [{**job, "probe": "witness-rank", "rank": rank, "store": store} for rank in range(RANKS)]
        ranks = [processes.start(each, device) for each in jobs]
        try:
            answers = [processes.answer(rank, LIMIT) for rank in ranks]
        except subprocess.TimeoutExpired as error:
            raise Stage("witness", error) from error
        finally:
            for rank in ranks:
                rank.kill()
    if "seen" not in answers[0]:
        raise Stage("witness", RuntimeError(answers[0].get("error", "")))
    return dict(answers[0]["seen"])


def rank(job: dict[str, Any], device: str) -> dict[str, str]:
    """One rank: its own gradient, reduced with the other one's."""
    number = job["rank"]
    if device == "cuda":
        torch.cuda.set_device(number)
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, rank=number, world_size=RANKS, store=dist.FileStore(job["store"], RANKS))  # type: ignore[attr-defined]
    model: nn.Module = nn.Linear(WIDTH, WIDTH, bias=False).to(device)
    nn.init.constant_(model.weight, 0.5)  # type: ignore[arg-type]
    model = _sharded(model, job, device)
    output = model(torch.full((1, WIDTH), GRADIENTS[number], device=device))
    torch.autograd.backward(output.float().sum())
    gradient: Any = next(model.parameters()).grad
    shard = gradient.to_local() if hasattr(gradient, "to_local") else gradient
    return {"mean": repr(float(shard.flatten()[0])), "backend": backend}


def _sharded(model: nn.Module, job: dict[str, Any], device: str) -> nn.Module:
    if job["family"] == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

        policy = MixedPrecision(**job["fields"])
        place = torch.device(device, job["rank"]) if device == "cuda" else torch.device(device)
        return FullyShardedDataParallel(model, mixed_precision=policy, device_id=place, use_orig_params=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    fully_shard(model, mesh=init_device_mesh(device, (RANKS,)), mp_policy=MixedPrecisionPolicy(**job["fields"]))
    return model
