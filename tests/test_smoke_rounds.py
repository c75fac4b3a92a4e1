"""Rounds of a training loop with a loss scaler: right fixes move the weights once, wrong ones do not."""

from __future__ import annotations

from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from smoking import drive, plant, walk

from dtypelint.settings import Flags
from dtypelint.smoke.records import Level, Reason, Verdict

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

HEAD = """import torch
from torch.nn.utils import clip_grad_norm_
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


"""
ROUND = """def fit(model, optimizer, scaler: torch.amp.GradScaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        {}
"""
CLIP = "clip_grad_norm_(model.parameters(), 1.0)"
UNSCALE = "scaler.unscale_(optimizer)"
STEP = "scaler.step(optimizer)"
UPDATE = "scaler.update()"


def code(*lines: str) -> str:
    return ROUND.format("\n        ".join(lines))


WITH_UNSCALE = f"{UNSCALE}\n        {CLIP}"
CASES: dict[str, tuple[str, str, str, Verdict, tuple[str, str] | None]] = {
    "unscale before": (code(CLIP, STEP, UPDATE), CLIP, WITH_UNSCALE, Verdict.CONFIRMED, ("x1.53e-05", "x1")),
    "in one of two loops": (
        code(CLIP, STEP, UPDATE) + "    for batch in batches:\n        scaler.scale(model(batch)).backward()\n"
        f"        {UNSCALE}\n        {STEP}\n        {UPDATE}\n",
        CLIP,
        WITH_UNSCALE,
        Verdict.CONFIRMED,
        ("x1.53e-05", "x1"),
    ),
    "in a function that a script calls between others": (
        code(CLIP, STEP, UPDATE)
        + "\n\ndef other(model, optimizer, scaler: torch.amp.GradScaler, batch):\n    scaler.scale(model(batch)).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
        "\n\nfit(model, optimizer, torch.amp.GradScaler(), batches)\nother(model, optimizer, torch.amp.GradScaler(), batch)\n",
        CLIP,
        WITH_UNSCALE,
        Verdict.CONFIRMED,
        ("x1.53e-05", "x1"),
    ),
    "unscale after": (
        code(CLIP, STEP, UPDATE),
        CLIP,
        f"{CLIP}\n        {UNSCALE}",
        Verdict.REFUTED,
        ("x1.53e-05", "x1.53e-05"),
    ),
    "unscale twice": (
        code(UNSCALE, CLIP, STEP, UPDATE),
        CLIP,
        WITH_UNSCALE,
        Verdict.REFUTED,
        ("x1", "raises RuntimeError"),
    ),
    "it was right": (code(UNSCALE, CLIP, STEP, UPDATE), CLIP, f"({CLIP})", Verdict.NOT_REPRODUCED, ("x1", "x1")),
    "stepped twice": (
        code("optimizer.step()", STEP, UPDATE),
        "optimizer.step()",
        "pass",
        Verdict.CONFIRMED,
        ("x6.55e+04", "x1"),
    ),
    "the wrong step goes": (
        code("optimizer.step()", STEP, UPDATE),
        STEP,
        "pass",
        Verdict.REFUTED,
        ("x6.55e+04", "raises AssertionError"),
    ),
    "never updated": (
        code(STEP),
        STEP,
        f"{STEP}\n        {UPDATE}",
        Verdict.CONFIRMED,
        ("raises RuntimeError", "x1"),
    ),
    "no round": (
        "def f(scaler: torch.amp.GradScaler, optimizer):\n    scaler.step(optimizer)\n",
        STEP,
        f"{STEP}\n    {UPDATE}",
        Verdict.NOT_CONFIRMABLE,
        None,
    ),
}
MADE = "def f(model):\n    model = FSDP(model)\n    return {}\n"
CONSTRUCTED = {
    "sharded": (MADE.format("torch.amp.GradScaler('cpu')"), "torch.amp.GradScaler", "ShardedGradScaler", Verdict.CONFIRMED),
    "another plain one": (
        MADE.format("torch.amp.GradScaler('cpu')"),
        "torch.amp.GradScaler('cpu'",
        "torch.cpu.amp.GradScaler(",
        Verdict.REFUTED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    base = tmp_path_factory.mktemp("rounds")
    cases = [each[:3] for each in CASES.values()] + [each[:3] for each in CONSTRUCTED.values()]
    with chdir(base):
        numbered = enumerate(cases)
        findings = [plant(f"t{n}.py", HEAD + text, old, new, "clip-before-unscale") for n, (text, old, new) in numbered]
        run = drive(findings, walk(base, Flags()))
    return dict(zip([*CASES, *CONSTRUCTED], run.rows, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_round(name: str, rows: dict[str, Row]) -> None:
    row = rows[name]
    *_, verdict, seen = CASES[name]
    assert row.verdict is verdict, row
    if seen is None:
        assert (row.reason, row.detail) == (Reason.UNEVALUABLE, "no whole round of the loop is known")
    else:
        assert (row.trials[0].before, row.trials[0].after) == seen
        assert row.level is Level.VALUE
        assert {trial.setting for trial in row.trials} == {"scale 65536", "scale 4096", "scale 256"}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_a_sharded_scaler_tells_the_other_ranks(name: str, rows: dict[str, Row]) -> None:
    row = rows[name]
    assert row.verdict is CONSTRUCTED[name][3], row
    assert row.trials[0].before == "left to each rank"
