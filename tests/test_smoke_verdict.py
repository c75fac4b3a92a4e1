"""Right fixes are confirmed, planted wrong ones refuted, and findings about right code are not reproduced."""

from __future__ import annotations

from contextlib import chdir
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from smoking import drive, plant, planted, walk

from dtypelint.finding import Severity
from dtypelint.settings import Flags
from dtypelint.smoke.plans import Attempt, Look, Plan
from dtypelint.smoke.records import Level, Reason, Seen, Verdict
from dtypelint.smoke.verdict import judge

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

HEAD = """import torch
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.amp import GradScaler
"""
DROPPED, HARDCODED, LITERAL, SWITCH = (
    "dropped-policy-dtype",
    "hardcoded-autocast-dtype",
    "implicit-reduce-dtype",
    "misplaced-autocast-argument",
)


@dataclass(frozen=True)
class Plant:
    """A statement, what the fix replaces in it, and what is to come of it."""

    name: str
    code: str
    old: str
    new: str
    verdict: Verdict
    detail: str = ""
    reason: Reason | None = None
    settings: str = ""
    severity: Severity = Severity.ERROR


def policy(rest: str = "") -> str:
    return f"def f(cfg):\n    return MixedPrecisionPolicy(param_dtype=cfg.param_dtype{rest})"


PLANTS = {
    "reduce follows": Plant(DROPPED, policy(), ")", ", reduce_dtype=cfg.reduce_dtype)", Verdict.CONFIRMED),
    "reduce follows param": Plant(
        DROPPED, policy(), ")", ", reduce_dtype=cfg.param_dtype)", Verdict.REFUTED, "`cfg.param_dtype` moves `param_dtype` too"
    ),
    "reduce is a literal though a setting exists": Plant(
        DROPPED,
        "reduce_dtype = None\n" + policy(),
        ")",
        ", reduce_dtype=torch.float32)",
        Verdict.REFUTED,
        "no value of `reduce_dtype` reaches `reduce_dtype`",
        settings="reduce_dtype = None",
    ),
    "reduce was right": Plant(
        DROPPED,
        policy(", reduce_dtype=cfg.reduce_dtype"),
        "cfg.reduce_dtype",
        "(cfg.reduce_dtype)",
        Verdict.NOT_REPRODUCED,
        "the constructor is given the same as before",
    ),
    "another field": Plant(DROPPED, policy(), ")", ", output_dtype=cfg.output_dtype)", Verdict.CONFIRMED),
    "unknown fields": Plant(
        DROPPED,
        "def f(cfg):\n    return MixedPrecisionPolicy(**cfg.fields)",
        "**cfg.fields",
        "**cfg.fields, reduce_dtype=cfg.reduce_dtype",
        Verdict.NOT_CONFIRMABLE,
        "`**cfg.fields` is not known",
        Reason.UNEVALUABLE,
    ),
    "unknown fields before": Plant(
        DROPPED,
        "def f(cfg):\n    return MixedPrecisionPolicy(**cfg.fields)",
        "**cfg.fields",
        "cfg.param_dtype, cfg.reduce_dtype",
        Verdict.AFTER_ONLY,
        "before: `**cfg.fields` is not known",
    ),
    "a wrong table": Plant(
        DROPPED,
        "D = {'bf16': torch.bfloat16, 'fp32': torch.float16}\n" + policy(),
        ")",
        ", reduce_dtype=D[cfg.reduce])",
        Verdict.REFUTED,
        "after the fix reduce_dtype is float16 where float32 is asked for",
        settings="D",
    ),
    "a string": Plant(
        DROPPED,
        policy(", reduce_dtype=cfg.reduce_dtype"),
        "cfg.reduce_dtype",
        "str(cfg.reduce_dtype)",
        Verdict.REFUTED,
        "after the fix reduce_dtype is raises TypeError where bfloat16 is asked for",
    ),
    "fsdp1": Plant(
        DROPPED,
        "def f(c):\n    return MixedPrecision(c.param_dtype)",
        "c.param_dtype",
        "c.param_dtype, c.reduce_dtype, c.buffer_dtype",
        Verdict.CONFIRMED,
    ),
    "ddp": Plant(
        DROPPED,
        "from torch.nn.parallel.distributed import _MixedPrecision\ndef f(c):\n    return _MixedPrecision(c.param_dtype)",
        "c.param_dtype",
        "c.param_dtype, c.reduce_dtype",
        Verdict.NOT_CONFIRMABLE,
        reason=Reason.NEEDS_CUDA,
    ),
    "a name that nothing binds": Plant(
        DROPPED,
        "def g():\n    raw = {}\n    return [raw[k] for k in raw]\n\n\n" + policy(),
        ")",
        ", reduce_dtype=raw[cfg.reduce_dtype])",
        Verdict.REFUTED,
        "nothing binds `raw` there",
    ),
    "a name that a comprehension binds": Plant(
        DROPPED, policy(), ")", ", reduce_dtype=[d for d in (cfg.reduce_dtype,)][0])", Verdict.CONFIRMED
    ),
    "a setting in a branch that is not the first": Plant(
        DROPPED,
        "def read(m):\n    if isinstance(m, dict):\n        return m['param_dtype'], m['reduce_dtype']\n    return None, None\n\n\n"
        "def f(m):\n    a, b = read(m)\n    return MixedPrecisionPolicy(param_dtype=a)",
        "=a)",
        "=a, reduce_dtype=b)",
        Verdict.CONFIRMED,
    ),
    "a local that each branch writes out": Plant(
        DROPPED,
        "def f(self):\n    if self.precision == 'bf16':\n        a = torch.bfloat16\n        b = torch.float32\n"
        "    elif self.precision == 'fp32':\n        a = torch.float32\n        b = torch.float32\n"
        "    return MixedPrecisionPolicy(param_dtype=a)",
        "=a)",
        "=a, reduce_dtype=b)",
        Verdict.CONFIRMED,
        settings="b = torch.float32",
    ),
    "a setting that is read and not used": Plant(
        DROPPED,
        "reduce_dtype = None\n" + policy(),
        ")",
        ", reduce_dtype=cfg.reduce_dtype and torch.float32)",
        Verdict.REFUTED,
        "no value of `reduce_dtype` reaches `reduce_dtype`",
        settings="reduce_dtype = None",
    ),
    "a name of a precision that is no dtype": Plant(
        DROPPED,
        "def to(x):\n    return torch.bfloat16 if x in ('bf16', 'fp8') else torch.float16 if x == 'fp16' else torch.float32\n\n\n" + policy(),
        ")",
        ", reduce_dtype=to(cfg.reduce))",
        Verdict.CONFIRMED,
    ),
    "a function without a probe": Plant(
        DROPPED,
        "def f(c):\n    return wrap(param_dtype=c.param_dtype)",
        "c.param_dtype",
        "c.param_dtype, reduce_dtype=c.reduce_dtype",
        Verdict.CONFIRMED,
    ),
    "region": Plant(
        HARDCODED,
        "def f(self):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        pass",
        "torch.bfloat16",
        "self.dtype, enabled=self.dtype != torch.float32",
        Verdict.CONFIRMED,
    ),
    "region, by a test of something else": Plant(
        HARDCODED,
        "def f(self):\n    dtype = torch.bfloat16 if self.precision == 'bf16-mixed' else torch.half\n"
        "    return torch.autocast('cuda', dtype=torch.bfloat16)",
        "torch.bfloat16",
        "dtype",
        Verdict.CONFIRMED,
        settings="dtype = torch",
    ),
    "region, upcast": Plant(
        HARDCODED,
        "def f(self):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        pass",
        "torch.bfloat16",
        "self.dtype",
        Verdict.NOT_CONFIRMABLE,
        reason=Reason.NEEDS_CUDA,
    ),
    "region, backwards": Plant(
        HARDCODED,
        "def f(self):\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        pass",
        "torch.bfloat16",
        "self.dtype, enabled=self.dtype == torch.float32",
        Verdict.REFUTED,
        "after the fix matmul is float32 where bfloat16 is asked for",
    ),
    "region was right": Plant(
        HARDCODED,
        "def f(self):\n    with torch.autocast('cpu', dtype=self.dtype):\n        pass",
        "self.dtype",
        "self.dtype, enabled=self.dtype != torch.float32",
        Verdict.NOT_REPRODUCED,
        "the code follows the setting without the fix",
    ),
    "a note that is not reproduced": Plant(
        HARDCODED,
        "def f(self):\n    with torch.autocast('cpu', dtype=self.dtype):\n        pass",
        "self.dtype",
        "self.dtype, enabled=self.dtype != torch.float32",
        Verdict.NOT_REPRODUCED,
        "the code follows the setting without the fix",
        severity=Severity.NOTE,
    ),
    "an old region": Plant(
        SWITCH,
        "def f(self):\n    with torch.cuda.amp.autocast(torch.bfloat16):\n        pass",
        "torch.bfloat16",
        "dtype=torch.bfloat16",
        Verdict.CONFIRMED,
    ),
    "a literal": Plant(
        LITERAL,
        "def f(m):\n    return MixedPrecision(param_dtype=torch.bfloat16)",
        ")",
        ", reduce_dtype=torch.float32)",
        Verdict.CONFIRMED,
    ),
    "a scaler's switch": Plant(
        SWITCH, "def f(on):\n    return GradScaler(on)", "on)", "enabled=on)", Verdict.CONFIRMED
    ),
    "a sharded scaler's switch": Plant(
        SWITCH,
        "def f(d):\n    return ShardedGradScaler(d == torch.float16)",
        "d ==",
        "enabled=d ==",
        Verdict.CONFIRMED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    base = tmp_path_factory.mktemp("plants")
    with chdir(base):
        findings = []
        for number, case in enumerate(PLANTS.values()):
            text = HEAD + case.code + "\n"
            path = f"t{number}.py"
            finding = plant(path, text, case.old, case.new, case.name)
            start = text.index(case.settings) if case.settings else 0
            settings = planted(path, text, start, case.settings, "", case.name).position if case.settings else None
            findings.append(replace(finding, severity=case.severity, settings=(settings,) if settings else ()))
        run = drive(findings, walk(base, Flags()))
    return dict(zip(PLANTS, run.rows, strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_verdict(name: str, rows: dict[str, Row]) -> None:
    case, row = PLANTS[name], rows[name]
    assert (row.verdict, row.detail, row.reason) == (case.verdict, case.detail, case.reason), row
    assert row.failed == (case.verdict in (Verdict.REFUTED, Verdict.NOT_REPRODUCED) and not row.note)
    assert row.confirmed == (case.verdict in (Verdict.CONFIRMED, Verdict.AFTER_ONLY))


def test_the_evidence_says_how_far_it_goes(rows: dict[str, Row]) -> None:
    assert rows["reduce follows"].level is Level.OP
    assert rows["a function without a probe"].level is Level.FIELD
    assert rows["unknown fields"].level is Level.NONE


def test_the_trials_show_the_setting_in_front(rows: dict[str, Row]) -> None:
    first, *others = rows["reduce follows"].trials
    assert (first.intended, first.before, first.after) == ("float32", "bfloat16", "float32")
    assert {trial.intended for trial in others} == {"bfloat16", "float16"}
    assert rows["region"].assumed == ("cuda by cpu",)


def test_an_answer_for_several_trials_takes_its_time_once_and_the_weakest_evidence_counts() -> None:
    shared, strong, weak = ({"probe": name} for name in ("shared", "strong", "weak"))
    answers = {
        "shared": Seen({"x": "bfloat16", "witness": "value"}, seconds=1.0),
        "strong": Seen({"x": "float32", "witness": "value"}, seconds=2.0),
        "weak": Seen({"x": "float16"}, seconds=4.0),
    }
    finding = planted("a.py", "x = 1", 0, "x", "y", DROPPED)
    attempts = [
        Attempt("", dtype, Look(shared, "x"), Look(job, "x")) for dtype, job in (("float16", weak), ("float32", strong))
    ]
    row = judge(Plan(finding, "x", attempts=attempts), lambda job: answers[job["probe"]])
    assert (row.verdict, row.level, row.seconds) == (Verdict.CONFIRMED, Level.OP, 7.0)
