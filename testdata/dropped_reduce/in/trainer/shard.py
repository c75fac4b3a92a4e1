"""Shard the blocks of a model, each with the policy of the run."""

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from .config import Precision


def build_policy(precision: Precision) -> MixedPrecisionPolicy:
    return MixedPrecisionPolicy(param_dtype=precision.param_dtype)


def shard(model: nn.Module, precision: Precision) -> nn.Module:
    policy = build_policy(precision)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def upcast_trainable(model: nn.Module) -> None:
    for _, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter = parameter.to(torch.float32)
