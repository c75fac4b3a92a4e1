"""The bugs that the tool was written for, from the finding to what torch does, in the projects of `testdata/`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from smoking import environment

from dtypelint.cli import main

HERE = Path(__file__).parent.parent
ENGINE, DROPPED = "resolved_elsewhere", "dropped_reduce"
UNUSED = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_processes: 8
fp8_config:
  backend: AO
"""


def smoked(*args: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(main, ("smoke", "--device", "cpu", "--format", "json", *args), prog_name="dtypelint")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows


def changes(row: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {trial["intended"]: (trial["before"], trial["after"]) for trial in row["trials"]}


@pytest.mark.parametrize(
    ("project", "rule", "subject", "evidence", "change"),
    [
        (DROPPED, "DTL101", "reduce_dtype", "op", ("bfloat16", "float32")),
        (DROPPED, "DTL502", "`parameter`", "value", ("bfloat16", "float32")),
        (ENGINE, "DTL201", "matmul", "op", ("bfloat16", "float32")),
    ],
)
def test_a_setting_that_was_lost_arrives(
    work: Path, project: str, rule: str, subject: str, evidence: str, change: tuple[str, str]
) -> None:
    shutil.copytree(HERE / "testdata" / project / "in", work / "in")
    (row,) = smoked("in", "--rule", rule, "--strict")
    assert (row["verdict"], row["subject"], row["evidence"]) == ("confirmed", subject, evidence), row
    assert changes(row)["float32"] == change
    if project == ENGINE:
        assert changes(row)["float16"] == ("bfloat16", "float16")


def test_fp8_that_was_configured_and_not_used(work: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = environment(tmp_path_factory.mktemp("environment"))
    if python == sys.executable:
        pytest.skip("no accelerate and torchao in DTYPELINT_PACKAGES")
    (work / "accelerate.yaml").write_text(UNUSED)
    (row,) = smoked(".", "--rule", "DTL303", "--python", python)
    assert (row["verdict"], row["safety"], changes(row)) == (
        "confirmed",
        "unsafe",
        {"in use": ("not in use", "in use")},
    )
    before, after = row["seen"]
    assert before == "before: 0 of 4 linear layers are fp8"
    assert after.startswith("after: 2 of 4 linear layers are fp8, products of float8_e4m3fn")
