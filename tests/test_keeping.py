"""A setting that one method works out and another needs: stored on the object, with a default for whoever skips it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtypelint.engine import Options
from dtypelint.fixer import Fixer
from dtypelint.settings import Flags
from dtypelint.workspace import Workspace

HEAD = """import torch

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


"""
USE = "        with torch.autocast('cuda', dtype=torch.bfloat16):\n            return self.model(x).loss.backward()\n"
FIXED = USE.replace("torch.bfloat16", "self._autocast_dtype, enabled=self._autocast_dtype != torch.float32")
BUILD = "        param_dtype = DTYPES[config.param_dtype]\n"
STORE = "        self._autocast_dtype = param_dtype\n"
DEFAULT = "self._autocast_dtype = torch.bfloat16\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def fixed(folder: Path, **files: str) -> tuple[dict[str, str], list[str]]:
    """The texts after all fixes of DTL201, and why others were not made."""
    for name, text in files.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    workspace = Workspace([Path()], Options(Flags(select=("DTL201",))))
    result = Fixer(workspace, lambda _finding, _texts: True).run()
    held = [finding.fix_withheld or "" for finding in workspace.report(result.withheld).findings]
    after = {name: (folder / f"{name}.py").read_bytes().decode() for name in files}
    after.update({change.path.removesuffix(".py"): change.after.text for change in result.changes})
    return after, held


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "    def __init__(self, model):\n        self.model = model\n\n"
            f"    def build(self, config):\n{BUILD}        return param_dtype\n\n    def loss(self, x):\n{USE}",
            f"    def __init__(self, model):\n        {DEFAULT}        self.model = model\n\n"
            f"    def build(self, config):\n{BUILD}{STORE}        return param_dtype\n\n    def loss(self, x):\n{FIXED}",
            id="a method",
        ),
        pytest.param(
            f"    def __init__(self, model, config):\n        self.model = model\n{BUILD}"
            f"        self.model.to(param_dtype)\n\n    def loss(self, x):\n{USE}",
            f"    def __init__(self, model, config):\n        self.model = model\n{BUILD}{STORE}"
            f"        self.model.to(param_dtype)\n\n    def loss(self, x):\n{FIXED}",
            id="the constructor needs no default",
        ),
        pytest.param(
            f"    def build(self, config):\n{BUILD}        return param_dtype\n\n    def loss(self, x):\n{USE}",
            "    _autocast_dtype = torch.bfloat16\n\n"
            f"    def build(self, config):\n{BUILD}{STORE}        return param_dtype\n\n    def loss(self, x):\n{FIXED}",
            id="no constructor",
        ),
        pytest.param(
            '    """Doc."""\n\n    # about the constructor\n    @wrapped\n    def __new__(cls):\n        return None\n\n'
            f"    def build(self, config):\n{BUILD}        return param_dtype\n\n    def loss(self, x):\n{USE}",
            '    """Doc."""\n\n    _autocast_dtype = torch.bfloat16\n\n    # about the constructor\n    @wrapped\n'
            "    def __new__(cls):\n        return None\n\n"
            f"    def build(self, config):\n{BUILD}{STORE}        return param_dtype\n\n    def loss(self, x):\n{FIXED}",
            id="behind the docstring, before a comment and a decorator",
        ),
        pytest.param(
            '    def __init__(self, model):\n        """Doc."""\n        self.model = model\n\n'
            "    def build(self, config):\n        if config.mixed:\n    "
            + BUILD
            + "        else:\n            param_dtype = torch.float32  # none\n"
            f"        return param_dtype\n\n    def loss(self, x):\n{USE}",
            f'    def __init__(self, model):\n        """Doc."""\n        {DEFAULT}        self.model = model\n\n'
            "    def build(self, config):\n        if config.mixed:\n    "
            + BUILD
            + "        else:\n            param_dtype = torch.float32  # none\n"
            f"{STORE}        return param_dtype\n\n    def loss(self, x):\n{FIXED}",
            id="two branches",
        ),
        pytest.param(
            "    def __init__(self, model):\n        self.model = model\n\n"
            "    def build(self, config):\n        for config in [config]:\n    "
            + BUILD.rstrip()
            + "  # from the file\n            use(param_dtype)\n"
            f"\n    def loss(self, x):\n{USE}",
            f"    def __init__(self, model):\n        {DEFAULT}        self.model = model\n\n"
            "    def build(self, config):\n        for config in [config]:\n    "
            + BUILD.rstrip()
            + f"  # from the file\n    {STORE}            use(param_dtype)\n"
            f"\n    def loss(self, x):\n{FIXED}",
            id="inside of a block, behind a comment",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["    ", "\t"])
def test_a_local_is_kept_and_used(folder: Path, before: str, after: str, newline: str, indent: str) -> None:
    def text(body: str) -> str:
        return (HEAD + "class Engine:\n" + body).replace("    ", indent).replace("\n", newline)

    texts, held = fixed(folder, train=text(before).replace(f"{{{indent}", "{"))
    assert held == []
    assert texts["train"] == text(after)
    assert fixed(folder, **texts) == (texts, [])


def test_the_base_class_keeps_it_for_a_subclass_in_another_file(folder: Path) -> None:
    base = f"{HEAD}class Base:\n    def build(self, config):\n{BUILD}        return param_dtype\n"
    sub = f"import torch\n\nfrom base import Base\n\n\nclass Engine(Base):\n    def loss(self, x):\n{USE}"
    texts, held = fixed(folder, base=base, sub=sub)
    assert held == []
    assert "    _autocast_dtype = torch.bfloat16\n\n    def build(" in texts["base"]
    assert STORE in texts["base"]
    assert texts["sub"] == sub.replace(USE, FIXED)


def test_a_subclass_that_skips_the_constructor_sees_the_default(folder: Path) -> None:
    body = (
        "class Engine:\n    def __init__(self, model):\n        self.model = model\n\n"
        f"    def build(self, config):\n{BUILD}        return param_dtype\n\n    def loss(self, x):\n{USE}"
    )
    other = "from train import Engine\n\n\nclass Other(Engine):\n    def __init__(self):\n        pass\n"
    texts, _ = fixed(folder, train=HEAD + body, other=other)
    assert "class Engine:\n    _autocast_dtype = torch.bfloat16\n\n    def __init__" in texts["train"]
    kind = other.replace("pass", "super().__init__(None)")
    texts, _ = fixed(folder, train=HEAD + body, other=kind)
    assert f"    def __init__(self, model):\n        {DEFAULT}" in texts["train"]


@pytest.mark.parametrize(
    ("head", "build", "reason"),
    [
        ("    __slots__ = ('model',)\n\n", BUILD, "takes no further attributes"),
        ("    _autocast_dtype = _param_dtype = 3\n\n", BUILD, "is the name of something else"),
        (
            "",
            f"        if config.mixed:\n    {BUILD}        elif config:\n            param_dtype = torch.float32\n",
            "is not set on every path",
        ),
    ],
)
def test_what_cannot_be_kept_is_said(folder: Path, head: str, build: str, reason: str) -> None:
    text = (
        f"{HEAD}class Engine:\n{head}    def build(self, config):\n{build}        return config\n\n"
        f"    def loss(self, x):\n{USE}"
    )
    texts, held = fixed(folder, train=text)
    assert texts["train"] == text
    assert [reason in each for each in held] == [True]
