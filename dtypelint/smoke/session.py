"""Runs the driver in a process of its own: isolated from the user's code, with a time limit, at the mercy of no crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtypelint.errors import UserError
from dtypelint.smoke.records import Job, Machine, Reason, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

# the package alone is loaded from where it lies: neither its folder nor the working one gets onto the path
BOOT = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("dtypelint", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
sys.modules["dtypelint"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from dtypelint.smoke.driver import main
main()
"""
INSTALL = "pip install 'dtypelint[smoke]'"
STDERR = 2_000


class Session:
    """A driver for one run: equal jobs are driven once; what kills the process costs one job."""

    def __init__(self, *, device: str, timeout: float, newest: str, python: str = sys.executable) -> None:
        self._device = device
        self._timeout = timeout
        self._newest = newest
        self._python = python
        self.machine = Machine()
        self.supported = True

    def drive(self, jobs: Sequence[Job]) -> list[Seen]:
        """What each job showed, in their order; UserError where there is no torch or no such device."""
        keys = [json.dumps(job, sort_keys=True) for job in jobs]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        waiting = [{"id": number, **json.loads(key)} for key, number in numbers.items()]
        seen: dict[int, Seen] = {}
        deadline = time.monotonic() + self._timeout
        while waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                late = Seen(reason=Reason.DRIVER_TIMEOUT, error=f"no answer within {self._timeout:g} s")
                seen.update((job["id"], late) for job in waiting)
                break
            ended = self._process(waiting, seen, left)
            waiting = [job for job in waiting if job["id"] not in seen]
            if waiting and not self.supported:
                seen.update((job["id"], Seen(reason=Reason.VERSION_UNSUPPORTED)) for job in waiting)
                break
            if waiting:
                seen[waiting.pop(0)["id"]] = ended
        return [seen[numbers[key]] for key in keys]

    def _process(self, jobs: Sequence[Job], seen: dict[int, Seen], limit: float) -> Seen:
        """Drive jobs until the process ends; what is to be said of a job that it did not answer."""
        request = {"device": self._device, "known": self._newest, "jobs": list(jobs)}
        process = self._start()
        late = threading.Event()
        timer = threading.Timer(limit, _stop, (process, late))
        timer.start()
        try:
            answers, errors = process.communicate(json.dumps(request).encode())
        finally:
            timer.cancel()
            _stop(process, None)
        for line in answers.decode("utf-8", "replace").splitlines():
            self._take(json.loads(line), seen)
        if late.is_set():
            return Seen(reason=Reason.DRIVER_TIMEOUT, error=f"no answer within {self._timeout:g} s")
        tail = errors.decode("utf-8", "replace")[-STDERR:].strip()
        if not self.machine.torch:
            raise UserError(f"the driver did not start: {tail or process.returncode}")
        return Seen(reason=Reason.DRIVER_ERROR, error=f"the driver ended with {process.returncode}: {tail}")

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 an own script on an interpreter that the user named
                [self._python, "-I", "-c", BOOT, str(Path(__file__).parent.parent)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=os.sep,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"{self._python} cannot be started: {error.strerror or error}") from None

    def _take(self, answer: dict[str, Any], seen: dict[int, Seen]) -> None:
        if "missing" in answer:
            raise UserError(
                f"smoke needs torch, which {self._python} cannot import ({answer['missing']}): install it with"
                f" {INSTALL}, or name an interpreter that has it with --python"
            )
        if "absent" in answer:
            raise UserError(f"--device {answer['absent']}: torch {answer['torch']} sees no such device")
        if "torch" in answer:
            self.machine = Machine(answer["torch"], answer["device"], answer["name"], answer["gpus"])
            self.supported = answer["supported"]
            return
        reason = Reason(answer["reason"]) if "reason" in answer else None
        if answer.get("stage") == "driver":
            reason = Reason.DRIVER_ERROR
        error, stage = answer.get("error", ""), answer.get("stage", "")
        seen[answer["id"]] = Seen(answer.get("seen", {}), reason, error, stage, answer["seconds"])


def _stop(process: subprocess.Popen[bytes], late: threading.Event | None) -> None:
    """End the process and what it started."""
    if late is not None:
        late.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def _environment() -> dict[str, str]:
    """The environment without what would make torch talk to other processes."""
    launcher = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK")
    kept = {key: value for key, value in os.environ.items() if key not in launcher}
    return {**kept, "OMP_NUM_THREADS": kept.get("OMP_NUM_THREADS", "2"), "TORCH_CPP_LOG_LEVEL": "ERROR"}
