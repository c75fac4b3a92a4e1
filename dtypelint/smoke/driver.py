"""The process that imports torch: reads jobs as JSON, drives each one and writes what it saw, one line a job.

A request is `{"device": "auto", "known": "2.15", "jobs": [{"id": 0, "probe": "policy", …}]}` on the standard input. The
first line of the answer says which torch and device there are, each other one `{"id": 0, "seen": {…}, "seconds": 0.1}`,
with `reason` or `error` and `stage` where nothing was seen.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from importlib import import_module
from typing import Any, TextIO

OLDEST = (2, 6)
PROBES = {
    "policy": "sharding:drive",
    "autocast": "regions:drive",
    "cast": "casts:drive",
    "fp8": "fp8:drive",
    "fp8-convert": "fp8:convert",
    "witness": "witness:drive",
    "witness-rank": "witness:rank",
    "scaler-switch": "scalers:switch",
    "scaler-ranks": "scalers:ranks",
    "scaler-rounds": "scalers:rounds",
    "average": "weights:average",
    "masters": "weights:masters",
    "underflow": "weights:underflow",
    "import": "builders:drive",
    "import-run": "builders:run",
}


def main() -> None:
    """Answer the request on the standard input; whatever the libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(json.load(sys.stdin), answers)
    answers.flush()
    # a process group that was never shut down must not delay or break the end of the process
    os._exit(0)


def serve(request: dict[str, Any], answers: TextIO) -> None:
    """Drive the jobs of a request."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    try:
        import torch
    except Exception as error:
        return _answer(answers, {"missing": f"{type(error).__name__}: {error}"})
    torch.manual_seed(0)
    device = request["device"]
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        return _answer(answers, {"torch": torch.__version__, "absent": "cuda"})
    hello = {
        "torch": torch.__version__,
        "device": device,
        "name": torch.cuda.get_device_name() if device == "cuda" else "",
        "gpus": torch.cuda.device_count(),
        "supported": supported(torch.__version__, request["known"]),
        "seconds": time.perf_counter() - started,
    }
    _answer(answers, hello)
    if hello["supported"]:
        for job in request["jobs"]:
            _answer(answers, {"id": job["id"], **drive(job, device)})
    return None


def supported(version: str, newest: str) -> bool:
    """Whether a release of torch is one that the probes were written for."""
    release = tuple(int(part) for part in version.partition("+")[0].split(".")[:2])
    return OLDEST <= release <= tuple(int(part) for part in newest.split(".")[:2])


def drive(job: dict[str, Any], device: str) -> dict[str, Any]:
    """What one job shows."""
    from dtypelint.smoke.probes.stages import Elsewhere, Stage

    started = time.perf_counter()
    module, _, function = PROBES[job["probe"]].partition(":")
    answer: dict[str, Any]
    try:
        probe = getattr(import_module(f"dtypelint.smoke.probes.{module}"), function)
        answer = {"seen": probe(decoded(job), device)}
    except Elsewhere as elsewhere:
        answer = {"reason": elsewhere.reason, "error": str(elsewhere)}
    except Stage as failed:
        answer = {"error": str(failed), "stage": failed.stage}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}", "stage": "driver"}
    return {**answer, "seconds": time.perf_counter() - started}


def decoded(value: Any) -> Any:
    """The values of a job, with real dtypes."""
    import torch

    if isinstance(value, dict):
        if set(value) == {"dtype"} and isinstance(value["dtype"], str):
            return getattr(torch, value["dtype"])
        return {key: decoded(item) for key, item in value.items()}
    return [decoded(item) for item in value] if isinstance(value, list) else value


def _answer(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
