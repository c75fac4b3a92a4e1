"""The options of a fine-tuning run."""

from dataclasses import dataclass

import torch


@dataclass
class Options:
    param_dtype: torch.dtype = torch.bfloat16
    reduce_dtype: torch.dtype = torch.float32
    upcast_trainable: bool = True
