"""`--import`: a function of the project is run, with its files as they are and as a fix leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from smoking import NEWEST

from dtypelint.cli import main
from dtypelint.smoke.records import Reason
from dtypelint.smoke.session import Session

SHARD = """import torch
from torch.distributed.fsdp import MixedPrecisionPolicy

from trainer.config import Precision


def policy(precision: Precision):
    return MixedPrecisionPolicy(param_dtype=precision.param_dtype)


def region(precision: Precision):
    return torch.autocast("{device}", dtype=torch.float16)
"""
CONFIG = """from dataclasses import dataclass

import torch


@dataclass
class Precision:
    param_dtype: torch.dtype
    reduce_dtype: torch.dtype
"""
BUILD = """import torch

from trainer.config import Precision
from trainer.shard import policy, region

open("ran", "a").write("x")


def build(dtype):
    return policy(Precision(torch.bfloat16, dtype))


def fixed(dtype):
    return policy(Precision(torch.bfloat16, torch.float32))


def enter(dtype):
    return region(Precision(dtype, dtype))


def other(dtype):
    return dtype


def broken(dtype):
    raise KeyError(dtype)


def none():
    return build(torch.float32)
"""


@pytest.fixture
def project(work: Path) -> Path:
    folder = work / "in"
    texts = {
        "pyproject.toml": "",
        "src/trainer/__init__.py": "",
        "src/trainer/config.py": CONFIG,
        "src/trainer/shard.py": SHARD.format(device="cpu"),
        "build.py": BUILD.replace('"ran"', repr(str(work / "ran"))),
        "apart.py": "def build(dtype):\n    return dtype\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def call(*args: str) -> Result:
    return CliRunner().invoke(
        main, ("smoke", "in", "--device", "cpu", "--format", "json", *args), prog_name="dtypelint"
    )


def test_a_policy_follows_what_its_builder_is_given(project: Path) -> None:
    before = (project / "src/trainer/shard.py").read_text()
    result = call("--rule", "DTL101", "--import", "build:build")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["verdict"], row["evidence"], row["subject"]) == ("confirmed", "op", "reduce_dtype")
    trials = {trial["setting"]: (trial["before"], trial["after"]) for trial in row["trials"]}
    assert trials["float32"] == ("bfloat16", "float32")
    assert trials["float16"] == ("bfloat16", "float16")
    assert row["assumed"] == ["`build:build` was imported and run, and hands its dtype to the setting"]
    assert (project.parent / "ran").read_text() == "xx"
    assert (project / "src/trainer/shard.py").read_text() == before


def test_nothing_of_it_runs_unless_asked_for(project: Path) -> None:
    assert call("--rule", "DTL101").exit_code == 0
    assert not (project.parent / "ran").exists()


def test_a_region_follows_what_its_builder_is_given(project: Path) -> None:
    result = call("--rule", "DTL201", "--import", "build:enter")
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["verdict"], row["subject"]) == ("confirmed", "matmul"), row
    (project / "src/trainer/shard.py").write_text(SHARD.format(device="cuda"))
    (row,) = json.loads(call("--rule", "DTL201", "--import", "build:enter").stdout)["rows"]
    assert (row["verdict"], row["reason"]) == ("not confirmable here", "needs-cuda")


def test_a_builder_that_does_not_follow_refutes(project: Path) -> None:
    (row,) = json.loads(call("--rule", "DTL101", "--import", "build:fixed").stdout)["rows"]
    assert (row["verdict"], row["evidence"]) == ("refuted", "op"), row
    assert "reduce_dtype is float32 where" in row["detail"]


UNSHOWN = {
    "build:other": (Reason.UNEVALUABLE, "what is built is a dtype"),
    "build:none": (Reason.UNEVALUABLE, "too many positional arguments"),
    "nowhere:build": (Reason.UNEVALUABLE, "ModuleNotFoundError"),
    "apart:build": (Reason.NO_SUCH_OP, "does not import the file that is fixed"),
}


def test_what_a_builder_cannot_show(project: Path) -> None:
    text = "from torch.distributed.fsdp import MixedPrecisionPolicy\n\n\ndef build(dtype):\n    return MixedPrecisionPolicy(reduce_dtype=dtype)\n"
    (project / "apart.py").write_text(text)
    path = project / "src/trainer/shard.py"
    job = {
        "probe": "import",
        "root": str(project),
        "texts": {str(path): path.read_text()},
        "key": "reduce_scatter",
        "dtypes": [{"dtype": "float32"}],
    }
    jobs = [{**job, "builder": builder} for builder in (*UNSHOWN, "build:broken")]
    *unshown, broken = Session(device="cpu", timeout=300.0, newest=NEWEST).drive(jobs)
    for seen, (reason, words) in zip(unshown, UNSHOWN.values(), strict=True):
        assert (seen.reason, words in seen.error) == (reason, True), seen
    assert broken.notes == {"float32 reduce_scatter": "raises KeyError"}


@pytest.mark.parametrize("name", ["build", ":f", "build:", "a b:c"])
def test_a_name_that_is_none(project: Path, name: str) -> None:
    assert call("--import", name).exit_code == 2
