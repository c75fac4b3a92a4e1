"""Imports: reused under their name, added once in the right block, taken out when nothing needs them any more."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.facts.imports import Imports
from dtypelint.facts.python.imports import imports
from dtypelint.facts.python.module import Module
from dtypelint.finding import Edit, Location, Span
from dtypelint.fixer import edited
from dtypelint.source import Source


def of(text: str, path: str = "a.py") -> Imports:
    return imports(Module(path, "a", "a", False, text))


def added(text: str, module: str, name: str) -> tuple[str, str]:
    """What the member of a module is called at the end of a text, and the text that gives it."""
    found = of(text).get(module, name, len(text.encode()))
    assert found is not None
    called, edits = found
    return called, edited(Source("a.py", text), edits).text


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("import torch\n", "torch.float32"),
        ("import torch as th\n", "th.float32"),
        ("from torch import float32\n", "float32"),
        ("from torch import float32 as f32, nn\n", "f32"),
        ("import torch.nn\n", "torch.float32"),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "torch.float32"),
    ],
)
def test_an_import_is_reused_under_its_name(text: str, called: str) -> None:
    assert added(text, "torch", "float32") == (called, text)


def test_a_local_import_counts_in_its_function() -> None:
    text = "def f():\n    import torch as t\n    use()\ndef g():\n    use()\n"
    first, second = (text.index("use"), text.rindex("use"))
    assert of(text).known("torch", "float32", first) == "t.float32"
    assert of(text).known("torch", "float32", second) is None
    assert of(text).known("torch", "float32", text.index("import")) is None


def test_a_name_that_means_something_else_is_not_used() -> None:
    text = "import torch\ndef f(torch):\n    use()\ndef g():\n    use()\n"
    assert of(text).known("torch", "float32", text.index("use")) is None
    assert of(text).get("torch", "float32", text.index("use")) is None
    assert of(text).known("torch", "float32", text.rindex("use")) == "torch.float32"
    assert of("torch = 1\n").get("torch", "float32", 0) is None
    assert of("def replace(x): ...\n").get("dataclasses", "replace", 0) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n", "import torch\n\nx = 1\n"),
        ("", "import torch\n\n"),
        ("# licence\n# more\n\nx = 1\n", "# licence\n# more\nimport torch\n\nx = 1\n"),
        ('"""Doc."""\n\nx = 1\n', '"""Doc."""\n\nimport torch\n\nx = 1\n'),
        ('"""Doc."""\nx = 1\n', '"""Doc."""\n\nimport torch\n\nx = 1\n'),
        (
            "from __future__ import annotations\n\nx = 1\n",
            "from __future__ import annotations\n\nimport torch\n\nx = 1\n",
        ),
        ("import os\nimport sys\n\nx = 1\n", "import os\nimport sys\n\nimport torch\n\nx = 1\n"),
        ("import os\n\nimport numpy\nimport zarr\n", "import os\n\nimport numpy\nimport torch\nimport zarr\n"),
        ("import numpy\nfrom abacus import b\n", "import numpy\nimport torch\nfrom abacus import b\n"),
        ("from .sister import b\n", "import torch\n\nfrom .sister import b\n"),
        ("import os  # why\nx = 1\n", "import os  # why\n\nimport torch\nx = 1\n"),
        (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n",
            "from typing import TYPE_CHECKING\n\nimport torch\n\nif TYPE_CHECKING:\n    import torch\n",
        ),
        ("import os\r\nx = 1\r\n", "import os\r\n\r\nimport torch\r\nx = 1\r\n"),
        ("import os\ndef f():\n    import torch\n", "import os\n\nimport torch\ndef f():\n    import torch\n"),
    ],
)
def test_torch_is_imported_in_the_right_block(text: str, expected: str) -> None:
    found = of(text).get("torch", "float32", 0)
    if "import torch" in text:
        # bound elsewhere, and never seen here: nothing is added under a taken name
        assert found is None
    else:
        assert added(text, "torch", "float32") == ("torch.float32", expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from dataclasses import dataclass\n", "from dataclasses import dataclass, replace\n"),
        ("from dataclasses import field, zeta\n", "from dataclasses import field, replace, zeta\n"),
        ("from dataclasses import field as f\n", "from dataclasses import field as f, replace\n"),
        (
            "from dataclasses import (\n    dataclass,\n    field,\n)\n",
            "from dataclasses import (\n    dataclass,\n    field,\n    replace,\n)\n",
        ),
        ("from dataclasses import (\n    zeta,\n)\n", "from dataclasses import (\n    replace,\n    zeta,\n)\n"),
        ("from dataclasses import a, \\\n    b\n", "from dataclasses import a, \\\n    b, replace\n"),
        ("import abc\nfrom enum import Enum\n", "import abc\nfrom dataclasses import replace\nfrom enum import Enum\n"),
    ],
)
def test_a_member_joins_the_import_of_its_module(text: str, expected: str) -> None:
    assert added(text, "dataclasses", "replace") == ("replace", expected)


def test_a_module_that_is_imported_whole_is_used_whole() -> None:
    assert added("import dataclasses as d\n", "dataclasses", "replace") == ("d.replace", "import dataclasses as d\n")


def tidied(text: str, old: str, new: str, path: str = "a.py") -> str:
    start = text.rindex(old)
    edit = Edit(Location(path, Span(start, start + len(old))), new)
    return edited(Source(path, text), of(text, path).tidy([edit])).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\nimport torch\nx = torch.bfloat16\n", "import os\nx = y\n"),
        ("import os, torch\nx = torch.bfloat16\n", "import os\nx = y\n"),
        ("import torch, os\nx = torch.bfloat16\n", "import os\nx = y\n"),
        (
            "from m import (\n    a,\n    torch,\n    b,\n)\nx = torch.bfloat16\n",
            "from m import (\n    a,\n    b,\n)\nx = y\n",
        ),
    ],
)
def test_an_import_that_is_left_over_goes(text: str, expected: str) -> None:
    assert tidied(text, "torch.bfloat16", "y") == expected


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx: 'torch.dtype' = torch.bfloat16\n",
        "import torch  # noqa\nx = torch.bfloat16\n",
        "import torch\ny = torch.float32\nx = torch.bfloat16\n",
        "try:\n    import torch\nexcept ImportError:\n    pass\nx = torch.bfloat16\n",
        "__all__ = ['torch']\nimport torch\nx = torch.bfloat16\n",
        "def f():\n    import torch\n    x = torch.bfloat16\n",
    ],
)
def test_an_import_that_something_else_may_need_stays(text: str) -> None:
    assert tidied(text, "torch.bfloat16", "y") == text.replace("torch.bfloat16", "y")


def test_an_import_of_a_package_stays_for_its_users() -> None:
    text = "import torch\nx = torch.bfloat16\n"
    assert tidied(text, "torch.bfloat16", "y", "p/__init__.py") == "import torch\nx = y\n"
    assert tidied(text, "torch.bfloat16", "torch.float32") == "import torch\nx = torch.float32\n"


HEADS = st.lists(
    st.sampled_from(
        [
            "import os",
            "import abc, enum",
            "import numpy as np",
            "from typing import (\n    Any,\n    Final,\n)",
            "from dataclasses import dataclass",
            "from .sister import thing",
            "import zarr  # é",
            "if True:\n    import json",
        ]
    ),
    unique=True,
)


@given(
    st.sampled_from(["", '"""Doc."""\n', "# coding: utf-8\n"]), st.booleans(), HEADS, st.sampled_from(["\n", "\r\n"])
)
def test_an_import_gives_its_name_wherever_it_goes(doc: str, future: bool, head: list[str], newline: str) -> None:
    lines = [*(["from __future__ import annotations"] if future else []), *head, "x = 1", ""]
    text = (doc + "\n".join(lines)).replace("\n", newline)
    for module, name in (("torch", "float32"), ("dataclasses", "replace"), ("torch.amp", "GradScaler")):
        called, after = added(text, module, name)
        tree = ast.parse(after)
        assert ast.get_docstring(tree) == ast.get_docstring(ast.parse(text))
        assert len(after) > len(text)
        assert added(after, module, name) == (called, after)
        assert ("\n" in after.replace("\r\n", "")) is (newline == "\n" and "\n" in after)
