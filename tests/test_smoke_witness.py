"""The value witness: two real ranks, and what is made of their answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from smoking import NEWEST

from dtypelint.finding import Position
from dtypelint.smoke.plans import Attempt, Look, Plan
from dtypelint.smoke.records import Level, Reason, Row, Seen, Verdict
from dtypelint.smoke.session import Session
from dtypelint.smoke.witness import witnessed

PLACE = Position("a.py", 1, 1, 1, 2)
ROW = Row("DTL101", "x", PLACE, "y", "safe", Verdict.CONFIRMED, level=Level.OP)


def plan(key: str = "reduce_scatter") -> Plan:
    looks = [Look({"probe": "policy", "family": "fsdp2", "fields": {}}, key) for _ in range(2)]
    finding: Any = SimpleNamespace()
    return Plan(finding, attempts=[Attempt("", dtype, *looks) for dtype in ("float32", "bfloat16")])


class Ranks:
    """Stands for a session: answers in turn."""

    def __init__(self, *answers: Seen) -> None:
        self.answers = answers

    def drive(self, jobs: list[dict[str, Any]]) -> list[Seen]:
        assert all(job["probe"] == "witness" for job in jobs)
        return [self.answers[index] for index, _ in enumerate(jobs)]


def judged(row: Row, made: Plan, *answers: Seen) -> Row:
    session: Any = Ranks(*answers)
    (result,) = witnessed([row], [made], session)
    return result


def mean(text: str) -> Seen:
    return Seen({"mean": text}, seconds=1.0)


def test_right_arithmetic_is_the_strongest_evidence() -> None:
    row = judged(ROW, plan(), mean("0.5009765625"), mean("0.5"))
    assert (row.verdict, row.level, row.seconds) == (Verdict.CONFIRMED, Level.VALUE, 2.0)


def test_wrong_arithmetic_refutes() -> None:
    row = judged(ROW, plan(), mean("0.5"), mean("0.5"))
    assert (row.verdict, row.level) == (Verdict.REFUTED, Level.VALUE)
    assert row.detail == "two ranks reduce to 0.5 where float32 gives 0.5009765625"


@pytest.mark.parametrize("answer", [Seen(reason=Reason.NEEDS_TWO_GPUS), Seen(error="no interface")])
def test_no_witness_leaves_the_verdict(answer: Seen) -> None:
    row = judged(ROW, plan(), mean("0.5009765625"), answer)
    assert (row.verdict, row.level) == (Verdict.CONFIRMED, Level.OP)
    assert row.assumed == (f"no witness: {answer.error or answer.reason}",)


def test_what_is_no_reduction_has_no_witness() -> None:
    assert judged(ROW, plan("all_gather")) is ROW
    refuted = Row("DTL101", "x", PLACE, "y", "safe", Verdict.REFUTED)
    assert judged(refuted, plan()) is refuted


def test_two_real_ranks() -> None:
    bf16, fp32 = {"dtype": "bfloat16"}, {"dtype": "float32"}
    jobs: list[dict[str, Any]] = [
        {"probe": "witness", "family": "fsdp2", "fields": {"param_dtype": bf16}},
        {"probe": "witness", "family": "fsdp2", "fields": {"param_dtype": bf16, "reduce_dtype": fp32}},
        {"probe": "witness", "family": "fsdp1", "fields": {"param_dtype": bf16, "reduce_dtype": fp32}},
        {"probe": "witness", "family": "fsdp2", "fields": {"no_such_field": fp32}},
    ]
    seen = Session(device="cpu", timeout=300.0, newest=NEWEST).drive(jobs)
    assert [each.notes.get("mean") for each in seen] == ["0.5", "0.5009765625", "0.5009765625", None], seen
    assert "no_such_field" in seen[3].error
