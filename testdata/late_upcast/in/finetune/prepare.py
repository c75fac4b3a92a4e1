"""Shard a model whose weights were loaded in 16 bit; the trainable ones shall be float32."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from .options import Options


def prepare(model: nn.Module, options: Options) -> nn.Module:
    policy = MixedPrecisionPolicy(param_dtype=options.param_dtype, reduce_dtype=options.reduce_dtype)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    if options.upcast_trainable:
        for _, weight in model.named_parameters():
            if weight.requires_grad:
                weight = weight.to(torch.float32)
    return model
