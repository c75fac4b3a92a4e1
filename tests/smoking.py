"""Helpers of the smoke tests: findings of a folder, and a run over them."""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import venv
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint import engine
from dtypelint.facts.project import Project
from dtypelint.files import Walk
from dtypelint.finding import Confidence, Edit, Finding, Fix, Location, Position, Safety, Severity, Span
from dtypelint.knowledge import Knowledge
from dtypelint.settings import Configuration, Flags
from dtypelint.smoke.evaluate import Goal
from dtypelint.smoke.run import smoke
from dtypelint.smoke.session import Session
from dtypelint.smoke.sites import Sites, call_at
from dtypelint.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dtypelint.files import File
    from dtypelint.smoke.records import Run

KNOWLEDGE = Knowledge()
NEWEST = KNOWLEDGE.libraries["torch"].newest


def walk(folder: Path, flags: Flags) -> list[File]:
    return Walk(Configuration(KNOWLEDGE.rules, flags)).files([folder])


def environment(folder: Path) -> str:
    """An interpreter that has accelerate and torchao too, where DTYPELINT_PACKAGES holds them; else this one."""
    packages = os.environ.get("DTYPELINT_PACKAGES", "")
    extra = [Path(packages, name) for name in ("accelerate-1.15.0", "torchao-0.18.0", "base")]
    if not packages or not all(path.is_dir() for path in extra):
        return sys.executable
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    site.joinpath("more.pth").write_text("\n".join([*map(str, extra), sysconfig.get_path("purelib")]))
    return str(folder / "bin" / "python")


def check(folder: Path, flags: Flags) -> tuple[list[Finding], list[File]]:
    report = engine.run([folder], engine.Options(flags=flags))
    return list(report.findings), walk(folder, flags)


def drive(findings: Sequence[Finding], files: Sequence[File], **more: object) -> Run:
    options = {"device": "cpu", "timeout": 300.0, "newest": NEWEST, **more}
    return smoke(findings, Sites(files), Session(**options))  # type: ignore[arg-type]


def planted(path: str, text: str, at: int, old: str, new: str, name: str) -> Finding:
    """A made-up finding of a rule at some words of an ASCII text, with a fix that replaces them."""
    rule = KNOWLEDGE.rule(name)
    source = Source(path, text)
    position = Position(path, *source.position(at), *source.position(at + len(old)))
    fix = Fix("planted", Safety.SAFE, (Edit(Location(path, Span(at, at + len(old))), new),))
    return Finding(rule.code, name, Severity.ERROR, Confidence.HIGH, "planted", position, "", (), fix, ())


def plant(path: str, text: str, old: str, new: str, name: str) -> Finding:
    """Write a file, with a made-up finding at the last place of some words: a fix adds its argument at the end."""
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)
    return planted(path, text, text.rindex(old), old, new, name)


def goal(text: str, call: str, **more: str) -> Goal:
    """The first call of a name in a text; `more` are other files by stem."""
    files = {"train.py": text, **{f"{stem}.py": body for stem, body in more.items()}}
    project = Project(files, KNOWLEDGE, {}, files.get)
    module = project.load("train.py")
    nodes = [node for node in ast.walk(module.tree.root) if isinstance(node, ast.Call)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    node = next(node for node in nodes if ast.unparse(node.func) == call)
    return Goal(project, module, call_at(project, module, module.tree.span(node)))
