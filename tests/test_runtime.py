"""The assertions that users run in their own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from torch import nn  # noqa: E402
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, fully_shard  # noqa: E402

from dtypelint import runtime  # noqa: E402
from dtypelint.runtime import (  # noqa: E402
    NotConfirmable,
    Observed,
    PrecisionError,
    assert_effective_precision,
    assert_policy,
    fake_cluster,
    record_precision,
)

HERE = Path(__file__).parent.parent
BF16, FP32 = torch.bfloat16, torch.float32


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))


@pytest.fixture
def mesh() -> Iterator[Any]:
    with fake_cluster(8) as found:
        yield found


def sharded(mesh: Any, **policy: Any) -> nn.Module:
    model = small()
    for part in (*model.children(), model):
        fully_shard(part, mesh=mesh, mp_policy=MixedPrecisionPolicy(**policy))
    return model


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        (MixedPrecisionPolicy(BF16, FP32), {"param": BF16, "reduce": "float32"}),
        (MixedPrecisionPolicy(BF16, FP32), {"wide_reduce": True}),
        (MixedPrecision(BF16, FP32, BF16), {"param": "torch.bfloat16", "buffer": "bfloat16", "wide_reduce": True}),
        (MixedPrecisionPolicy(output_dtype=FP32), {"output": FP32}),
        (MixedPrecisionPolicy(reduce_dtype=FP32), {"wide_reduce": True}),
    ],
)
def test_a_policy_that_is_right(policy: Any, wanted: dict[str, Any]) -> None:
    assert_policy(policy, **wanted)


@pytest.mark.parametrize(
    ("policy", "wanted", "words"),
    [
        (MixedPrecisionPolicy(BF16), {"reduce": FP32}, "reduce_dtype is not float32"),
        (MixedPrecisionPolicy(BF16, BF16), {"reduce": FP32}, "reduce_dtype is not float32"),
        (MixedPrecisionPolicy(BF16), {"wide_reduce": True}, "reduce_dtype is not set"),
        (MixedPrecisionPolicy(BF16, BF16), {"wide_reduce": True}, "bfloat16 is not wider than param_dtype bfloat16"),
        (MixedPrecision(BF16, FP32), {"buffer": FP32}, "buffer_dtype: None"),
    ],
)
def test_a_policy_that_is_wrong(policy: Any, wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(PrecisionError, match=words):
        assert_policy(policy, **wanted)


@pytest.mark.parametrize("policy", [MixedPrecisionPolicy(BF16), object()])
def test_a_policy_that_cannot_say(policy: Any) -> None:
    with pytest.raises(NotConfirmable, match=f"{type(policy).__name__} "):
        assert_policy(policy, buffer=FP32)


def test_a_dtype_that_is_none() -> None:
    with pytest.raises(ValueError, match="'float33' is no dtype"):
        assert_policy(MixedPrecisionPolicy(BF16), param="float33")


def test_a_sharded_model_is_read(mesh: Any) -> None:
    model = sharded(mesh, param_dtype=BF16, reduce_dtype=FP32)
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = (torch.randn(2, 8),)
    wanted: dict[str, Any] = {"reduce": "float32", "compute": BF16, "gather": BF16, "params": FP32, "grads": FP32}
    observed = assert_effective_precision(model, optimizer, inputs=inputs, optimizer_state=FP32, **wanted)
    assert observed == Observed(("float32",), ("bfloat16",), ("bfloat16",), ("float32",), ("float32",), ("float32",))


def test_a_dropped_reduction_fails_with_the_table(mesh: Any) -> None:
    model = sharded(mesh, param_dtype=BF16)
    with pytest.raises(PrecisionError) as error:
        assert_effective_precision(model, inputs={"input": torch.randn(2, 8)}, reduce=FP32, compute=BF16)
    assert str(error.value) == (
        "reduce is bfloat16, not float32\n  reduce: bfloat16\n  gather: bfloat16\n  compute: bfloat16\n"
        "  params: float32\n  grads: float32\n  optimizer_state: nothing seen"
    )


def test_nothing_seen_is_no_evidence() -> None:
    with pytest.raises(NotConfirmable, match="nothing was seen of reduce"):
        assert_effective_precision(small(), inputs=(torch.randn(2, 8),), reduce=FP32)
    with record_precision() as recording:
        pass
    with pytest.raises(NotConfirmable, match="compute"):
        recording.observed().check(compute=BF16)


def test_one_rank_sends_nothing_and_says_so() -> None:
    with fake_cluster(1) as mesh:
        model = sharded(mesh, param_dtype=BF16, reduce_dtype=FP32)
        observed = assert_effective_precision(model, inputs=(torch.randn(2, 8),), reduce=FP32)
    assert observed.notes == ("reduce is read off the copy into the buffer: with one rank nothing is sent",)


def test_a_local_shard_that_lies_is_read_itself(mesh: Any) -> None:
    model = small().to(BF16)
    fully_shard(model, mesh=mesh)
    for each in model.parameters():
        each.data = each.data.to(FP32)
    assert {each.dtype for each in model.parameters()} == {FP32}
    with record_precision() as recording:
        pass
    assert recording.observed(model).params == ("bfloat16",)


def test_an_own_step(mesh: Any) -> None:
    model = sharded(mesh, param_dtype=BF16)

    def step(model: nn.Module) -> Any:
        with torch.autocast("cpu", dtype=torch.float16):
            return model(torch.randn(2, 8)).float().pow(2).mean()

    def whole(model: nn.Module) -> None:
        step(model).backward()

    assert assert_effective_precision(model, step=step, compute=torch.float16).grads == ("float32",)
    assert assert_effective_precision(model, step=whole, compute=torch.float16).reduce == ("bfloat16",)


def test_outputs_of_any_shape() -> None:
    class Model(nn.Module):
        def __init__(self, output: Any) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.output = output

        def forward(self, x: Any) -> Any:
            return self.output(self.linear(x))

    x = (torch.ones(1, 4),)
    for output in (
        lambda y: {"a": y, "b": [y.detach(), 3]},
        lambda y: SimpleNamespace(loss=y.sum()),
        lambda y: (y, None),
    ):
        assert assert_effective_precision(Model(output), inputs=x, compute=FP32).grads == ("float32",)
    with pytest.raises(NotConfirmable, match="give a `step`"):
        assert_effective_precision(Model(lambda y: y.detach()), inputs=x, compute=FP32)


def test_a_model_without_memory() -> None:
    with fake_cluster(8, fake_tensors=True) as mesh:
        model = nn.Sequential(*[nn.Linear(65_536, 65_536, bias=False) for _ in range(4)])
        for part in (*model, model):
            fully_shard(part, mesh=mesh, mp_policy=MixedPrecisionPolicy(BF16, FP32))
        wanted: dict[str, Any] = {"reduce": FP32, "compute": BF16, "params": FP32}
        assert_effective_precision(model, inputs=(torch.randn(1, 65_536),), **wanted)


@pytest.mark.parametrize(
    "more",
    [{}, {"inputs": (), "step": small}, {"inputs": ()}, {"inputs": (), "wire": FP32}, {"inputs": (), "reduce": None}],
)
def test_a_wrong_question(more: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        assert_effective_precision(nn.Flatten(), **more)


def test_a_cluster_in_a_cluster(mesh: Any) -> None:
    with pytest.raises(RuntimeError, match="exists already"), fake_cluster(2):
        raise AssertionError


def test_the_names_are_there() -> None:
    for name in runtime.__all__:
        assert getattr(runtime, name)
    with pytest.raises(AttributeError, match="nowhere"):
        getattr(runtime, "nowhere")  # noqa: B009


TESTS = """
import sys

def test_lazy(precision):
    assert "torch" not in sys.modules

def test_model(precision):
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    with precision.cluster(8) as mesh:
        model = torch.nn.Linear(8, 8)
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
        precision.policy(policy, param="bfloat16")
        fully_shard(model, mesh=mesh, mp_policy=policy)
        with precision.record() as recording:
            model(torch.ones(1, 8))
        assert recording.observed().compute == ("bfloat16",)
        precision.check(model, inputs=(torch.ones(1, 8),), reduce="float32")
"""


def test_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dtypelint.runtime.plugin", "--tb=short", "test_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "PrecisionError: reduce is bfloat16, not float32" in done.stdout
