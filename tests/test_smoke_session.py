"""The driver's process: what it answers, and what happens when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from smoking import NEWEST

from dtypelint.errors import UserError
from dtypelint.smoke import driver, session
from dtypelint.smoke.records import Reason, Seen
from dtypelint.smoke.session import Session

STUB = """import json, os, sys, time
request = json.load(sys.stdin)
print(json.dumps({"torch": "2.13.0", "device": "cpu", "name": "", "gpus": 0, "supported": True}), flush=True)
for job in request["jobs"]:
    if job["do"] == "crash":
        os.kill(os.getpid(), 11)
    if job["do"] == "hang":
        time.sleep(600)
    if job["do"] == "end":
        sys.stderr.write("out of words")
        sys.exit(3)
    print(json.dumps({"id": job["id"], "seen": {"did": job["do"]}, "seconds": 0.5}), flush=True)
"""


def dtype(name: str) -> dict[str, str]:
    return {"dtype": name}


def made(**more: Any) -> Session:
    return Session(**{"device": "cpu", "timeout": 120.0, "newest": NEWEST, **more})


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BOOT", STUB)


@pytest.mark.usefixtures("stub")
def test_a_crash_costs_one_job() -> None:
    jobs = [{"do": "a"}, {"do": "crash"}, {"do": "b"}, {"do": "end"}, {"do": "c"}]
    seen = made().drive(jobs)
    assert [each.notes.get("did") for each in seen] == ["a", None, "b", None, "c"]
    assert [each.reason for each in seen[1::2]] == [Reason.DRIVER_ERROR] * 2
    assert "-11" in seen[1].error
    assert seen[3].error.endswith("out of words")


@pytest.mark.usefixtures("stub")
def test_what_hangs_is_stopped() -> None:
    seen = made(timeout=2.0).drive([{"do": "a"}, {"do": "hang"}, {"do": "b"}])
    assert seen[0] == Seen({"did": "a"}, seconds=0.5)
    assert [each.reason for each in seen[1:]] == [Reason.DRIVER_TIMEOUT] * 2


@pytest.mark.usefixtures("stub")
def test_equal_jobs_are_driven_once() -> None:
    seen = made().drive([{"do": "a", "n": 1}, {"n": 1, "do": "a"}, {"do": "a", "n": 2}])
    assert seen[0] is seen[1]
    assert seen[0] is not seen[2]


def test_nothing_to_drive_starts_nothing() -> None:
    assert made(python="/no/such/python").drive([]) == []


def test_no_torch_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BOOT", f"import sys\nsys.modules['torch'] = None\n{session.BOOT}")
    with pytest.raises(UserError, match=r"pip install 'dtypelint\[smoke\]'.*--python"):
        made().drive([{"probe": "policy"}])


@pytest.mark.parametrize("python", ["/no/such/python", __file__])
def test_an_interpreter_that_does_not_start(python: str) -> None:
    with pytest.raises(UserError, match="cannot be started"):
        made(python=python).drive([{"probe": "policy"}])


def test_a_driver_that_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "BOOT", "raise SystemExit('no such luck')")
    with pytest.raises(UserError, match="did not start: no such luck"):
        made().drive([{"probe": "policy"}])


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(UserError, match="--device cuda: torch .* sees no such device"):
        made(device="cuda").drive([{"probe": "policy"}])


@pytest.mark.parametrize(
    ("version", "known"),
    [("2.6.0", True), ("2.13.0+cpu", True), ("2.15.1", True), ("2.5.1", False), ("2.16.0", False), ("3.0.0a1", False)],
)
def test_the_releases_that_are_driven(version: str, known: bool) -> None:
    assert driver.supported(version, "2.15.0") is known


def test_an_unknown_release_is_no_evidence() -> None:
    seen = made(newest="2.6.0").drive([{"probe": "policy"}, {"probe": "autocast"}])
    assert [each.reason for each in seen] == [Reason.VERSION_UNSUPPORTED] * 2


def test_what_the_probes_see() -> None:
    jobs: list[dict[str, Any]] = [
        {"probe": "policy", "family": "fsdp2", "fields": {"param_dtype": dtype("bfloat16")}},
        {"probe": "policy", "family": "fsdp2", "fields": {"reduce_dtype": dtype("float16"), "output_dtype": dtype("bfloat16")}},
        {"probe": "policy", "family": "fsdp1", "fields": {"param_dtype": dtype("bfloat16"), "keep_low_precision_grads": True}},
        {"probe": "policy", "family": "ddp", "fields": {}},
        {"probe": "policy", "family": "ddp", "fields": {"hook": "fp16_compress_hook"}},
        {"probe": "policy", "family": "fsdp2", "fields": {"buffer_dtype": None}},
        {"probe": "autocast", "asked": "cuda", "fields": {"device_type": "cuda"}},
        {"probe": "autocast", "asked": "cpu", "fields": {"device_type": "cpu"}},
        {"probe": "autocast", "asked": "cpu", "fields": {"device_type": "cpu", "dtype": "bfloat16"}},
        {"probe": "no such probe"},
    ]  # fmt: skip
    one = made()
    seen = one.drive(jobs)
    assert one.machine.device == "cpu"
    assert seen[0].notes == {
        **dict.fromkeys(("root_input", "forward_input", "unsharded_param", "output", "matmul"), "bfloat16"),
        **dict.fromkeys(("all_gather", "reduce_scatter", "all_reduce", "reduce_copy"), "bfloat16"),
        **dict.fromkeys(("buffer", "sharded_param", "grad", "optimizer_state"), "float32"),
    }
    assert (seen[1].notes["reduce_scatter"], seen[1].notes["all_reduce"]) == ("float16", "float16")
    assert (seen[1].notes["all_gather"], seen[1].notes["output"]) == ("float32", "bfloat16")
    assert (seen[2].notes["reduce_scatter"], seen[2].notes["grad"]) == ("bfloat16", "bfloat16")
    assert seen[3].notes["all_reduce"] == "float32"
    assert seen[4].notes["all_reduce"] == "float16"
    assert seen[5].error.startswith("TypeError")
    assert seen[5].stage == "construct"
    assert (seen[6].notes["matmul"], seen[6].notes["substituted"]) == ("float16", "cuda by cpu")
    assert (seen[7].notes["matmul"], "substituted" in seen[7].notes) == ("bfloat16", False)
    assert seen[8].error.startswith("TypeError")
    assert seen[9].reason is Reason.DRIVER_ERROR


def test_the_driver_does_not_see_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    for name in ("torch", "json", "sitecustomize", "dtypelint"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "torch.py"))
    seen = made().drive([{"probe": "autocast", "asked": "cpu", "fields": None}])
    assert seen[0].notes["matmul"] == "float32"
    assert not mark.exists()


def test_check_does_not_import_torch() -> None:
    code = "import sys; from dtypelint.cli import main\ntry: main(['check', sys.argv[1]])\nexcept SystemExit: print('torch' in sys.modules)"
    folder = Path(__file__).parent.parent / "testdata" / "dropped_reduce" / "in"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, env=environment)
    assert done.stdout.endswith("False\n"), done


def test_the_script_for_a_gpu_runs_without_one() -> None:
    tool = Path(__file__).parent.parent / "tools" / "gpu_check.sh"
    done = subprocess.run(["bash", str(tool), sys.executable, "cpu"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as expected") >= 26
    assert done.stdout.count("needs-cuda") >= 4
