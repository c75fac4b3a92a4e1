"""Regions of TransformerEngine: what may run in them, and who may have changed it."""

from __future__ import annotations

import pytest

from dtypelint.facts.project import Project
from dtypelint.knowledge import Knowledge

KNOWLEDGE = Knowledge()
HEAD = """
import torch
import transformer_engine.pytorch as te
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from transformer_engine.common import recipe


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.parts = torch.nn.ModuleList([torch.nn.Linear(8, 8)])

    def forward(self, x):
        return self.fc(x)


def swap(module):
    for name, child in module.named_children():
        module._modules[name] = child


def count(module):
    return sum(1 for _ in module.parameters())


def train(batch, helper, accelerator: Accelerator):
    net = Net()
    {before}
    with te.fp8_autocast({arguments}):
        {inside}
"""


def regions(before: str = "", arguments: str = "", inside: str = "net(batch)") -> list[str]:
    text = HEAD.format(before=before or "pass", arguments=arguments, inside=inside)
    project = Project({"a.py": text}, KNOWLEDGE, {}, {"a.py": text}.get)
    return [name for found in project.facts("a.py").plain_regions for name in found.models]


@pytest.mark.parametrize(
    "before",
    [
        "net = DDP(net.cuda())",
        "net = torch.compile(net)",
        "count(net)",
        "print(net)",
        "optimizer = torch.optim.AdamW(net.parameters())",
        "scaling = recipe.DelayedScaling(fp8_format=recipe.Format.HYBRID)",
    ],
)
def test_a_model_of_torch_stays_one(before: str) -> None:
    assert regions(before) == ["net"]


@pytest.mark.parametrize(
    "before",
    [
        "swap(net)",
        "helper(net)",
        "helper.convert(net)",
        "net = accelerator.prepare(net)",
        "accelerator.prepare_model(net)",
        "net.fc = te.Linear(8, 8)",
        "layers = {torch.nn.Linear: te.Linear}",
        "net = helper",
    ],
)
def test_somebody_may_have_changed_it(before: str) -> None:
    assert regions(before) == []


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("net(batch.to('cuda')).mean().backward()", ["net"]),
        ("torch.relu(net(batch))", ["net"]),
        ("[part(batch) for part in net.parts]", ["part"]),
        ("net.fc(net(batch))", ["net.fc", "net"]),
        ("helper(net(batch))", []),
        ("helper.step(net, batch)", []),
        ("count(net)", []),
        ("batch.mean()", []),
        ("pass", []),
    ],
)
def test_what_runs_in_it(inside: str, found: list[str]) -> None:
    assert regions(inside=inside) == found


@pytest.mark.parametrize(
    ("arguments", "found"),
    [("enabled=False", []), ("False", []), ("enabled=True", ["net"]), ("enabled=helper", ["net"])],
)
def test_a_region_that_is_off_says_nothing(arguments: str, found: list[str]) -> None:
    assert regions(arguments=arguments) == found
