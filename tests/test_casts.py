"""Lost casts as facts: where a result belongs, whether it is read, and what comes before."""

from __future__ import annotations

from textwrap import indent

import pytest

from dtypelint.facts import Cast
from dtypelint.facts.project import Project
from dtypelint.knowledge import Knowledge

HEAD = """
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


def wrap(model):
    return fully_shard(model)


def count(parameters):
    return len(list(parameters))
"""


def facts(**files: str) -> list[Cast]:
    texts = {f"{name}.py": f"{HEAD}\n{text}" for name, text in files.items()}
    return list(Project(texts, Knowledge(), {}, texts.get).facts("probe.py").casts)


def casts(body: str, signature: str = "model: nn.Module, x: torch.Tensor, d: torch.dtype") -> list[Cast]:
    return facts(probe=f"def probe({signature}):\n{indent(body, '    ')}\n")


@pytest.mark.parametrize(
    ("body", "target", "read"),
    [
        ("x.to(d)\nreturn x", "local", True),
        ("x.to(d)", "local", False),
        ("print(x)\nx.to(d)", "local", False),
        ("for _ in range(3):\n    print(x)\n    x.to(d)", "local", True),
        ("for y in x:\n    print(y)\n    y.to(d)", "local", False),
        ("for y in x:\n    y.to(d)\n    print(y)", "local", True),
        ("x.to(d)\nreturn lambda: x", "local", True),
        ("x.to(d)\ndef later():\n    return x", "local", True),
        ("x.to(d)\nclass Later:\n    kept = x", "local", True),
        ("x.to(d)\ndef later(x):\n    return x", "local", False),
        ("x[0].to(d)", "other", True),
        ("state = model.state_dict()\nstate['a'].to(d)", "subscript", True),
        ("for key, value in model.state_dict().items():\n    value.to(d)", "state", False),
        ("list(model.parameters())[0].to(d)", "other", True),
        ("held = list(model.parameters())\nheld[0].to(d)", "parameter", True),
        ("x.view(-1).to(d)", "other", False),
        ("def inner():\n    x.to(d)", "other", True),
    ],
)
def test_where_a_result_belongs(body: str, target: str, read: bool) -> None:
    (found,) = casts(body)
    assert (found.target, found.rebinds) == (target, False)
    if target == "local":
        assert found.read_later is read


@pytest.mark.parametrize(
    ("cast", "moves"),
    [
        ("x.to('cuda')", True),
        ("x.to(device)", True),
        ("x.to(device, d)", False),
        ("x.to(device, dtype=d)", False),
        ("x.to(other)", False),
        ("x.to(other=other)", False),
        ("x.to(other.dtype)", False),
        ("x.to(**options)", False),
        ("x.to(kind_of_dtype())", False),
        ("x.half()", False),
    ],
)
def test_a_move_is_no_cast(cast: str, moves: bool) -> None:
    (found,) = casts(cast, "x: torch.Tensor, other: torch.Tensor, device, d: torch.dtype, options")
    assert found.moves_only is moves


@pytest.mark.parametrize(
    "body",
    [
        "x.type()",
        "x.to()",
        "x.to",
        "x = x.to(d)",
        "torch.zeros(2, dtype=torch.float16).half()",
        "y = x.float()\ny.to(torch.float32)",
        "try:\n    x.to(d)\nexcept RuntimeError:\n    return None",
        "with suppress(RuntimeError):\n    x.to(d)",
        "for p in model.parameters():\n    p = p.detach()",
        "for p in model.parameters():\n    p = p.grad.to(d)",
        "for p in model.parameters():\n    p = x.to(d)",
        "for p in model.parameters():\n    p = wrap(p.to(d))",
        "for p in model.parameters():\n    p = p.to(d)\n    def later():\n        return p",
        "global p\nfor p in model.parameters():\n    p = p.to(d)",
        "for p in model.parameters():\n    q = x\n    q = q.to(d)",
        "p = x\nfor _ in range(3):\n    p = p.to(d)",
        "for m in model.children():\n    m = m.to(d)",
    ],
)
def test_nothing_is_lost(body: str) -> None:
    assert not casts(body)


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("fully_shard(model)", "fully_shard"),
        ("wrap(model)", "wrap"),
        ("torch.optim.SGD(model.parameters())", "torch.optim.SGD"),
        ("make_optimizer(model.parameters())", "make_optimizer"),
        ("model(x).sum().backward()", "model(x).sum().backward"),
        ("model = fabric.setup(model)", "fabric.setup"),
        ("list(model.parameters())", ""),
        ("count(model.parameters())", ""),
        ("model.train()", ""),
    ],
)
def test_what_comes_before_a_loop(before: str, name: str) -> None:
    loop = "for p in model.parameters():\n    p = p.to(d)"
    (found,) = casts(f"{before}\n{loop}")
    assert (found.rebinds, found.target, found.after_name) == (True, "parameter", name)
    assert bool(found.whole) is bool(name)
    (found,) = casts(f"{loop}\n{before}")
    assert not found.after_name


CALLED = "def probe(model, d):\n    for p in model.parameters():\n        p = p.to(d)\n"


@pytest.mark.parametrize(
    ("caller", "name"),
    [
        ("def main(model, d):\n    fully_shard(model)\n    probe(model, d)\n", "fully_shard"),
        ("def main(model, d):\n    probe(model, d)\n    fully_shard(model)\n", ""),
        (
            "def step(model, d):\n    probe(model, d)\n\ndef main(model, d):\n    fully_shard(model)\n    step(model, d)\n",
            "fully_shard",
        ),
    ],
)
def test_what_comes_before_a_call(caller: str, name: str) -> None:
    (found,) = facts(probe=CALLED + caller)
    assert found.after_name == name
    (found,) = facts(probe=CALLED, main=f"from probe import probe\n{caller}")
    assert found.after_name == name


def test_a_method_is_called_after_sharding() -> None:
    text = """
class Trainer:
    def upcast(self, model):
        for p in model.parameters():
            p = p.float()

    def build(self, model):
        fully_shard(model)
        self.upcast(model)
"""
    (found,) = facts(probe=text)
    assert found.after_name == "fully_shard"


@pytest.mark.parametrize(
    "loop",
    [
        "for p in model.parameters():\n    if x:\n        p = p.to(d)",
        "for p in model.parameters():\n    print(p)\n    p = p.to(d)",
        "for p in model.parameters():\n    # wide\n    p = p.to(d)",
        "for p in model.parameters(recurse=False):\n    p = p.to(d)",
        "for n, p in model.named_parameters():\n    p = p.to(n)",
        "for p in model.parameters():\n    p = p.type_as(x)",
        "for p in model.parameters():\n    p = p.detach().to(d)",
        "for p in model.parameters():\n    p = p.to(d)\nelse:\n    print(x)",
        "for p in list(model.parameters()):\n    p = p.to(d)",
    ],
)
def test_a_loop_that_is_more_or_less_than_a_cast_of_its_module(loop: str) -> None:
    (found,) = casts(f"fully_shard(model)\n{loop}")
    assert found.after_name == "fully_shard"
    assert found.whole is None
