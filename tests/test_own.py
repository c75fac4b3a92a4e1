"""What a user can teach: constructors, converters and names of the project, and the weight of each rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dtypelint.cli import main

OURS = """
[roles]
wire = "reduce"

[[call]]
kind = "policy"
name = "Plan"
paths = ["vendorlib.Plan"]
parameters = ["compute", "wire"]
roles = { compute = "param", wire = "reduce" }

[[call]]
kind = "converter"
name = "as_dtype"
paths = ["vendorlib.as_dtype"]
parameters = ["text", "fallback"]
roles = { text = "general" }
"""
CODE = """from dataclasses import dataclass

from vendorlib import Plan, as_dtype


@dataclass
class Cfg:
    compute_dtype: str
    buffer_dtype: str
    wire: str


def build(cfg: Cfg):
    return Plan(compute=as_dtype(cfg.compute_dtype, cfg.buffer_dtype))
"""


def call(*args: str) -> Result:
    return CliRunner().invoke(main, ["check", *args], prog_name="dtypelint")


def findings(*args: str) -> list[dict[str, Any]]:
    result = call("--format", "json", *args)
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


@pytest.fixture
def project(work: Path) -> Path:
    (work / "pyproject.toml").write_text('[tool.dtypelint]\napis = ["ours.toml"]\n')
    (work / "ours.toml").write_text(OURS)
    (work / "train.py").write_text(CODE)
    return work


def test_constructors_converters_and_names_of_the_project(project: Path) -> None:
    (found,) = findings()
    assert found["code"] == "DTL101"
    assert found["message"].startswith("`Plan` leaves out `wire` although `cfg.wire` is in reach")
    assert found["fix"]["description"] == "pass `wire=as_dtype(cfg.wire, cfg.buffer_dtype)`"


def test_without_the_file_nothing_is_known(project: Path) -> None:
    assert findings("--isolated") == []


def test_a_name_alone_is_a_setting(project: Path) -> None:
    (project / "ours.toml").write_text('[roles]\nwire = "reduce"\n')
    (project / "train.py").write_text(
        "from torch.distributed.fsdp import MixedPrecisionPolicy\n\n\n"
        "def build(param_dtype, wire):\n    return MixedPrecisionPolicy(param_dtype=param_dtype)\n"
    )
    (found,) = findings("--select", "DTL101")
    assert "`wire` is in reach" in found["message"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "policy"', 'kind = "polizy"', "ours.toml:6: `polizy` is none of arguments, autocast"),
        ('wire = "reduce"\n\n', 'wire = "redux"\n\n', "ours.toml:3: `redux` is none of autocast, buffer"),
        ('compute = "param"', 'compute = "parm"', "`parm` is none of autocast, buffer"),
        ("parameters", "parametres", "unknown key `call.parametres`: did you mean `parameters`?"),
        ('paths = ["vendorlib.Plan"]', "", "`Plan` has no paths"),
        ("[roles]", "[rolls]", "unknown key `rolls`: did you mean `roles`?"),
    ],
)
def test_a_mistake_in_the_file_names_its_place(project: Path, old: str, new: str, message: str) -> None:
    (project / "ours.toml").write_text(OURS.replace(old, new, 1))
    result = call()
    assert result.exit_code == 2
    assert message in result.stderr


def settings(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f'[tool.dtypelint]\napis = ["ours.toml"]\n{text}')


@pytest.mark.parametrize(
    ("text", "severity", "status"),
    [
        ('severity.DTL101 = "note"', "note", 0),
        ('severity.dropped-policy-dtype = "warning"', "warning", 1),
        ('severity = { ALL = "note", DTL1 = "warning" }', "warning", 1),
        ('severity = { DTL101 = "error", DTL10 = "note", ALL = "note" }', "error", 1),
    ],
)
def test_a_severity_of_ones_own(project: Path, text: str, severity: str, status: int) -> None:
    settings(project, text)
    assert [found["severity"] for found in findings()] == [severity]
    assert call().exit_code == status


@pytest.mark.parametrize(
    ("text", "safety"), [("", "safe"), ('fix.DTL101 = "unsafe"', "unsafe"), ('fix.DTL1 = "safe"', "safe")]
)
def test_a_safety_of_ones_own(project: Path, text: str, safety: str) -> None:
    settings(project, text)
    assert [found["fix"]["safety"] for found in findings()] == [safety]
    before = (project / "train.py").read_text()
    call("--fix")
    assert ((project / "train.py").read_text() == before) is (safety == "unsafe")


def test_a_fix_that_is_not_wanted(project: Path) -> None:
    settings(project, 'fix.DTL101 = "none"')
    (found,) = findings()
    assert (found["fix"], found["fix_withheld"]) == (None, "the settings say so")


def test_the_severity_of_an_unreadable_file(project: Path) -> None:
    settings(project, 'severity.DTL000 = "note"')
    (project / "train.py").write_text("from vendorlib import Plan (\n")
    assert [found["severity"] for found in findings()] == ["note"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('severity.DTL101 = "fatal"', "pyproject.toml:3: `fatal` is none of error, warning, note"),
        ('severity.DTL999 = "note"', "pyproject.toml:3: unknown rule `DTL999`"),
        ('fix.DTL101 = "maybe"', "pyproject.toml:3: `maybe` is none of safe, unsafe, none"),
        ("fix = 1", "pyproject.toml:3: `tool.dtypelint.fix` must be a table"),
    ],
)
def test_a_mistake_in_the_settings_names_its_place(project: Path, text: str, message: str) -> None:
    settings(project, text)
    result = call()
    assert result.exit_code == 2
    assert message in result.stderr
