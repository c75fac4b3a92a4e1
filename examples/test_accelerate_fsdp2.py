"""A worked example: what accelerate's FSDP2 preparation does to the weights of a bfloat16 model.

accelerate 1.13.0 says that it casts them to float32 and leaves them in bfloat16; 1.12 and 1.14 do what they say. The set-up of
eight ranks runs in one process, without a GPU:

    pip install 'dtypelint[smoke]' pytest accelerate==1.13.0
    pytest examples/test_accelerate_fsdp2.py
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy

accelerate = pytest.importorskip("accelerate", minversion="1.12")

from accelerate.utils import FullyShardedDataParallelPlugin  # noqa: E402
from accelerate.utils.fsdp_utils import fsdp2_prepare_model  # noqa: E402


def prepared() -> nn.Module:
    """A small model in bfloat16 as `Accelerator.prepare` would hand it back."""
    accelerate.PartialState(cpu=True)
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        cpu_ram_efficient_loading=False,
        mixed_precision_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    )
    accelerator = SimpleNamespace(
        state=SimpleNamespace(fsdp_plugin=plugin),
        mixed_precision="bf16",
        device=torch.device("cpu"),
        torch_device_mesh=None,
        parallelism_config=None,
        is_main_process=True,
    )
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).to(torch.bfloat16)
    result: nn.Module = fsdp2_prepare_model(accelerator, model)
    return result


@pytest.mark.filterwarnings("ignore")
def test_the_weights_that_the_optimizer_sees_are_float32(precision: Any) -> None:
    with precision.cluster(8):
        precision.check(prepared(), inputs=(torch.ones(1, 8),), params="float32", compute="bfloat16", reduce="float32")
