"""Casts are proven on local shards and by updates that arrive; an edit that only looks right is refuted."""

from __future__ import annotations

import shutil
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from smoking import drive, plant, planted, walk

from dtypelint.settings import Flags
from dtypelint.smoke.records import Level, Reason, Verdict

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

HEAD = """import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard


def shard(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


"""
LOOP = "    for _, p in model.named_parameters():\n        p = p.to(torch.float32)\n"
LOST, REBOUND = "discarded-cast", "rebound-parameter-cast"


@dataclass(frozen=True)
class Plant:
    code: str
    old: str
    new: str
    verdict: Verdict
    detail: str = ""
    level: Level = Level.VALUE
    reason: Reason | None = None
    name: str = REBOUND
    place: str = ""


IN_PLACE = ("p = p.to(torch.float32)", "p.data = p.data.to(torch.float32)")
LIES = "after the fix `p` is bfloat16 where float32 is asked for"
PLANTS = {
    "before sharding": Plant(f"def f(model):\n{LOOP}    fully_shard(model)\n", *IN_PLACE, Verdict.CONFIRMED),
    "after sharding": Plant(f"def f(model):\n    fully_shard(model)\n{LOOP}", *IN_PLACE, Verdict.REFUTED, LIES),
    "after sharding in a helper": Plant(f"def f(model):\n    shard(model)\n{LOOP}", *IN_PLACE, Verdict.REFUTED, LIES),
    "after sharding in the caller": Plant(
        f"def up(model):\n{LOOP}\n\ndef f(model):\n    shard(model)\n    up(model)\n", *IN_PLACE, Verdict.REFUTED, LIES
    ),
    "before sharding in the caller": Plant(
        f"def up(model):\n{LOOP}\n\ndef f(model):\n    up(model)\n    shard(model)\n", *IN_PLACE, Verdict.CONFIRMED
    ),
    "the module after sharding": Plant(
        f"def f(model):\n    fully_shard(model)\n{LOOP}", LOOP.strip(),
        "model.to(torch.float32)", Verdict.CONFIRMED,
        place="p = p.to(torch.float32)",
    ),
    "after the optimizer": Plant(
        f"def f(model):\n    opt = torch.optim.SGD(model.parameters())\n{LOOP}", *IN_PLACE, Verdict.CONFIRMED
    ),
    "rebound to another tensor": Plant(
        f"def f(model):\n{LOOP}", "p.to(torch.float32)", "nn.Parameter(p.to(torch.float32))", Verdict.REFUTED, LIES
    ),
    "copied into the old storage": Plant(
        f"def f(model):\n{LOOP}", "p = p.to", "p.data = p.half().data.to", Verdict.CONFIRMED
    ),
    "a wrong method": Plant(
        "def f(model):\n    for p in model.parameters():\n        p = p.half()\n",
        "p = p.half()",
        "p.data = p.data.bfloat16().half().bfloat16()",
        Verdict.REFUTED,
        "after the fix `p` is bfloat16 where float16 is asked for",
    ),
    "buffers": Plant(
        "def f(model):\n    for b in list(model.buffers()):\n        b = b.double()\n",
        "b = b.double()",
        "b.data = b.data.double()",
        Verdict.CONFIRMED,
        level=Level.OP,
    ),
    "a setting": Plant(
        "def f(x: torch.Tensor, cfg):\n    x.to(cfg.dtype)\n    return x\n",
        "x.to",
        "x = x.to",
        Verdict.CONFIRMED,
        level=Level.OP,
        name=LOST,
    ),
    "like another": Plant(
        "def f(x, y):\n    x.type_as(y)\n    return x\n", "x.type_as", "x = x.type_as", Verdict.CONFIRMED, level=Level.OP, name=LOST
    ),
    "a cast that was kept": Plant(
        "def f(x):\n    x = x.half()\n    return x\n",
        "x.half()",
        "(x.half())",
        Verdict.NOT_REPRODUCED,
        "the code follows the setting without the fix",
        Level.OP,
        name=LOST,
    ),
    "an unknown assignment": Plant(
        "def f(x, other):\n    x.half()\n",
        "x.half()",
        "other.y = x.half()",
        Verdict.NOT_CONFIRMABLE,
        "`other.y` is assigned",
        Level.NONE,
        Reason.UNEVALUABLE,
        LOST,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    base = tmp_path_factory.mktemp("casts")
    with chdir(base):
        findings = []
        files = []
        for number, case in enumerate(PLANTS.values()):
            text = HEAD + case.code
            path = f"t{number}/train.py"
            finding = plant(path, text, case.old, case.new, case.name)
            place = case.place or case.old
            position = planted(path, text, text.rindex(place), place, "", case.name).position
            findings.append(replace(finding, position=position))
            Path(path).with_name("pyproject.toml").touch()
            files += walk(base / f"t{number}", Flags())
        run = drive(findings, files)
    return dict(zip(PLANTS, run.rows, strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_verdict(name: str, rows: dict[str, Row]) -> None:
    case, row = PLANTS[name], rows[name]
    assert (row.verdict, row.detail, row.reason, row.level) == (case.verdict, case.detail, case.reason, case.level), row


def test_the_caller_that_sharded_before_is_named(rows: dict[str, Row]) -> None:
    assert rows["after sharding in the caller"].assumed == ("fully_shard comes before, in train.py:19",)


def test_the_rebinding_loop_of_the_founding_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parent.parent / "testdata" / "dropped_reduce" / "in", "in")
    path = Path("in/trainer/shard.py")
    text = path.read_text()
    new = "parameter.data = parameter.data.to(torch.float32)"
    old = "parameter = parameter.to(torch.float32)"
    fixed = planted(str(path), text, text.index(old), old, new, REBOUND)
    sharded = text + "\n\ndef main(model, precision):\n    shard(model, precision)\n    upcast_trainable(model)\n"
    (before,) = drive([fixed], walk(tmp_path / "in", Flags())).rows
    path.write_text(sharded)
    (after,) = drive([fixed], walk(tmp_path / "in", Flags())).rows
    assert (before.verdict, before.level) == (Verdict.CONFIRMED, Level.VALUE)
    assert (after.verdict, after.trials[0].after) == (Verdict.REFUTED, "bfloat16")
