"""The hooks for pre-commit; `.ci/hooks` runs the real one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from dtypelint.cli import main

HERE = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in YAML(typ="safe").load((HERE / ".pre-commit-hooks.yaml").read_text("utf-8"))}


def test_there_are_two() -> None:
    assert set(HOOKS) == {"dtypelint", "dtypelint-fix"}
    assert HOOKS["dtypelint"]["types_or"] == ["python", "jupyter", "yaml", "json", "shell"]


@pytest.mark.parametrize("name", HOOKS)
def test_an_excluded_file_is_left_out_though_it_is_named(name: str, work: Path) -> None:
    (work / "pyproject.toml").write_text('[tool.dtypelint]\nextend-exclude = ["vendor/"]\n')
    (work / "vendor").mkdir()
    before = "import torch\n\n\ndef f(m):\n    for p in m.parameters():\n        p = p.half()\n"
    (work / "vendor" / "a.py").write_text(before)
    program, *args = shlex.split(HOOKS[name]["entry"])
    assert program == "dtypelint"
    result = CliRunner().invoke(main, [*args, "vendor/a.py"])
    assert (result.exit_code, "a.py" in result.output) == (0, False)
    assert (work / "vendor" / "a.py").read_text() == before
