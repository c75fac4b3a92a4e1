"""fp8 configurations, resolved and built by the real accelerate and torchao where they are there."""

from __future__ import annotations

import sys
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from smoking import drive, environment, plant, walk

from dtypelint.settings import Flags
from dtypelint.smoke.configs import variables
from dtypelint.smoke.records import Reason, Trial, Verdict
from dtypelint.smoke.symbols import Unknown

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

CONFIG = "distributed_type: {}\nmixed_precision: {}\nfp8_config:\n  backend: {}\n  {}\n"
WRONG_NAME = CONFIG.format("MULTI_GPU", "fp8", "torchao", "pad_inner_dim: true")
UNREAD = CONFIG.format("MULTI_GPU", "fp8", "AO", "amax_history_length: 16")
IGNORED, UNKNOWN = "ignored-fp8-key", "unknown-fp8-backend"
PLANTS = {
    "a section that is not used": (
        IGNORED,
        CONFIG.format("FSDP", "bf16", "AO", "pad_inner_dim: true"),
        "bf16",
        "fp8",
        (Verdict.CONFIRMED, "not in use", "in use"),
    ),
    "a wrong name": (
        UNKNOWN,
        WRONG_NAME,
        "torchao",
        "AO",
        (Verdict.CONFIRMED, "raises ValueError", "in use"),
    ),
    "another wrong name": (
        UNKNOWN,
        WRONG_NAME,
        "torchao",
        "ao",
        (Verdict.REFUTED, "raises ValueError", "raises ValueError"),
    ),
    "a file of another tool": (
        UNKNOWN,
        "stage: sft\nfp8: true\nfp8_backend: TE\n",
        "TE",
        "te",
        (Verdict.NOT_CONFIRMABLE, None, None),
    ),
    "a key that nobody reads": (
        IGNORED,
        UNREAD,
        "amax_history_length",
        "amax_history_len",
        (Verdict.CONFIRMED, "1024", "16"),
    ),
    "a key that nobody reads either": (
        IGNORED,
        UNREAD,
        "amax_history_length",
        "amax_history",
        (Verdict.REFUTED, "unset", "unset"),
    ),
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    python = environment(tmp_path_factory.mktemp("environment"))
    base = tmp_path_factory.mktemp("fp8")
    with chdir(base):
        cases = enumerate(PLANTS.values())
        findings = [plant(f"c{number}.yaml", text, old, new, name) for number, (name, text, old, new, _) in cases]
        run = drive(findings, walk(base, Flags()), python=python)
    if python == sys.executable:
        assert {row.reason for row in run.rows} == {Reason.BACKEND_MISSING}
        pytest.skip("no accelerate and torchao in DTYPELINT_PACKAGES")
    return dict(zip(PLANTS, run.rows, strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_verdict(name: str, rows: dict[str, Row]) -> None:
    row = rows[name]
    trial = row.trials[0] if row.trials else Trial("", "", None, None)
    assert (row.verdict, trial.before, trial.after) == PLANTS[name][-1], row


def test_the_converted_layers_are_counted(rows: dict[str, Row]) -> None:
    assert rows["a section that is not used"].seen == (
        "before: 0 of 4 linear layers are fp8",
        "after: 2 of 4 linear layers are fp8, products of float8_e4m3fn and float8_e5m2",
    )


def test_variables_of_a_module() -> None:
    text = 'import os\nos.environ["A"] = "1"\nos.environ.setdefault("B", "2")\nos.environ["C"] = x\nd["D"] = "4"\n'
    assert variables(text) == {"A": "1", "B": "2"}
    with pytest.raises(Unknown, match="no variable"):
        variables("x = 1\n")
