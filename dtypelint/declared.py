"""The versions that a project says it runs with: its lock file, its dependencies, its requirements files."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_COMMENT = re.compile(r"(^|\s)#.*")
Read = Callable[[str], str | None]


def declared(names: tuple[str, ...], read: Read) -> dict[str, str]:
    """The version or range of each distribution that the files of a project root name, by the distribution's name.

    `names` are the files of the root folder, `read` gives the text of one (None when it cannot be had). The first kind of
    file that speaks of a distribution decides: a lock, `pyproject.toml`, requirements files, `setup.cfg`, literals in
    `setup.py`. A file that does not parse says nothing.
    """
    found: dict[str, str] = {}
    requirements = sorted(name for name in names if name.startswith("requirements") and name.endswith((".txt", ".in")))
    sources: list[tuple[str, Callable[[str], Iterator[tuple[str, str]]]]] = [
        ("uv.lock", _lock),
        ("poetry.lock", _lock),
        ("pyproject.toml", _pyproject),
        *((name, _requirements) for name in requirements),
        ("setup.cfg", _setup_cfg),
        ("setup.py", _setup_py),
    ]
    for name, parse in sources:
        text = read(name) if name in names else None
        if text is None:
            continue
        try:
            said = list(parse(text))
        except (tomllib.TOMLDecodeError, configparser.Error, SyntaxError, ValueError, AttributeError, TypeError):
            continue
        for library, version in said:
            found.setdefault(library, version)
    return found


def _lock(text: str) -> Iterator[tuple[str, str]]:
    for package in tomllib.loads(text).get("package", ()):
        if isinstance(package.get("version"), str):
            yield _canonical(package["name"]), package["version"]


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    values = tomllib.loads(text)
    project = values.get("project", {})
    lists = [
        project.get("dependencies", ()),
        *project.get("optional-dependencies", {}).values(),
        *values.get("dependency-groups", {}).values(),
    ]
    for several in lists:
        yield from _parsed(item for item in several if isinstance(item, str))
    yield from _poetry(values.get("tool", {}).get("poetry", {}))


def _poetry(poetry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tables = [poetry.get("dependencies", {}), *(g.get("dependencies", {}) for g in poetry.get("group", {}).values())]
    for table in tables:
        for name, value in table.items():
            version = value.get("version", "*") if isinstance(value, dict) else value
            if isinstance(version, str) and version != "*":
                yield from _parsed([f"{name}{_from_caret(version)}"])


def _from_caret(version: str) -> str:
    """Poetry's `^2.3` as a range."""
    if version[:1] not in "^~" or version.startswith("~="):
        return version if version[:1] in "<>=!~" else f"=={version}"
    lower = version[1:]
    major, _, rest = lower.partition(".")
    if version[0] == "^" and major != "0":
        return f">={lower},<{int(major) + 1}"
    minor = rest.partition(".")[0] or "0"
    return f">={lower},<{major}.{int(minor) + 1}"


def _requirements(text: str) -> Iterator[tuple[str, str]]:
    lines = (_COMMENT.sub("", line).strip() for line in text.splitlines())
    yield from _parsed(line.partition(" --")[0].rstrip("\\ ") for line in lines if line and not line.startswith("-"))


def _setup_cfg(text: str) -> Iterator[tuple[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    yield from _requirements(parser.get("options", "install_requires", fallback=""))
    if parser.has_section("options.extras_require"):
        for _, value in parser.items("options.extras_require"):
            yield from _requirements(value)


def _setup_py(text: str) -> Iterator[tuple[str, str]]:
    """Every literal that reads as a requirement with a version: the file is never run."""
    literals = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    yield from _parsed(item for item in literals if re.fullmatch(r"[A-Za-z][\w.\-]*(\[[\w,]*\])?\s*[<>=~!]=?.*", item))


def _parsed(items: Any) -> Iterator[tuple[str, str]]:
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parse

    for item in items:
        try:
            requirement: Requirement = Parse(item)
        except InvalidRequirement:
            continue
        exact = [s.version for s in requirement.specifier if s.operator == "==" and not s.version.endswith("*")]
        if requirement.specifier:
            yield _canonical(requirement.name), exact[0] if exact else str(requirement.specifier)


def _canonical(name: str) -> str:
    from packaging.utils import canonicalize_name

    return canonicalize_name(name).replace("-", "_")
