"""The versions that a project declares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.declared import declared


def said(files: dict[str, str]) -> dict[str, str]:
    return declared(tuple(files), files.get)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.7.1"\n', {"torch": "2.7.1"}),
        ("poetry.lock", '[[package]]\nname = "accelerate"\nversion = "1.8.1"\n', {"accelerate": "1.8.1"}),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.6,<2.15", "numpy"]\n', {"torch": "<2.15,>=2.6"}),
        ("pyproject.toml", '[project.optional-dependencies]\ntrain = ["trl==1.2"]\n', {"trl": "1.2"}),
        ("pyproject.toml", '[dependency-groups]\ndev = ["torch~=2.6", {include-group = "x"}]\n', {"torch": "~=2.6"}),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "*"\ntorch = "^2.3"\n', {"torch": "<3,>=2.3"}),
        (
            "pyproject.toml",
            '[tool.poetry.group.a.dependencies]\ntorch = {version = "~0.4", extras = []}\n',
            {"torch": "<0.5,>=0.4"},
        ),
        (
            "requirements-gpu.txt",
            "# pins\ntorch==2.5.1 --hash=sha256:0 \\\n-r other.txt\ntransformer-engine>=1.0  # fp8\n",
            {"torch": "2.5.1", "transformer_engine": ">=1.0"},
        ),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch<2.4\n  rich\n", {"torch": "<2.4"}),
        ("setup.cfg", "[options.extras_require]\ngpu = deepspeed>=0.17\n", {"deepspeed": ">=0.17"}),
        (
            "setup.py",
            "from setuptools import setup\nsetup(install_requires=['torch>=2.1', 'x y'])\n",
            {"torch": ">=2.1"},
        ),
    ],
)
def test_a_file_says_its_versions(name: str, text: str, expected: dict[str, str]) -> None:
    assert said({name: text}) == expected


def test_a_lock_stands_above_a_range() -> None:
    files = {
        "pyproject.toml": '[project]\ndependencies = ["torch>=2.6", "peft>=0.1"]\n',
        "uv.lock": '[[package]]\nname = "torch"\nversion = "2.7.1"\n',
    }
    assert said(files) == {"torch": "2.7.1", "peft": ">=0.1"}


@given(
    name=st.sampled_from(["uv.lock", "poetry.lock", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py"]),
    text=st.text(max_size=200)
    | st.sampled_from(["[project]\ndependencies = 3", "package = [1]", "[tool]\npoetry = []"]),
)
def test_a_broken_file_says_nothing_or_little(name: str, text: str) -> None:
    said({name: text})
