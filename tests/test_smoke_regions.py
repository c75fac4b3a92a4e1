"""Regions in regions, regions for another device, and products that a fix takes out of one."""

from __future__ import annotations

from contextlib import chdir
from typing import TYPE_CHECKING, Any

import pytest
from smoking import NEWEST, drive, plant, walk

from dtypelint.settings import Flags
from dtypelint.smoke.records import Reason, Verdict
from dtypelint.smoke.session import Session

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

ISLAND, DEVICE, DEFAULT = "low-precision-island", "hardcoded-autocast-device", "implicit-autocast-dtype"
INSIDE = "def f(a, b):\n    with torch.autocast('cuda', dtype=torch.float16):\n        return a.float() @ b.float()"
LINE = "return a.float() @ b.float()"
OFF = f"with torch.autocast('cuda', enabled=%s):\n            {LINE}"
NESTED = """def f(m, x):
    with torch.autocast('cuda', dtype=torch.bfloat16):
        with torch.autocast('cuda', enabled=False):
            with torch.autocast('cuda'):
                m(x)"""
PLANTS: dict[str, tuple[str, str, str, str, Verdict, tuple[str | None, ...]]] = {
    "switched off": (ISLAND, INSIDE, LINE, OFF % "False", Verdict.CONFIRMED, ("float16", "float32")),
    "switched on": (ISLAND, INSIDE, LINE, OFF % "True", Verdict.REFUTED, ("float16", "float16")),
    "not moved": (ISLAND, INSIDE, LINE, f"{LINE}  ", Verdict.NOT_REPRODUCED, ()),
    "a region that inherits": (DEFAULT, NESTED, "'cuda'", "'cuda', torch.float16", Verdict.CONFIRMED, ("bfloat16", "float16")),
    "the device of the model": (
        DEVICE,
        "def f(m, x):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        m(x)",
        "'cuda'",
        "x.device.type",
        Verdict.CONFIRMED,
        ("float32", "bfloat16"),
    ),
    "another device": (
        DEVICE,
        "def f(m, x):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        m(x)",
        "'cuda'",
        "'xpu'",
        Verdict.REFUTED,
        ("float32", "float32"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    base = tmp_path_factory.mktemp("regions")
    with chdir(base):
        findings = [
            plant(f"t{number}.py", f"import torch\n\n\n{code}\n", old, new, name)
            for number, (name, code, old, new, *_) in enumerate(PLANTS.values())
        ]
        run = drive(findings, walk(base, Flags()))
    return dict(zip(PLANTS, run.rows, strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_verdict(name: str, rows: dict[str, Row]) -> None:
    row, (*_, verdict, seen) = rows[name], PLANTS[name]
    assert row.verdict is verdict, row
    assert tuple(each for trial in row.trials[:1] for each in (trial.before, trial.after)) == seen


def region(dtype: str | None = None, device: str = "cuda", **more: Any) -> dict[str, Any]:
    fields = {"device_type": device, **({"dtype": {"dtype": dtype}} if dtype else {}), **more}
    return {"asked": device, "fields": fields}


def test_regions_in_regions() -> None:
    off = region(enabled=False)
    regions = [
        [region("bfloat16"), region()],
        [region("float16"), off],
        [region("float16"), off, region("bfloat16")],
        [region("bfloat16"), off, region()],
        [region("float32"), region("bfloat16")],
    ]
    jobs = [{"probe": "autocast", "around": around, **inner} for *around, inner in regions]
    jobs += [{"probe": "autocast", "place": "cpu", **each} for each in (region(), region(device="cpu"))]
    seen = Session(device="cpu", timeout=120.0, newest=NEWEST).drive(jobs)
    dtypes = [each.notes.get("matmul") for each in seen]
    assert dtypes == ["bfloat16", "float32", "bfloat16", "bfloat16", None, "float32", "bfloat16"], seen
    assert seen[4].reason is Reason.NEEDS_CUDA
