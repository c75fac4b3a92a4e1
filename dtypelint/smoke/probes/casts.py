"""Casts of tensors and parameters, acted out on a small model: what is stored afterwards, and do small updates arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dtypelint.runtime.recorder import local, name
from dtypelint.smoke.probes import groups
from dtypelint.smoke.probes.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 4
UPDATES = 40
SMALL = 1e-6


class Model(nn.Module):
    """Weights that are all one, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.ones_(self.linear.weight)
        self.register_buffer("scale", torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The product, in whatever dtype the weight has."""
        y: torch.Tensor = self.linear(x.to(self.linear.weight.dtype))
        return y


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """Act out a cast, and read the dtype of what it was to change."""
    dtype = job["dtype"]
    start = torch.bfloat16 if dtype != torch.bfloat16 else torch.float32
    acts: dict[str, Callable[[], dict[str, str]]] = {
        "parameters": lambda: _module(job, start, device),
        "buffers": lambda: _module(job, start, device),
        "module": lambda: _module(job, start, device),
        "state": lambda: _state(job, start, device),
        "tensor": lambda: _tensor(job, start, device),
    }
    return acts[job["container"]]()


def _tensor(job: dict[str, Any], start: torch.dtype, device: str) -> dict[str, str]:
    held = torch.ones(WIDTH, dtype=start, device=device)
    if "data" in _words(job["action"]):
        held = nn.Parameter(held)
    held = _act(job["action"], held, None, job["dtype"])
    return {"dtype": name(held.dtype), "device": held.device.type}


def _state(job: dict[str, Any], start: torch.dtype, device: str) -> dict[str, str]:
    state = Model().to(device, start).state_dict()
    for value in state.values():
        _act(job["action"], value, None, job["dtype"])
    return {"dtype": "+".join(sorted({name(value.dtype) for value in state.values()}))}


def _module(job: dict[str, Any], start: torch.dtype, device: str) -> dict[str, str]:
    model: nn.Module = Model().to(device, start)
    for step in job["past"]:
        model = _step(step, model, device)
    try:
        if job["action"][0] == "do" and job["action"][1][-1] == ["module"]:
            _act(job["action"], None, model, job["dtype"])
        else:
            for item in list(model.buffers() if job["container"] == "buffers" else model.parameters()):
                _act(job["action"], item, model, job["dtype"])
    except Exception as error:
        raise Stage("cast", error) from error
    if job["container"] == "buffers":
        return {"dtype": "+".join(sorted({name(local(each).dtype) for each in model.buffers()}))}
    if not {"fully_shard", "FullyShardedDataParallel"} & set(job["past"]):
        model = _step("fully_shard", model, device)
    shards = [local(each) for each in model.parameters()]
    dtypes = "+".join(sorted({name(each.dtype) for each in shards}))
    arrives = _arrives(shards)
    # float32 resolves the updates next to one, no 16-bit dtype does
    lies = (dtypes == "float32") is not arrives and dtypes in ("float32", "bfloat16", "float16")
    return {"dtype": f"{dtypes} (updates {'arrive' if arrives else 'vanish'})" if lies else dtypes, "witness": "value"}


def _step(step: str, model: nn.Module, device: str) -> nn.Module:
    """Something that happens to the model before the cast, or after it."""
    if step == "optimizer":
        torch.optim.SGD(model.parameters(), lr=SMALL)
        return model
    if step == "backward":
        model(torch.ones(1, WIDTH, device=device)).float().sum().backward()
        return model
    world = groups.fake()
    if step == "FullyShardedDataParallel":
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel(model, device_id=torch.device(device), use_orig_params=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=init_device_mesh(device, (world,)))
    return model


def _arrives(shards: list[torch.Tensor]) -> bool:
    """Whether many updates below the resolution of bfloat16 move what is stored."""
    before = [shard.clone() for shard in shards]
    weights = [nn.Parameter(shard) for shard in shards]
    optimizer = torch.optim.SGD(weights, lr=SMALL)
    for _ in range(UPDATES):
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step()
    return any(bool((shard != old).any()) for shard, old in zip(shards, before, strict=True))


def _act(action: list[Any], item: Any, module: nn.Module | None, dtype: Any) -> Any:
    """Run the statement of a scene; the tensor that its name holds afterwards."""
    kind, *rest = action
    if kind == "do":
        _value(rest[0], item, module, dtype)
    elif kind == "bind":
        return _value(rest[0], item, module, dtype)
    else:
        _value(rest[0], item, module, dtype).data = _value(rest[1], item, module, dtype)
    return item


def _value(node: list[Any], item: Any, module: nn.Module | None, dtype: Any) -> Any:
    kind, *rest = node
    if kind == "item":
        return item
    if kind == "module":
        return module
    inner = _value(rest[-1], item, module, dtype)
    if kind == "cast":
        method = getattr(inner, rest[0])
        if rest[0] in ("to", "type"):
            return method(dtype if dtype is not None else "meta")
        return method(torch.empty(0, dtype=dtype)) if rest[0] == "type_as" else method()
    if kind == "parameter":
        return nn.Parameter(inner)
    return inner.data if kind == "data" else getattr(inner, kind)()


def _words(node: Any) -> set[str]:
    return {node} if isinstance(node, str) else set().union(*map(_words, node))
