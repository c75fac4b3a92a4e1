"""Other drivers, started as this one was: for what needs a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import torch


def start(job: dict[str, Any], device: str) -> subprocess.Popen[bytes]:
    """Another driver with one job."""
    process = subprocess.Popen(  # noqa: S603 the command line of this very process
        sys.orig_argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    request = {"device": device, "known": f"{torch.__version__.partition('+')[0]}", "jobs": [{**job, "id": 0}]}
    assert process.stdin is not None
    process.stdin.write(json.dumps(request, default=_encoded).encode())
    process.stdin.close()
    process.stdin = None
    return process


def answer(process: subprocess.Popen[bytes], limit: float) -> dict[str, Any]:
    """What it says of its job; TimeoutExpired when it takes too long."""
    try:
        output = process.communicate(timeout=limit)[0]
    finally:
        process.kill()
    lines = (json.loads(line) for line in output.decode().splitlines())
    return next((line for line in lines if "id" in line), {"error": "another process did not answer"})


def _encoded(value: Any) -> Any:
    return {"dtype": str(value).removeprefix("torch.")}
