"""The evaluator: from a user's expression to what a constructor gets, without running anything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smoking import goal

from dtypelint.smoke.evaluate import Outcome, cases, under
from dtypelint.smoke.symbols import Dtype, Other, Truthy, Unknown, shown

HEAD = """import dataclasses
import torch
from contextlib import nullcontext
from functools import partial
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy
"""


def fields(outcome: Outcome) -> dict[str, Any]:
    assert outcome.fields is not None
    return {name: value.name if isinstance(value, Dtype) else value for name, value in outcome.fields.items()}


def table(text: str, call: str = "MixedPrecisionPolicy", **more: str) -> list[dict[str, Any]]:
    return [fields(case.outcome) for case in cases(goal(HEAD + text, call, **more))]


def values(text: str, name: str, **more: str) -> set[Any]:
    return {row.get(name) for row in table(text, **more)}


ALL = {"bfloat16", "float16", "float32"}


@pytest.mark.parametrize(
    "text",
    [
        "def f(cfg):\n    return MixedPrecisionPolicy(cfg.param_dtype)",
        "def f(cfg):\n    return MixedPrecisionPolicy(getattr(torch, cfg.param_dtype))",
        "def f(cfg):\n    return MixedPrecisionPolicy(to_dtype(cfg.param_dtype))",
        "def f(cfg):\n    return MixedPrecisionPolicy(Kind.convert(cfg.get('param_dtype', 'bf16')))",
        "def f(cfg):\n    d = cfg['mp']['param'].lower()\n    return MixedPrecisionPolicy(getattr(torch, d))",
        "def f(cfg):\n    kw = {}\n    kw['param_dtype'] = cfg.d\n    return MixedPrecisionPolicy(**kw)",
        "def f(cfg):\n    kw = dict(param_dtype=cfg.d)\n    kw.update(reduce_dtype=None)\n    return MixedPrecisionPolicy(**kw)",
        "def f(cfg):\n    return MixedPrecisionPolicy(**{**{'reduce_dtype': None}, 'param_dtype': cfg.d})",
        "def f(cfg):\n    kw = {}\n    for n in ('param_dtype',):\n        kw[n] = getattr(cfg, n)\n    return MixedPrecisionPolicy(**kw)",
        "def f(cfg):\n    kw = {n: getattr(cfg, n) for n in ['param_dtype']}\n    return MixedPrecisionPolicy(**kw)",
        "D = {'bf16': torch.bfloat16, 'fp16': torch.half, 'fp32': torch.float}\ndef f(p):\n    return MixedPrecisionPolicy(D[p])",
        "D = {'bf16': torch.bfloat16, 'fp16': torch.half, 'fp32': torch.float}\ndef f(p):\n    return MixedPrecisionPolicy(D.get(p))",
        "def f(p):\n    if p == 'bf16':\n        d = torch.bfloat16\n    elif p == 'fp16':\n        d = torch.float16\n    else:\n        d = torch.float32\n    return MixedPrecisionPolicy(d)",
        "def f(p):\n    match p:\n        case 'bf16':\n            d = torch.bfloat16\n        case 'fp16' | 'half':\n            d = torch.float16\n        case _:\n            d = torch.float32\n    return MixedPrecisionPolicy(d)",
        "def g(p):\n    if p == 'bf16':\n        return torch.bfloat16\n    if p in ('fp16', 'half'):\n        return torch.float16\n    return torch.float32\ndef f(p):\n    return MixedPrecisionPolicy(g(p))",
        "class T:\n    def d(self, p):\n        return getattr(torch, p)\n    def f(self, p):\n        return MixedPrecisionPolicy(self.d(p))",
        "KIND = torch.bfloat16\ndef f(m):\n    wrap(m, policy=MixedPrecisionPolicy(KIND))",
        "def f(p):\n    def inner(x):\n        return MixedPrecisionPolicy(d)\n    d = getattr(torch, p)\n    return inner",
        "def f(p):\n    for block in p.blocks:\n        wrap(block, MixedPrecisionPolicy(p.dtype))",
        "def f(p):\n    try:\n        with ready() as r:\n            if r.ok:\n                return MixedPrecisionPolicy(p.dtype)\n    except ValueError:\n        raise",
        "make = lambda d: MixedPrecisionPolicy(param_dtype=d)",
        "class T:\n    def __init__(self, p):\n        self.dtype = getattr(torch, p)\n        self.policy = MixedPrecisionPolicy(self.dtype)",
        "def f(p):\n    if p == 'fp8':\n        raise ValueError(p)\n    return MixedPrecisionPolicy(getattr(torch, p))",
        "def g(d=None, *, r=torch.float32):\n    return d or r\ndef f(p):\n    return MixedPrecisionPolicy(g(p.d))",
        "def f(p):\n    return MixedPrecisionPolicy(p.a if isinstance(p.a, torch.dtype) else getattr(torch, p.a))",
        "def f(p):\n    return MixedPrecisionPolicy((x := p.a))",
        "def f(p):\n    a, b = p.dtype, None\n    return MixedPrecisionPolicy(a, b)",
    ],
)  # fmt: skip
def test_the_parameter_dtype_follows_its_setting(text: str) -> None:
    assert values(text, "param_dtype") >= ALL


def test_functions_and_constants_of_other_files_are_read() -> None:
    other = "import torch\nDEFAULT = torch.float16\ndef pick(name):\n    return getattr(torch, name)\n"
    text = "from other import DEFAULT, pick\ndef f(p):\n    return MixedPrecisionPolicy(pick(p), DEFAULT)"
    assert values(text, "param_dtype", other=other) == ALL
    assert values(text, "reduce_dtype", other=other) == ALL


def test_one_knob_is_varied_at_a_time() -> None:
    rows = cases(
        goal(HEAD + "def f(c):\n    return MixedPrecisionPolicy(c.a, c.b, c.o, c.flag)", "MixedPrecisionPolicy")
    )
    assert [row.varied for row in rows] == ["", "c.a", "c.a", "c.b", "c.b", "c.o", "c.o", "c.flag"]
    for row in rows[1:]:
        differing = {path for path in row.chosen if row.chosen[path] != rows[0].chosen[path]}
        assert differing == {row.varied}


def test_a_partial_and_a_changed_copy_are_constructors() -> None:
    text = "def f(d, r):\n    return partial(MixedPrecisionPolicy, d, cast_forward_inputs=False)"
    assert values_of(text, "partial", "cast_forward_inputs") == {False}
    text = "def f(d, r):\n    return dataclasses.replace(MixedPrecisionPolicy(d), reduce_dtype=r)"
    assert values_of(text, "dataclasses.replace", "reduce_dtype") == ALL


def values_of(text: str, call: str, name: str) -> set[Any]:
    return {row.get(name) for row in table(text, call)}


def test_an_empty_context_stands_for_no_region() -> None:
    text = "def f(d):\n    return torch.autocast('cuda', dtype=d) if d != torch.float32 else nullcontext()"
    found = {case.chosen["d"]: case.outcome.fields for case in cases(goal(HEAD + text, "torch.autocast"))}
    assert found[Dtype("float32")] is None
    assert found[Dtype("float16")] == {"device_type": "cuda", "dtype": Dtype("float16")}


def test_only_the_branch_that_holds_the_place_is_looked_at() -> None:
    text = (
        "def f(c):\n    if c.kind == 'a':\n        return MixedPrecisionPolicy(c.d)\n    return MixedPrecisionPolicy()"
    )
    assert {case.chosen["c.kind"] for case in cases(goal(HEAD + text, "MixedPrecisionPolicy"))} == {"a"}


def test_a_branch_that_cannot_be_taken_is_assumed_to_be() -> None:
    text = "READY = False\ndef f(c):\n    if READY:\n        return MixedPrecisionPolicy(c.d)"
    found = cases(goal(HEAD + text, "MixedPrecisionPolicy"))
    assert {case.chosen["c.d"].name for case in found} == ALL
    assert found[0].outcome.assumed == ("`READY` is true",)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("@torch.autocast('cuda', dtype=torch.float16)\ndef f(x):\n    return x", "float16"),
        ("class A:\n    @torch.autocast('cuda', dtype=torch.float16)\n    def f(self, x):\n        return x", "float16"),
        ("def f(x):\n    class A:\n        def g(self):\n            return torch.autocast('cuda', dtype=torch.half)", "float16"),
        ("def f(x):\n    torch.autocast('cuda', dtype=torch.float16).__enter__()", "float16"),
        ("def f(x):\n    x[:, 0] = 1\n    return torch.autocast('cuda', dtype=torch.float16)", "float16"),
        ("def f(x):\n    while x:\n        if x.y:\n            continue\n        with torch.autocast('cuda', dtype=torch.half):\n            x()", "float16"),
        ("def f(x):\n    return [torch.autocast('cuda', dtype=torch.half) for _ in x if _]", "float16"),
        ("def f(x):\n    return x or y(torch.autocast('cuda', dtype=torch.half))", "float16"),
    ],
)  # fmt: skip
def test_regions_stand_in_many_places(text: str, field: str) -> None:
    assert values_of(text, "torch.autocast", "dtype") == {field}


def test_only_what_decides_is_looked_at() -> None:
    text = (
        "def f(c, model):\n    c.other = pick(c.mode)\n    if c.debug:\n        model.log = c.level\n"
        "    for block in model:\n        block.x = c.y\n    return MixedPrecisionPolicy(c.param_dtype)"
    )
    assert {path for case in cases(goal(HEAD + text, "MixedPrecisionPolicy")) for path in case.chosen} == {
        "c.param_dtype"
    }


def test_assumptions_are_listed() -> None:
    text = "def f(c):\n    if c.ready():\n        return MixedPrecisionPolicy(Kind.dtype(c.d))"
    assumed = {item for case in cases(goal(HEAD + text, "MixedPrecisionPolicy")) for item in case.outcome.assumed}
    assert assumed == {"`c.ready()` is true", "`Kind.dtype(c.d)` gives the dtype that it is given"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(c):\n    return MixedPrecisionPolicy(**c.fields)", "`**c.fields` is not known"),
        ("def f(*a):\n    return MixedPrecisionPolicy(*a)", "`*a` is not known"),
        ("def f(c):\n    return MixedPrecisionPolicy(c.__dict__['d'])", "`c.__dict__` is not read"),
        ("def f(a, b, c, d, e, g):\n    return MixedPrecisionPolicy(a, b, c, d, e, g)", "takes 4 positional"),
    ],
)
def test_what_cannot_be_evaluated_says_why(text: str, words: str) -> None:
    with pytest.raises(Unknown) as error:
        cases(goal(HEAD + text, "MixedPrecisionPolicy"))
    assert words in str(error.value)


def test_deep_code_is_refused_and_not_followed() -> None:
    text = f"def f(c):\n    return MixedPrecisionPolicy({'(' * 80}c.d{' or c.e)' * 80})"
    assert values(text, "param_dtype")
    with pytest.raises((Unknown, RecursionError)):
        table("def f(c):\n    return MixedPrecisionPolicy(" + " + ".join(["c.d"] * 1_500) + ")")


def test_a_recursive_function_ends() -> None:
    text = "def g(x):\n    return g(x)\ndef f(c):\n    return MixedPrecisionPolicy(g(c.d))"
    assert values(text, "param_dtype") == ALL


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = (
        f"open({str(mark)!r}, 'w').close()\n"
        f"__import__('os').system('touch {mark}')\n"
        "class Evil:\n"
        "    def __getattr__(self, name):\n"
        f"        open({str(mark)!r}, 'w')\n"
        "        return torch.bfloat16\n"
        "cfg = Evil()\n"
        "def build(d=cfg.x):\n"
        f"    eval(\"open({str(mark)!r}, 'w')\")\n"
        "    x = [open(p, 'w') for p in PATHS]\n"
        f"    y = (lambda: open({str(mark)!r}, 'w'))()\n"
        "    return MixedPrecisionPolicy(cfg.param_dtype, exec('import os'), y, x)\n"
    )
    assert values(text, "param_dtype") == ALL
    assert not mark.exists()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Dtype("bfloat16"), "bfloat16"),
        ("bf16", "'bf16'"),
        (Truthy(), "set"),
        (Other(frozenset({"bf16", "fp16"})), "none of 'bf16', 'fp16'"),
        (None, "None"),
    ],
)
def test_values_are_shown(value: Any, words: str) -> None:
    assert shown(value) == words


NAMES = st.sampled_from(["bf16", "fp16", "fp32"])
DTYPES = st.sampled_from(["torch.bfloat16", "torch.float16", "torch.float32", "c.x", "c.y", "d"])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Branches over two settings, reassignments, a table and a helper: ends in a policy of `d`."""
    lines = [f"d = {draw(DTYPES.filter(lambda text: text != 'd'))}"]
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 4))
        if kind == 0:
            lines.append(f"if c.p == {draw(NAMES)!r}:\n        d = {draw(DTYPES)}")
        elif kind == 1:
            lines.append(
                f"if c.p in ({draw(NAMES)!r}, {draw(NAMES)!r}):\n        d = {draw(DTYPES)}\n    else:\n        d = {draw(DTYPES)}"
            )
        elif kind == 2:
            lines.append(f"d = {draw(DTYPES)} if c.flag else {draw(DTYPES)}")
        elif kind == 3:
            lines.append(f"d = {{'bf16': {draw(DTYPES)}, 'fp16': d, 'fp32': c.y}}[c.p]")
        else:
            lines.append(f"d = helper(d, {draw(DTYPES)})")
    return "def f(c):\n    " + "\n    ".join(lines) + "\n    return MixedPrecisionPolicy(d, c.r)\n"


HELPER = "def helper(a, b):\n    if a == torch.float32:\n        return b\n    return a\n"


@given(text=programs(), flag=st.booleans(), name=NAMES, dtypes=st.tuples(*[st.sampled_from(sorted(ALL))] * 3))
def test_the_evaluator_agrees_with_python(text: str, flag: bool, name: str, dtypes: tuple[str, str, str]) -> None:
    x, y, r = map(Dtype, dtypes)
    torch = SimpleNamespace(**{each: Dtype(each) for each in ALL})
    space: dict[str, Any] = {"torch": torch, "MixedPrecisionPolicy": lambda d, r: (d, r)}
    exec(HELPER + text, space)
    expected = space["f"](SimpleNamespace(p=name, flag=flag, x=x, y=y, r=r))
    chosen = {"c.p": name, "c.flag": flag, "c.x": x, "c.y": y, "c.r": r}
    found = under(goal(HEAD + HELPER + text, "MixedPrecisionPolicy"), chosen).fields
    assert found == dict(zip(("param_dtype", "reduce_dtype"), expected, strict=True))


def test_a_local_that_is_not_assigned_yet_is_not_read() -> None:
    text = "def f(x):\n    if x == 'a':\n        d = torch.float16\n    elif x == 'b':\n        d = torch.bfloat16\n    return MixedPrecisionPolicy(param_dtype=d)"
    assert values(text, "param_dtype") == {"float16", "bfloat16"}


def test_the_setting_that_is_nearest_is_varied_first() -> None:
    many = "".join(f"    if cfg.flag_{number}:\n        x = cfg.value_{number}\n" for number in range(150))
    text = f"def f(cfg):\n    x = None\n{many}    if x:\n        return MixedPrecisionPolicy(param_dtype=cfg.param_dtype)\n"
    assert values(text, "param_dtype") == ALL
