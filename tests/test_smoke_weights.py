"""Averages and optimizers whose weights are too narrow for their updates, and gradients that underflow."""

from __future__ import annotations

from contextlib import chdir
from typing import TYPE_CHECKING, Any

import pytest
from smoking import NEWEST, drive, plant, walk

from dtypelint.settings import Flags
from dtypelint.smoke.records import Level, Verdict
from dtypelint.smoke.session import Session

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

CAST = "def f(m):\n    average = copy.deepcopy(m).to(torch.bfloat16)"
PLANTS = {
    "wide": (CAST, "torch.bfloat16", "torch.float32", Verdict.CONFIRMED, [("bfloat16", "not all", "all")]),
    "as narrow": (CAST, "torch.bfloat16", "torch.float16", Verdict.REFUTED, [("bfloat16", "not all", "not all")]),
    "by a method": (
        CAST.replace("to(torch.bfloat16)", "half()"),
        "half",
        "float",
        Verdict.CONFIRMED,
        [("float16", "not all", "all")],
    ),
    "was wide": (CAST.replace("bfloat16", "float"), "torch.float", "torch.float32", Verdict.NOT_REPRODUCED, None),
    "no dtype": (CAST, "m)", "m )", Verdict.NOT_CONFIRMABLE, []),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    base = tmp_path_factory.mktemp("weights")
    with chdir(base):
        findings = [
            plant(f"t{number}.py", f"import copy\nimport torch\n{code}\n", old, new, "low-precision-ema")
            for number, (code, old, new, *_) in enumerate(PLANTS.values())
        ]
        run = drive(findings, walk(base, Flags()))
    return dict(zip(PLANTS, run.rows, strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_an_average(name: str, rows: dict[str, Row]) -> None:
    row, (*_, verdict, trials) = rows[name], PLANTS[name]
    assert row.verdict is verdict, row
    if trials is not None:
        assert [(trial.setting, trial.before, trial.after) for trial in row.trials] == trials
    if row.trials:
        assert row.level is Level.VALUE
        assert any(line.startswith("after: 50 updates move") for line in row.seen)


def test_what_a_dtype_holds() -> None:
    dtypes = ("bfloat16", "float16", "float32")
    jobs: list[dict[str, Any]] = [{"probe": "masters", "dtype": {"dtype": dtype}} for dtype in dtypes]
    jobs += [
        {"probe": "underflow", "dtype": {"dtype": dtype}, "scaled": scaled}
        for dtype in dtypes
        for scaled in (False, True)
    ]
    seen = Session(device="cpu", timeout=120.0, newest=NEWEST).drive(jobs)
    assert [each.notes.get("moved") for each in seen[:3]] == ["not all", "not all", "all"], seen
    assert [each.notes.get("arrive") for each in seen[3:]] == ["most", "most", "few", "most", "most", "most"], seen
