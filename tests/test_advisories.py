"""Every advisory finds a project that is affected, and leaves alone one that takes another release."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import dtypelint
from dtypelint.knowledge import Knowledge
from dtypelint.schemas import Advisory

ADVISORIES = [pytest.param(each, id=f"{each.library}-{place}") for place, each in enumerate(Knowledge().advisories)]
KINDS = {config.name: config for config in Knowledge().configs}
RELEASES = [f"{major}.{minor}.{patch}" for major in range(4) for minor in range(20) for patch in range(10)]
IMPORTS = "import deepspeed, lightning, nemo, pytorch_lightning, torch"


class Simple(ast.NodeTransformer):
    """Takes the first of several alternatives, and a name for anything."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a | b` is `a`."""
        inner: ast.AST = self.visit(node.left)
        return inner

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`...` is a name."""
        return ast.Name("model") if node.value is ... else node


def feature(advisory: Advisory) -> tuple[str, str]:
    """A file that uses the feature: a configuration, or the patterns themselves, which are Python."""
    if not advisory.config:
        several = (ast.unparse(Simple().visit(ast.parse(pattern))) for pattern in advisory.code)
        return "use.py", "\n".join([IMPORTS, *several, ""])
    document: dict[str, object] = {key: {} for key in KINDS[advisory.kind].marks[0]}
    for key, values in advisory.config.items():
        inner = document
        *path, last = key.removeprefix("*.").split(".")
        for name in path:
            inner = inner.setdefault(name, {}) or inner[name]  # type: ignore[assignment]
        if "-" not in values:
            inner[last] = values[0]
    return "use.json", json.dumps(document, indent=1)


def found(folder: Path, requirement: str, *, pedantic: bool) -> list[str]:
    (folder / "requirements.txt").write_text(f"{requirement}\n")
    findings = dtypelint.check([folder], isolated=True, select=["DTL901"], pedantic=pedantic)
    return [finding.message for finding in findings]


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_an_advisory_finds_what_it_is_about(advisory: Advisory, tmp_path: Path) -> None:
    name, text = feature(advisory)
    (tmp_path / name).write_text(text)
    if advisory.splits:
        affected, other = f"{advisory.library}>=1.0", f"{advisory.library}>={advisory.splits}"
    else:
        inside = [each for each in RELEASES if SpecifierSet(advisory.versions).contains(each)]
        affected = f"{advisory.library}=={inside[-1]}"
        other = f"{advisory.library}=={next(each for each in (RELEASES[0], RELEASES[-1]) if each not in inside)}"
    said = found(tmp_path, affected, pedantic=True)
    assert any(advisory.consequence in message for message in said), (affected, text)
    assert not any(advisory.consequence in message for message in found(tmp_path, other, pedantic=True))
