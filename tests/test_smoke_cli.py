"""`dtypelint smoke`: formats and exit statuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dtypelint.cli import main
from dtypelint.finding import Position
from dtypelint.knowledge import Knowledge
from dtypelint.smoke import render, verdict
from dtypelint.smoke import run as smoke_run
from dtypelint.smoke.plans import Plan
from dtypelint.smoke.records import Level, Machine, Reason, Row, Run, Trial, Verdict

FOUNDING = Path(__file__).parent.parent / "testdata" / "dropped_reduce" / "in"


def call(*args: str) -> Result:
    return CliRunner().invoke(main, ("smoke", "--device", "cpu", *args), prog_name="dtypelint")


@pytest.fixture
def project(work: Path) -> Path:
    shutil.copytree(FOUNDING, work / "in")
    return work / "in"


def test_the_dropped_reduction_is_proven(project: Path) -> None:
    result = call("in", "--rule", "DTL101", "--strict", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["path"], row["verdict"], row["evidence"]) == ("in/trainer/shard.py", "confirmed", "op")
    assert row["trials"][0] == {
        "setting": "float32",
        "intended": "float32",
        "before": "bfloat16",
        "after": "float32",
    }


def test_a_folder_without_fixes_needs_no_torch(work: Path) -> None:
    (work / "a.py").write_text("x = 1\n")
    result = call(".", "--python", "/no/such/python", "--strict")
    assert (result.exit_code, result.stdout) == (0, "no fix to prove\n")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="dtypelint")


def test_check_proves_what_it_found(project: Path) -> None:
    result = run("check", "in", "--smoke", "--select", "DTL101", "--device", "cpu")
    assert result.exit_code == 1
    assert "error[DTL101]" in result.stdout
    assert "1 confirmed (torch" in result.stdout
    result = run("check", "in", "--smoke", "--select", "DTL101", "--device", "cpu", "--format", "json", "--exit-zero")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["findings"]) == 1
    assert "1 confirmed (torch" in result.stderr


def test_fix_applies_what_was_confirmed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "trainer" / "shard.py"
    before = path.read_text()
    monkeypatch.setattr(verdict, "decide", lambda plan, trials: (Verdict.REFUTED, "made up"))
    result = run("fix", "in", "--smoke", "--device", "cpu", "--allow-unconfirmed")
    assert result.exit_code == 1
    assert "2 refuted" in result.stdout + result.stderr
    assert path.read_text() == before
    monkeypatch.undo()
    monkeypatch.chdir(project.parent)
    result = run("fix", "in", "--smoke", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "reduce_dtype=precision.reduce_dtype" in path.read_text()
    assert "parameter.data = parameter.data.to(torch.float32)" in path.read_text()


def test_what_cannot_be_confirmed_is_applied_only_when_allowed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "trainer" / "shard.py"
    before = path.read_text()

    def unknown(plan: Plan, answer: object) -> Row:
        finding = plan.finding
        return Row(finding.code, finding.name, finding.position, "x", "safe", Verdict.NOT_CONFIRMABLE)

    monkeypatch.setattr(smoke_run, "judge", unknown)
    assert run("fix", "in", "--smoke", "--device", "cpu").exit_code == 1
    assert path.read_text() == before
    assert run("fix", "in", "--smoke", "--device", "cpu", "--allow-unconfirmed").exit_code == 0
    assert path.read_text() != before


@pytest.mark.parametrize(
    "args",
    [
        ("check", "-", "--smoke"),
        ("check", "in", "--smoke", "--fix"),
        ("fix", "-", "--smoke"),
        ("fix", "in", "--allow-unconfirmed"),
    ],
)
def test_what_does_not_go_together(project: Path, args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-",), "not the standard input"),
        (("nowhere",), "no such file or folder"),
        (("in", "--rule", "DTL777"), "DTL777"),
        (("in", "--python", "/no/such/python"), "cannot be started"),
        (("in", "--timeout", "0"), "--timeout"),
    ],
)
def test_a_wrong_call_is_explained(project: Path, args: tuple[str, ...], words: str) -> None:
    result = call(*args)
    assert result.exit_code == 2
    assert words in result.stderr


PLACE = Position("a|b.py", 3, 5, 3, 9)
ROWS = (
    Row(
        "DTL101",
        "dropped-policy-dtype",
        PLACE,
        "pass it",
        "safe",
        Verdict.CONFIRMED,
        "reduce_dtype",
        "cfg.reduce",
        (Trial("'fp32'", "float32", "bfloat16", "float32"),),
        level=Level.OP,
        seen=("after: all",),
        assumed=("cuda by cpu",),
        seconds=0.25,
    ),
    Row("DTL201", "x", PLACE, "y", "unsafe", Verdict.NOT_CONFIRMABLE, reason=Reason.NEEDS_CUDA),
    Row("DTL106", "z", PLACE, "w", "safe", Verdict.AFTER_ONLY, "s", "", (Trial("", "float32", None, "float32"),)),
)
RUN = Run(ROWS, Machine("2.13.0", "cuda", "H", 1), 1.25, 2)


def test_text() -> None:
    assert render.text(RUN) == (
        "a|b.py:3:5: DTL101 [dropped-policy-dtype] confirmed [op, torch 2.13.0 on cuda (H), 0.25 s]\n"
        "    fix: pass it (safe)\n"
        "    reduce_dtype follows `cfg.reduce`, intended → before → after:\n"
        "      float32 → bfloat16 → float32\n"
        "    seen after: all\n"
        "    assumed: cuda by cpu\n"
        "a|b.py:3:5: DTL201 [x] not confirmable here: needs-cuda\n"
        "    fix: y (unsafe)\n"
        "a|b.py:3:5: DTL106 [z] confirmed (after only)\n"
        "    fix: w (safe)\n"
        "    s, intended → before → after:\n"
        "      float32 → unknown → float32\n"
        "1 confirmed, 1 confirmed (after only), 1 not confirmable here; 2 without a fix (torch 2.13.0 on cuda (H), 1.2 s)\n"
    )


def test_markdown() -> None:
    lines = render.markdown(RUN).splitlines()
    assert lines[2] == (
        "| DTL101 dropped-policy-dtype | `a\\|b.py:3` | reduce_dtype: float32 → bfloat16 → float32 | confirmed | op |"
        " cuda | 2.13.0 | 0.25 s |"
    )
    assert {line.count("|") - line.count("\\|") for line in lines[:5]} == {9}


def test_json() -> None:
    document = json.loads(render.data(RUN))
    assert document["machine"] == {"torch": "2.13.0", "device": "cuda", "name": "H", "gpus": 1}
    assert (document["rows"][0]["device"], document["rows"][0]["torch"]) == ("cuda", "2.13.0")
    assert document["rows"][0]["seen"] == ["after: all"]
    assert document["summary"] == {
        "confirmed": 1,
        "after_only": 1,
        "refuted": 0,
        "not_reproduced": 0,
        "not_confirmable": 1,
        "without_fix": 2,
        "seconds": 1.25,
    }


@pytest.mark.parametrize(
    ("verdict", "note", "status"),
    [
        (Verdict.CONFIRMED, False, (False, False)),
        (Verdict.AFTER_ONLY, False, (False, False)),
        (Verdict.REFUTED, True, (True, True)),
        (Verdict.NOT_REPRODUCED, False, (True, True)),
        (Verdict.NOT_REPRODUCED, True, (False, True)),
        (Verdict.NOT_CONFIRMABLE, False, (False, True)),
    ],
)
def test_what_fails_a_run(verdict: Verdict, note: bool, status: tuple[bool, bool]) -> None:
    run = Run((Row("DTL101", "x", PLACE, "y", "safe", verdict, note=note),), Machine(), 0.0)
    assert (run.failed(strict=False), run.failed(strict=True)) == status


def test_the_docs_name_every_verdict_reason_and_probe() -> None:
    text = (Path(__file__).parent.parent / "docs" / "smoke.md").read_text(encoding="utf-8")
    rules = Knowledge().rules
    probes = {rule.smoke for rule in rules if not rule.smoke.startswith("none: ")}
    for word in (*Verdict, *Reason, *(level for level in Level if level), *probes):
        assert f"`{word}`" in text, word
