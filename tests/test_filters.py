"""Filters of fp8 conversions against the names of a model: which names count, and whose list it is."""

from __future__ import annotations

import pytest

from dtypelint.facts.project import Project
from dtypelint.knowledge import Knowledge

KNOWLEDGE = Knowledge()
HEAD = """
import timm
from functools import partial
from torch import nn
from torchao.float8 import convert_to_float8_training


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width)


class Model(nn.Module):
    def __init__(self, width, extra=None):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(4))
        self.out_proj = nn.Linear(width, width)
{more}

def convert():
    convert_to_float8_training(Model(64), module_filter_fn=lambda module, fqn: {test})
"""


def unmatched(files: dict[str, str], path: str = "a.py") -> list[str]:
    project = Project(files, KNOWLEDGE, {}, files.get)
    return [found.name for found in project.facts(path).unmatched]


def ask(test: str, more: str = "") -> list[str]:
    return unmatched({"a.py": HEAD.format(test=test, more=f"        {more}\n" if more else "")})


@pytest.mark.parametrize(
    ("test", "lost"),
    [
        ('"proj" not in fqn', []),
        ('"head" not in fqn', ["head"]),
        ('fqn != "proj"', ["proj"]),
        ('"out_proj" == fqn', []),
        ('fqn not in ("out_proj", "up")', []),
        ('fqn not in ("proj", "down")', ["proj", "down"]),
        ('not fqn.endswith("proj")', []),
        ('not fqn.endswith("out")', ["out"]),
        ('fqn.startswith("out")', []),
        ('fqn.startswith("proj")', ["proj"]),
        ('"proj" not in fqn.split(".")', ["proj"]),
        ('fqn.rpartition(".")[2] != "up"', []),
        ('"layers.3.up" not in fqn', []),
        ('"yers.3.u" not in fqn', []),
        ('"layer.up" not in fqn', ["layer.up"]),
        ('"norm2" not in fqn', []),
        ('"OUT" not in fqn', []),
        ('"" not in fqn', []),
        ('"layers.*" not in fqn', []),
        ('"head" not in str(module)', []),
    ],
)
def test_names_count_where_a_filter_looks(test: str, lost: list[str]) -> None:
    assert ask(test) == lost


@pytest.mark.parametrize(
    "more",
    [
        'self.trunk = timm.create_model("a")',
        "self.block = nn.TransformerEncoderLayer(width, 4)",
        "self.add_module(extra, nn.Linear(width, width))",
        "setattr(self, extra, nn.Linear(width, width))",
        "self.parts = nn.ModuleDict({name: nn.Linear(width, width) for name in extra})",
        "self.parts = nn.ModuleDict(extra)",
        "self.parts = nn.Sequential(*extra)",
        "self.parts = nn.Sequential(extra)",
        "self.norm = extra(width)",
        "self.part = extra.build()",
        "self.part = extra\n\n    def forward(self, x):\n        return self.part(x)",
        "self.head = nn.Linear(width, width)",
    ],
)
def test_a_part_that_cannot_be_seen_may_have_any_name(more: str) -> None:
    assert ask('"head" not in fqn', more) == []


@pytest.mark.parametrize(
    "more",
    [
        "self.extra = extra",
        "self.scale = nn.Parameter(nn.init.zeros_(width).view(-1))",
        "self.parts = nn.ModuleDict({str(n): nn.Linear(width, width) for n in range(4)})",
        "self.width = width",
    ],
)
def test_data_is_no_part(more: str) -> None:
    assert ask('"head" not in fqn', more) == ["head"]


@pytest.mark.parametrize(
    ("test", "keeps_out"),
    [
        ('"head" not in fqn', True),
        ('not "head" not in fqn', False),
        ('"head" in fqn', False),
        ('isinstance(module, nn.Linear) and not any(n in fqn for n in ["head"])', True),
    ],
)
def test_what_a_match_does(test: str, keeps_out: bool) -> None:
    files = {"a.py": HEAD.format(test=test, more="")}
    (found,) = Project(files, KNOWLEDGE, {}, files.get).facts("a.py").unmatched
    assert found.keeps_out is keeps_out


FILTER = """
SKIP = ["head"]


def choose(module, fqn):
    return not any(name in fqn for name in SKIP)
"""
MODEL = """
from torch import nn
from torchao.float8 import convert_to_float8_training
from filters import choose


class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.{part} = nn.Linear(8, 8)


def convert():
    return convert_to_float8_training({name}(), module_filter_fn=choose)
"""


def test_a_list_of_another_module_is_for_its_only_user() -> None:
    files = {"filters.py": FILTER, "a.py": MODEL.format(name="A", part="body")}
    assert unmatched(files) == ["head"]
    assert unmatched({**files, "b.py": MODEL.format(name="B", part="head")}) == []


def test_a_shared_filter_is_judged_by_all_models_of_its_module() -> None:
    both = MODEL.format(name="A", part="body").replace("from filters import choose", FILTER)
    assert unmatched({"a.py": both}) == ["head"]
    second = MODEL.format(name="B", part="head").replace("from filters import choose\n", "")
    assert unmatched({"a.py": both + second.replace("def convert", "def again")}) == []


TITAN = "torchtitan/components/quantization/float8.py"
CONVERTER = "class Float8LinearConverter:\n    class Config:\n        filter_fqns: list[str] = []\n"
BUILD = """
from torch import nn
from torchtitan.components.quantization.float8 import Float8LinearConverter


class Net(nn.Module):
    class Config:
        lm_head: nn.Module

        def build(self):
            return Net(self)

    def __init__(self, config):
        super().__init__()
        self.lm_head = config.lm_head.build()


def small():
    return Net.Config()


SIZES = {"small": small}


def registry(size, converters=()):
    return SIZES[size]()


def config():
    names = ["lm_head", "output", "auto_filter_small_kn"]
    return registry("small", converters=[Float8LinearConverter.Config(filter_fqns=names)])
"""


@pytest.mark.parametrize("package", [{}, {"torchtitan/components/quantization/__init__.py": ""}])
def test_a_folder_inside_of_a_package_needs_no_init(package: dict[str, str]) -> None:
    files = {"torchtitan/__init__.py": "", TITAN: CONVERTER, "a.py": BUILD, **package}
    assert unmatched(files) == ["output"]
