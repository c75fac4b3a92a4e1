"""What kind of thing an expression is: evidence, unions, guards, and silence about everything else."""

from __future__ import annotations

import ast
from itertools import permutations
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.facts.project import Project
from dtypelint.facts.python.kinds import Kinds
from dtypelint.facts.python.module import statements
from dtypelint.facts.python.things import NOTHING, Sort, Thing, join, many, mapping, pair
from dtypelint.finding import Location, Span
from dtypelint.knowledge import Knowledge

HEAD = """
import copy
import itertools
from typing import Annotated, Any, Optional, Union

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn


class Masked(torch.Tensor):
    pass


class Holder:
    ready: bool
    weight: torch.Tensor | None = None

    def __init__(self, size: int, other):
        self.layer = nn.Linear(size, size)
        self.gain = nn.Parameter(torch.ones(size))
        self.other = other
        self.register_buffer("table", torch.zeros(size))
        self.later: Tensor
        self.cache = torch.zeros(size)
        self.cache = self.cache.clone()

    @property
    def scaled(self) -> Tensor:
        return self.other

    def made(self):
        return self.layer(self.table)

    def loose(self):
        return self.other


def chosen(flag: bool, x: Tensor):
    if flag:
        return None
    return x.sum()


def endless(x):
    return endless(x)
"""


def kind(body: str, signature: str = "model, x, y") -> str | None:
    """The sort of the last expression of a function body."""
    text = f"{HEAD}\n\ndef probe({signature}):\n{indent(body, '    ')}\n"
    project = Project(["probe.py"], Knowledge(), {}, {"probe.py": text}.get)
    module = project.load("probe.py")
    scope = next(scope for scope in module.functions() if scope.name == "probe")
    last = [stmt for stmt in statements(scope.body) if isinstance(stmt, ast.Expr)][-1]
    found = Kinds(project.names, project.tracer).of(last.value, last, scope)
    return found.sort.value if found is not None else None


@pytest.mark.parametrize(
    "annotation",
    [
        "Tensor",
        "torch.FloatTensor",
        "torch.distributed.tensor.DTensor",
        "Masked",
        "'torch.Tensor'",
        "Optional[Tensor]",
        "Tensor | None",
        "None | float | Tensor",
        "Union[Tensor, np.ndarray, str]",
        "Annotated[Tensor, 'rows']",
        "Float[Tensor, 'batch width']",
    ],
)
def test_an_annotation_says_that_it_is_a_tensor(annotation: str) -> None:
    assert kind("x", f"x: {annotation}") == "tensor"


@pytest.mark.parametrize(
    "annotation",
    [
        "nn.Module",
        "Any",
        "Holder",
        "'not python'",
        "'list['",
        "Tensor | nn.Module",
        "Union[Tensor, list[Tensor]]",
        "int | None",
        "type[Tensor]",
        "torch.utils.data.TensorDataset",
        "Callable[[Tensor], Tensor]",
        "3",
    ],
)
def test_an_annotation_says_something_else(annotation: str) -> None:
    assert kind("x", f"x: {annotation}") is None


@pytest.mark.parametrize(
    ("signature", "body", "expected"),
    [
        ("x: list[Tensor]", "x[0]", "tensor"),
        ("x: list[Tensor]", "x[1:]", "many"),
        ("x: tuple[Tensor, ...]", "for each in x:\n    each", "tensor"),
        ("x: tuple[Tensor, nn.Module]", "x[0]", "tensor"),
        ("x: tuple[Tensor, nn.Module]", "x[1]", None),
        ("x: tuple[Tensor, nn.Module]", "x[-1]", None),
        ("x: tuple[Tensor, nn.Module]", "x[7]", None),
        ("x: tuple[Tensor, nn.Module]", "for each in x:\n    each", None),
        ("x: tuple[Tensor, nn.Module]", "first, second = x\nfirst", "tensor"),
        ("x: tuple[Tensor, nn.Module]", "first, second = x\nsecond", None),
        ("x: list[Tensor]", "first, *rest = x\nrest", "many"),
        ("x: nn.Module", "first, (second, third) = x\nthird", None),
        ("x: tuple[nn.Module, Tensor]", "(first, second), third = x\nsecond", None),
        ("x: dict[str, Tensor]", "x['a']", "tensor"),
        ("x: dict[str, Tensor]", "x.get('a')", "tensor"),
        ("x: dict[str, Tensor]", "for key, value in x.items():\n    value", "tensor"),
        ("x: dict[str, Tensor]", "for key, value in x.copy().items():\n    key", None),
        ("x: dict[str, Tensor]", "for key in x:\n    key", None),
        ("x: dict[str, Tensor]", "x.update(y=1)", None),
        ("*x: Tensor", "x[0]", "tensor"),
        ("**x: Tensor", "x['a']", "tensor"),
        ("x: nn.Parameter", "x", "parameter"),
        ("x: nn.Parameter", "x.data", "parameter"),
        ("x: nn.Parameter", "x.grad", "tensor"),
        ("x: nn.Parameter", "x.shape", None),
        ("x: nn.Parameter", "x.detach()", "tensor"),
    ],
)
def test_containers_hand_out_what_they_hold(signature: str, body: str, expected: str | None) -> None:
    assert kind(body, signature) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for p in model.parameters():\n    p", "parameter"),
        ("for n, p in model.named_parameters():\n    p", "parameter"),
        ("for n, p in model.named_parameters():\n    n", None),
        ("for i, (n, p) in enumerate(model.named_parameters()):\n    p", "parameter"),
        ("for p, q in zip(model.parameters(), y.buffers()):\n    q", "buffer"),
        ("for p in itertools.chain(model.parameters(), y.parameters()):\n    p", "parameter"),
        ("for p in itertools.chain(model.parameters(), y.children()):\n    p", None),
        ("for p in filter(lambda p: p.requires_grad, model.parameters()):\n    p", "parameter"),
        ("for p in sorted([p for p in model.parameters()]):\n    p", "parameter"),
        ("for p in dict(model.named_parameters()).values():\n    p", "parameter"),
        ("dict(x)", "map"),
        ("list()", "many"),
        ("next(model.parameters())", "parameter"),
        ("for m in model.modules():\n    m", None),
        ("for group in x.param_groups:\n    for p in group['params']:\n        p", "parameter"),
        ("for group in x.param_groups:\n    group['lr']", None),
        ("model.state_dict()['a']", "state"),
        ("copy.deepcopy(model.state_dict())['a']", "state"),
        ("load_file(x)['a']", "state"),
        ("{n: p for n, p in model.named_buffers()}['a']", "buffer"),
        ("{'a': torch.ones(1), 'b': None}['a']", "tensor"),
        ("{**x}", None),
        ("[torch.ones(1), model][0]", None),
        ("(torch.ones(1), model)[0]", "tensor"),
    ],
)
def test_loops_hand_out_what_they_go_over(body: str, expected: str | None) -> None:
    assert kind(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("torch.ones(1)", "tensor"),
        ("torch.randn(1, requires_grad=True)", "parameter"),
        ("F.relu(x)", "tensor"),
        ("torch.linalg.norm(x)", "tensor"),
        ("torch.load(x)", None),
        ("torch.compile(x)", None),
        ("torch.nn.utils.clip_grad_norm_(x)", None),
        ("torch.Generator()", None),
        ("copy.deepcopy()", None),
        ("x.softmax(-1)", "tensor"),
        ("x.clone()", None),
        ("x.softmax(-1).clone().storage()", None),
        ("-x.view(-1)", "tensor"),
        ("not x.view(-1)", None),
        ("x.view(-1) == y", "tensor"),
        ("x.view(-1) is y", None),
        ("x * y.view(-1)", "tensor"),
        ("'%s' % y.view(-1)", None),
        ("f'{x}' + y.view(-1)", None),
        ("x * y", "tensor"),
        ("x + y", None),
        ("x / 'a'", None),
        ("Holder(1, x) * y", None),
        ("x.view(-1) if y else None", "tensor"),
        ("x.view(-1) if y else y", None),
        ("x.view(-1) or y.view(-1)", "tensor"),
        ("(z := x.view(-1))", "tensor"),
        ("z = None\nz", None),
        ("z = None\nfor _ in y:\n    z = x.view(-1) if z is None else z + 1\nz", "tensor"),
        ("z = x.view(-1)\nz += 1\nz", "tensor"),
        ("z = 1\nz += x.view(-1)\nz", "tensor"),
        ("z = 1\nz += 1\nz", None),
        ("z = x.view(-1)\nif y:\n    z = model\nz", None),
        ("with y as z:\n    z", None),
        ("try:\n    pass\nexcept ValueError as z:\n    z", None),
        ("del x\nx", None),
        ("lambda: x", None),
        ("x[:, 0] = 1\nx", "tensor"),
        ("x[0] = 1\nx", None),
        ("x.clone()[:, 0]", None),
    ],
)
def test_operations_give_tensors(body: str, expected: str | None) -> None:
    assert kind(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Holder(1, x).gain", "parameter"),
        ("Holder(1, x).table", "buffer"),
        ("Holder(1, x).weight", "tensor"),
        ("Holder(1, x).scaled", "tensor"),
        ("Holder(1, x).cache", "tensor"),
        ("Holder(1, x).later", "tensor"),
        ("Holder(1, x).other", None),
        ("Holder(1, x).missing", None),
        ("Holder(1, x).layer", "layer"),
        ("Holder(1, x).layer.weight", "parameter"),
        ("Holder(1, x).layer.to(y)", None),
        ("Holder(1, x).layer.in_features", None),
        ("Holder(1, x).layer(y)", "tensor"),
        ("Holder(1, x).made()", "tensor"),
        ("Holder(1, x).loose()", None),
        ("Holder(1, x)", None),
        ("layer = nn.Linear(1, 1)\nlayer(x)", "tensor"),
        ("x()", None),
        ("chosen(y, x)", "tensor"),
        ("endless(x)", None),
    ],
)
def test_classes_and_functions_of_the_project(body: str, expected: str | None) -> None:
    assert kind(body) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("isinstance(x, Tensor)", "tensor"),
        ("isinstance(x, (Tensor, nn.Parameter))", "tensor"),
        ("isinstance(x, (Tensor, nn.Module))", None),
        ("isinstance(x, nn.Module)", None),
        ("isinstance(y, Tensor)", None),
        ("not isinstance(x, Tensor)", None),
        ("torch.is_tensor(x) and y", "tensor"),
        ("torch.is_tensor(x) or y", None),
        ("not (y or not torch.is_tensor(x))", "tensor"),
        ("torch.is_floating_point(x)", "tensor"),
        ("not torch.is_floating_point(x)", None),
        ("x.is_floating_point()", "tensor"),
        ("hasattr(x, 'to')", None),
    ],
)
def test_a_test_is_evidence(test: str, expected: str | None) -> None:
    assert kind(f"if {test}:\n    x") == expected


@pytest.mark.parametrize("test", ["isinstance(x, nn.Module)", "not isinstance(x, Tensor)", "not torch.is_tensor(x)"])
def test_a_test_is_evidence_against_an_annotation(test: str) -> None:
    assert kind("x", "x: Tensor") == "tensor"
    assert kind(f"if {test}:\n    x", "x: Tensor") is None


def test_a_test_of_another_value_is_no_evidence() -> None:
    assert kind("if torch.is_tensor(x):\n    x = y\n    x") is None
    assert kind("if torch.is_tensor(x['a']):\n    x['a']") == "tensor"
    assert kind("if torch.is_tensor(x['a']):\n    x['b']") is None


def test_a_question_that_is_too_long_is_not_answered() -> None:
    assert kind(f"x.view(-1){'.abs()' * 50}") == "tensor"
    assert kind(f"x.view(-1){'.abs()' * 200}") is None


HERE = Location("probe.py", Span(0, 0))
LEAVES = st.sampled_from(
    [None, NOTHING, *(Thing(sort, "why", HERE) for sort in (Sort.TENSOR, Sort.PARAMETER, Sort.STATE, Sort.LAYER))]
)
THINGS = st.recursive(LEAVES, lambda inner: st.one_of(*(st.builds(make, inner) for make in (many, mapping, pair))))


@given(st.lists(THINGS, max_size=4))
def test_a_union_does_not_depend_on_the_order(things: list[Thing | None]) -> None:
    shapes = {shape(join(order)) for order in permutations(things)}
    assert len(shapes) == 1


@given(st.lists(THINGS, min_size=1, max_size=4))
def test_a_union_with_something_unknown_is_unknown(things: list[Thing | None]) -> None:
    assert join([*things, None]) is None


@given(THINGS)
def test_nothing_adds_nothing_to_a_union(thing: Thing | None) -> None:
    assert join([NOTHING, thing, NOTHING]) == join([thing])


def shape(thing: Thing | None) -> object:
    return thing and (thing.sort, tuple(map(shape, thing.parts)))
