"""What accelerate really does with the files of `tests/config_truth/cases`: `python tools/config_truth.py ENVIRONMENTS [CASE ...]`.

Without cases, all are measured and the table is written anew. ENVIRONMENTS is a folder of virtual environments, one a release (`1.15.0/bin/python`), each with torch, torchao and that
accelerate. Every case is launched as `accelerate launch --config_file` does it, up to the environment of the workers; then an
`Accelerator()` is built in that environment on the CPU and a small model prepared. The result is written to
`tests/config_truth/table.json`, which `tests/test_config_truth.py` compares with the findings; no test runs this script.

Two things are made up, because there is no GPU: TransformerEngine and MS-AMP are empty packages, so that their recipes can be
built (never run), and a worker of an FSDP or multi-GPU config believes that it has a GPU.

A row holds `outcome` (`ok`, `error`, or `silent` when fp8 was asked for and no layer would run in it), `precision`, `backend`
and `unread`, the keys of `fp8_config` that nothing looked up, and for an error its last line.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

FOLDER = Path(__file__).parent.parent / "tests" / "config_truth"
STUBS = {"transformer_engine": "transformer-engine", "msamp": "ms-amp"}
PREFIX = "ACCELERATE_FP8_"


def main() -> None:
    """Measure the cases in every environment and write the table."""
    environments = sorted(Path(sys.argv[1]).glob("*/bin/python"), key=lambda path: release(path))
    cases = [FOLDER / "cases" / name for name in sys.argv[2:]]
    path = FOLDER / "table.json"
    table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if cases else {}
    for case in cases or sorted((FOLDER / "cases").iterdir()):
        table[case.name] = {}
        for python in environments:
            result = measure(python, case)
            table[case.name][python.parent.parent.name.removeprefix("v")] = result
            print(case.name, python.parent.parent.name, json.dumps(result))
    path.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", encoding="utf-8")


def release(python: Path) -> tuple[int, ...]:
    """The version that an environment is named after."""
    return tuple(map(int, python.parent.parent.name.removeprefix("v").split(".")))


def measure(python: Path, case: Path) -> dict[str, Any]:
    """One case in one environment, in a process and a folder of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("ACCELERATE_", "FSDP_", "PYTHON"))}
    with tempfile.TemporaryDirectory() as folder:
        stubs = Path(folder) / "stubs"
        for module, name in STUBS.items():
            (stubs / module).mkdir(parents=True)
            (stubs / module / "__init__.py").write_text("")
            (stubs / f"{module}-9.0.dist-info").mkdir()
            (stubs / f"{module}-9.0.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 9.0\n")
        run = subprocess.run(
            [str(python), __file__, "--one", str(case)],
            cwd=folder,
            env={**clean, "PYTHONPATH": str(stubs), "HF_HOME": folder, "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{case.name} in {python}: no answer\n{run.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


class Recorder(dict[str, str]):
    """An environment that knows which of its variables were asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value, noted as read."""
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)


def one(case: str) -> dict[str, Any]:
    """What this environment does with a case."""
    try:
        args, environment = launch(case)
    except (Exception, SystemExit) as error:
        return {"outcome": "error", "at": "launch", "error": said(error)}
    recorder = Recorder(environment)
    written = keys_of(case)
    try:
        with mock.patch("os.environ", recorder), mock.patch("os.getenv", recorder.get):
            accelerator, layers = work(args)
    except Exception as error:
        return {"outcome": "error", "at": "start", "error": said(error)}
    carried = recorder.read.intersection(environment)
    unread = [key for key, variables in written.items() if not carried.intersection(variables)]
    precision = accelerator.mixed_precision
    backend = str(getattr(accelerator.fp8_backend, "value", accelerator.fp8_backend) or "NO")
    asked = args.mixed_precision.lower() == "fp8"
    silent = asked and (backend == "NO" or layers == 0)
    return {"outcome": "silent" if silent else "ok", "precision": precision, "backend": backend, "unread": unread}


def said(error: BaseException) -> str:
    """The first line of an error, without what differs from run to run."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return " ".join(word for word in text.split() if "/" not in word and word not in ("file", "at"))[:90]


def keys_of(case: str) -> dict[str, list[str]]:
    """The precision keys of a case that may get lost, with the variables that would carry them to the workers."""
    text = Path(case).read_text(encoding="utf-8")
    loaded = json.loads(text) if case.endswith(".json") else importlib.import_module("yaml").safe_load(text)
    found = {}
    for key in loaded.get("fp8_config") or {}:
        name = key.removeprefix("fp8_").upper()
        found[f"fp8_config.{key}"] = [PREFIX + name]
        if key == "override_linear_precision":
            found[f"fp8_config.{key}"] = [PREFIX + f"OVERRIDE_{part}" for part in ("FPROP", "DGRAD", "WGRAD")]
    for key in loaded.get("fsdp_config") or {}:
        if any(word in key for word in ("fp8", "precision", "dtype")):
            found[f"fsdp_config.{key}"] = [f"FSDP_{key.removeprefix('fsdp_').upper()}"]
    lines = re.findall(r"^(\w+): (.+)", text, re.MULTILINE)
    # the last of two keys wins
    found |= {name: [] for name, value in lines if dict(lines)[name] != value}
    if loaded.get("fp16") and loaded.get("mixed_precision"):
        found["fp16"] = []
    return found


def launch(case: str) -> tuple[Any, dict[str, str]]:
    """The arguments after the config file was read into them, and the environment that the workers get."""
    commands = importlib.import_module("accelerate.commands.launch")
    tools = importlib.import_module("accelerate.utils.launch")
    parser = commands.launch_command_parser()
    args, *_ = commands._validate_launch_command(parser.parse_args(["--config_file", case, "train.py"]))
    if args.use_fsdp or args.multi_gpu:
        return args, {key: str(value) for key, value in tools.prepare_multi_gpu_env(args).items()}
    _, environment = tools.prepare_simple_launcher_cmd_env(args)
    subprocess.run([sys.executable, "-c", ""], env=environment, check=True)
    return args, environment


def work(args: Any) -> tuple[Any, int]:
    """The accelerator of a worker, and the number of linear layers that it converted (1 where that needs a GPU)."""
    torch = importlib.import_module("torch")
    state = importlib.import_module("accelerate.state")
    accelerate = importlib.import_module("accelerate")
    if args.use_fsdp or args.multi_gpu:
        worker = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29876"}
        os.environ.update(worker)
        kind = accelerate.DistributedType.MULTI_GPU
        with (
            mock.patch.object(state.PartialState, "_prepare_backend", return_value=("gloo", kind)),
            mock.patch.object(torch.cuda, "set_device"),
            mock.patch.object(torch.cuda, "device_count", return_value=2),
            mock.patch("accelerate.accelerator.is_bf16_available", return_value=True),
        ):
            return accelerate.Accelerator(), 1
    accelerator = accelerate.Accelerator(cpu=True)
    if str(accelerator.fp8_backend).rpartition(".")[2] != "AO":
        return accelerator, 1
    model = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(4)))
    model = accelerator.prepare(model)
    return accelerator, sum("Float8" in type(module).__name__ for module in model.modules())


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(one(sys.argv[2])))
    else:
        main()
