"""Names of dtypes."""

import torch

_BY_NAME = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def to_dtype(name: str) -> torch.dtype:
    return _BY_NAME[name]
