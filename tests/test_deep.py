"""Code that is nested deeply is checked, or refused with the reason; it never ends the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtypelint import check

SINK = """from torch.distributed.fsdp import MixedPrecisionPolicy


def policy(cfg):
    _, param_dtype, reduce_dtype = cfg.name, cfg.param_dtype, cfg.reduce_dtype
    return MixedPrecisionPolicy(param_dtype=param_dtype)


"""

DEEP = {
    "attributes": "x = a" + ".b" * 3_000,
    "calls": "x = a" + ".b()" * 300,
    "conditions": "x = " + "1 if y else " * 2_000 + "1",
    "branches": "if x:\n    pass\n" + "elif x == 1:\n    y = 1\n" * 1_500,
    "operators": "x = 0" + " + 1" * 10_000,
    "negations": "x = " + "not " * 3_000 + "y",
    "lambdas": "x = " + "lambda: " * 900 + "y",
}
TOO_DEEP = {
    "brackets": "x = " + "[" * 5_000 + "]" * 5_000,
    "branches": "if x:\n    pass\n" + "elif x == 1:\n    y = 1\n" * 20_000,
}


def codes(text: str, folder: Path) -> list[str]:
    (folder / "train.py").write_text(text)
    return [finding.code for finding in check([folder])]


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_code_is_checked(text: str, tmp_path: Path) -> None:
    assert codes(SINK + text + "\n", tmp_path) == ["DTL101"]


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_what_is_too_deep_is_named(text: str, tmp_path: Path) -> None:
    assert codes(SINK + text + "\n", tmp_path) == ["DTL000"]
