"""The engine: the dtype is worked out where the model is built, and forgotten there."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from .dtypes import to_dtype
from .settings import EngineSettings


class Engine:
    def __init__(self, model: nn.Module, settings: EngineSettings) -> None:
        self.settings = settings
        self.module = self.build(model)

    def build(self, model: nn.Module) -> nn.Module:
        mixed = self.settings.mixed_precision or {}
        param_dtype = to_dtype(mixed.get("param_dtype", "bf16"))
        reduce_dtype = to_dtype(mixed.get("reduce_dtype", "fp32"))
        policy = MixedPrecisionPolicy(param_dtype=param_dtype, reduce_dtype=reduce_dtype)
        return fully_shard(model, mp_policy=policy)

    def train_step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = self.module(**batch).loss
        loss.backward()
        return loss.detach()
