"""fp8 through accelerate: a configuration resolved as `accelerate launch` does, without launching, and what is built from it.

The functions of the launch command have no public form; a release that moved them is an error of the driver.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from dtypelint.runtime.recorder import Recorder
from dtypelint.smoke.probes import groups
from dtypelint.smoke.probes.stages import Elsewhere, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 64
LAYERS = 4
ROWS = 16
ALONE = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "NO",
    "num_processes": 1,
    "num_machines": 1,
    "use_cpu": False,
}
SEVERAL = frozenset(
    {"fsdp_config", "deepspeed_config", "megatron_lm_config", "parallelism_config", "gpu_ids", "machine_rank"}
)
PREFIX = "ACCELERATE_"
RECIPE = f"{PREFIX}FP8_"
PACKAGES = {"TE": "transformer_engine.pytorch", "AO": "torchao", "MSAMP": "msamp"}


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """What a run would be told, and how many layers of a small model it would convert.

    `text` is a configuration file of the kind `suffix`, or `environment` the variables themselves; without `build` only the
    variables are read.
    """
    _installed("accelerate")
    with _clean():
        variables = dict(job.get("environment") or _resolved(job["text"], job["suffix"]))
        told = {key: str(value) for key, value in variables.items() if key.startswith(PREFIX)}
        notes = {key: value for key, value in told.items() if _looked_up(key)}
        notes["assumed"] = "the run is one process"
        if job["build"]:
            os.environ.update(told)
            notes |= _built(told, device)
    return notes


def _looked_up(variable: str) -> bool:
    """Whether a recipe of this release asks for a variable: every key of a configuration is exported, read or not."""
    from accelerate.utils import dataclasses

    word = variable.removeprefix(RECIPE)
    return word == variable or f'"{word}"' in inspect.getsource(dataclasses)


def _installed(package: str) -> None:
    """Import a package for good: one that is there and cannot be imported is broken, whatever its metadata say."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        missing = (error.name or package).partition(".")[0] == package.partition(".")[0]
        raise Elsewhere("backend-missing" if missing else "backend-broken", f"{package}: {error}") from error
    except Exception as error:
        raise Elsewhere("backend-broken", f"{package}: {type(error).__name__}: {error}") from error


@contextmanager
def _clean() -> Iterator[None]:
    """An environment and a state of accelerate that no other job left behind."""
    from accelerate.state import AcceleratorState

    before = dict(os.environ)
    for key in [key for key in os.environ if key.startswith(PREFIX)]:
        del os.environ[key]
    AcceleratorState._reset_state(True)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        AcceleratorState._reset_state(True)


def _resolved(text: str, suffix: str) -> dict[str, str]:
    """The variables that the worker of a configuration file gets, when it is run as one process."""
    from accelerate.commands import launch
    from accelerate.commands.config.config_args import ClusterConfig

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        try:
            config = json.loads(text) if suffix == ".json" else yaml_load(text)
            _own(config, ClusterConfig.__dataclass_fields__)
            kept = {key: value for key, value in config.items() if key not in SEVERAL}
            path.write_text(json.dumps({**kept, **ALONE}), encoding="utf-8")
            arguments = launch.launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
            arguments = launch._validate_launch_command(arguments)[0]
            return dict(launch.prepare_simple_launcher_cmd_env(arguments)[1])
        except Elsewhere:
            raise
        except Exception as error:
            raise Stage("resolve", error) from error


def _own(config: Any, known: Any) -> None:
    other = sorted(config.keys() - known)
    if other:
        raise Elsewhere("unevaluable", f"accelerate knows no `{other[0]}`: another tool reads this file")


def yaml_load(text: str) -> Any:
    """The data of a YAML text, read as accelerate reads it."""
    return importlib.import_module("yaml").safe_load(text)


def _built(variables: dict[str, str], device: str) -> dict[str, str]:
    """What an `Accelerator` makes of four linear layers; it leaves the first and the last one alone."""
    from accelerate import Accelerator

    backend = variables.get(f"{RECIPE}BACKEND", "")
    if variables.get(f"{PREFIX}MIXED_PRECISION") == "fp8" and backend in PACKAGES:
        _installed(PACKAGES[backend])
    model: Any = nn.Sequential(*(_layer() for _ in range(LAYERS)))
    try:
        accelerator = Accelerator(cpu=device == "cpu")
        model, _ = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
        recorder = Recorder()
        with recorder:
            model(torch.randn(ROWS, WIDTH, device=device)).float().sum().backward()
    except Exception as error:
        raise Stage("build", error) from error
    return _use(model, recorder, LAYERS)


def convert(job: dict[str, Any], device: str) -> dict[str, str]:
    """A conversion by torchao, whose result is `bound` or not; sharded where it is asked what an all-gather sends.

    `flags` are those of the configuration; the model is a `layer` alone, or one of several.
    """
    _installed("torchao")
    float8 = importlib.import_module("torchao.float8")

    model: Any = nn.Linear(WIDTH, WIDTH) if job.get("alone") else nn.Sequential(*(_layer() for _ in range(LAYERS)))
    model = model.to(device)
    notes = {}
    recorder = Recorder()
    try:
        made = float8.convert_to_float8_training(model, config=float8.Float8LinearConfig(**job.get("flags", {})))
        model = made if job["bound"] else model
        if job.get("sharded"):
            model = _sharded(model, device)
        with recorder:
            model(torch.randn(ROWS, WIDTH, device=device)).float().sum().backward()
    except Exception as error:
        raise Stage("build", error) from error
    notes["all_gather"] = "+".join(recorder.dtypes("all_gather"))
    return {**notes, **_use(model, recorder, 1 if job.get("alone") else LAYERS)}


def _layer() -> nn.Module:
    return nn.Linear(WIDTH, WIDTH, bias=False)


def _sharded(model: Any, device: str) -> Any:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device, (groups.fake(),))
    for part in (*model.children(), model):
        fully_shard(part, mesh=mesh)
    return model


def _use(model: Any, recorder: Recorder, layers: int) -> dict[str, str]:
    """Whether fp8 is used: how many layers were converted, and what their products are made of."""
    converted = sum("float8" in type(module).__name__.lower() for module in model.modules())
    products = {seen.dtypes[0] for seen in recorder.of("matmul") if "scaled" in seen.op}
    kinds = f", products of {' and '.join(sorted(products))}" if products else ""
    return {
        "seen": f"{converted} of {layers} linear layers are fp8{kinds}",
        "fp8": "in use" if converted and products else "not in use",
    }
