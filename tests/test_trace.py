"""Where the values of an expression come from, across the functions and files of a project."""

from __future__ import annotations

import ast

from dtypelint.facts.project import Project
from dtypelint.facts.python.module import statements
from dtypelint.knowledge import Knowledge

HELPERS = """
import torch

COMPUTE = torch.bfloat16
# a comment that makes the file longer than the one that calls


def compute_dtype(name, dtype=COMPUTE):
    return dtype
"""
TRAIN = "from helpers import compute_dtype\n\nfound = compute_dtype('a')\n"


def test_the_default_of_a_parameter_is_read_where_the_function_stands() -> None:
    files = {"helpers.py": HELPERS, "train.py": TRAIN}
    project = Project(files, Knowledge(), {}, files.get)
    module = project.load("train.py")
    last = list(statements(module.scope.body))[-1]
    assert isinstance(last, ast.Assign)
    (origin,) = project.tracer.value(last.value, module.scope).origins
    assert (origin.text, origin.location.path) == ("bfloat16", "helpers.py")
