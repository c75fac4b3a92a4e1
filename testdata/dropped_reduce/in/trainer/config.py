"""What a user of the trainer can set."""

from dataclasses import dataclass

import torch


@dataclass
class Precision:
    param_dtype: torch.dtype = torch.bfloat16
    reduce_dtype: torch.dtype = torch.float32
