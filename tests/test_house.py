"""The invariants of the design: who imports whom, pages and checks and the table of the README."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dtypelint.knowledge import Knowledge
from dtypelint.reports import table

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "dtypelint"

# each room, and the rooms that it may import from
ROOMS: dict[str, set[str]] = {
    "": {"engine", "settings", "finding"},
    "errors": set(),
    "baseline": {"errors", "finding"},
    "changes": {"errors", "finding"},
    "notebook": {"finding", "source"},
    "silence": {"finding", "ignores", "languages", "notebook", "source"},
    "languages": set(),
    "finding": set(),
    "tables": {"errors"},
    "schemas": {"tables"},
    "patterns": {"errors"},
    "source": {"finding"},
    "knowledge": {"errors", "finding", "languages", "schemas", "tables"},
    "ignores": {"finding", "knowledge", "languages", "source"},
    "facts": {"finding", "facts", "knowledge", "languages", "schemas", "source"},
    "checks": {"finding", "facts"},
    "settings": {"errors", "finding", "knowledge", "patterns", "tables"},
    "files": {"errors", "knowledge", "languages", "patterns", "settings"},
    "deep": set(),
    "forks": set(),
    "declared": set(),
    "places": {"files", "finding", "knowledge", "notebook", "source"},
    "examiner": {
        "declared",
        "deep",
        "facts",
        "files",
        "finding",
        "ignores",
        "knowledge",
        "languages",
        "notebook",
        "places",
        "settings",
        "source",
    },
    "narrowing": {"baseline", "changes", "examiner", "settings"},
    "engine": {
        "baseline",
        "changes",
        "narrowing",
        "examiner",
        "files",
        "finding",
        "forks",
        "knowledge",
        "places",
        "settings",
        "source",
    },
    "runtime": {"runtime"},
    "smoke": {"errors", "facts", "files", "finding", "knowledge", "runtime", "smoke", "source"},
    "reports": {"finding", "knowledge", "notebook", "reports", "source"},
    "workspace": {"engine", "examiner", "finding", "places", "source"},
    "fixer": {"facts", "finding", "source"},
    "writer": set(),
    "cli": {
        *("", "cli", "engine", "errors", "finding", "fixer", "knowledge", "reports", "settings", "source"),
        *("baseline", "changes", "files", "silence", "smoke", "workspace", "writer"),
    },
    "__main__": {"cli"},
}
# where heavy or dangerous modules may be imported; nothing else in the package may
KEEPERS = {
    "libcst": ("facts/python/",),
    "ruamel": ("facts/config/yaml.py",),
    "torch": ("smoke/driver.py", "smoke/probes/", "runtime/"),
    "click": ("cli/",),
    "rich": ("cli/", "reports/text.py"),
    "multiprocessing": ("forks.py",),
    "pickle": (),
    "marshal": (),
    "socket": (),
    "urllib": ("reports/surroundings.py",),
    "http": (),
    "requests": (),
    "importlib.util": ("examiner.py",),
    "runpy": (),
    "pytest": ("runtime/plugin.py",),
    "subprocess": ("changes.py", "smoke/session.py", "smoke/probes/processes.py", "smoke/probes/witness.py"),
}
DANGEROUS = {"eval", "exec", "compile", "__import__", "open", "input", "print"}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


MODULES = pytest.mark.parametrize("path", modules(), ids=name_of)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: a relative import"
            assert node.module
            if node.module in (
                "dtypelint",
                "dtypelint.cli",
                "dtypelint.reports",
                "dtypelint.facts",
                "dtypelint.facts.python",
            ):
                inner = {
                    alias.name
                    for alias in node.names
                    if (PACKAGE.parent / node.module.replace(".", "/") / f"{alias.name}.py").exists()
                }
                yield from (f"{node.module}.{name}" for name in inner)
                if len(inner) < len(node.names):
                    yield node.module
            else:
                yield node.module


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def own_room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


@MODULES
def test_imports_go_down_the_flow(path: Path) -> None:
    allowed = ROOMS[own_room(path)]
    for module in imports(path):
        if module.partition(".")[0] == "dtypelint":
            assert room(module) in allowed, f"{name_of(path)} imports {module}"


@MODULES
def test_heavy_modules_have_their_rooms(path: Path) -> None:
    for module in imports(path):
        for name, keepers in KEEPERS.items():
            if module == name or module.startswith(f"{name}."):
                assert any(name_of(path).startswith(keeper) for keeper in keepers), f"{name_of(path)} imports {module}"


@MODULES
def test_nothing_is_evaluated(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in DANGEROUS, f"{name_of(path)}:{node.lineno}: {node.func.id}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "checks").glob("[a-z]*.py")), ids=name_of)
def test_a_check_is_a_function_of_facts(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for module in imports(path):
        first = module.partition(".")[0]
        assert first in ("dtypelint", "__future__", "collections", "dataclasses", "re", "typing", "itertools"), module
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names.count("check") == 1
    assert not [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal)]


def test_every_room_is_known() -> None:
    assert {own_room(path) for path in modules()} <= set(ROOMS)


def test_pages_and_checks_are_one_to_one() -> None:
    pages = {rule.name.replace("-", "_") for rule in Knowledge().rules if not rule.own}
    checks = {path.stem for path in (PACKAGE / "checks").glob("[a-z]*.py")}
    assert pages == checks


def test_rules_hold_no_code() -> None:
    assert not list((ROOT / "rules").rglob("*.py"))
    assert {path.suffix for path in (ROOT / "rules").rglob("*") if path.is_file()} == {".md", ".toml"}


def test_the_table_of_the_readme_is_that_of_the_pages() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, after = readme.partition("<!-- rules -->\n")
    assert after.partition("<!-- /rules -->")[0] == table.markdown(Knowledge().rules)


def test_modules_are_small() -> None:
    sizes = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert not {path: size for path, size in sizes.items() if size > 500}
