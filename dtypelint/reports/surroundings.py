"""What a report can know besides its findings: the checkout that its paths belong to, the texts, the rules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote as quote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dtypelint.knowledge import Rule
    from dtypelint.source import Source

# the folders that GitHub Actions and GitLab CI check a repository out into
WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def _no_text(_path: str) -> Source | None:
    return None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`base` is the root of the checkout, `text` reads a file by the path of a finding (None where it cannot be had).

    `blob` is the address below which the host shows the files of the commit, where that is known.
    """

    base: Path
    rules: tuple[Rule, ...] = ()
    text: Callable[[str], Source | None] = _no_text
    blob: str | None = None
    version: str = ""

    def path(self, path: str) -> str:
        """A path of a finding, relative to the base where it lies below it; links are followed as the host does."""
        try:
            real = Path(os.path.realpath(path))
        except ValueError:
            return path
        for absolute in (real, Path(os.path.abspath(path))):
            if absolute.is_relative_to(self.base):
                return absolute.relative_to(self.base).as_posix()
        return path

    def link(self, path: str, line: int) -> str | None:
        """The address of a line on the host."""
        return f"{self.blob}/{quote(self.path(path))}#L{line}" if self.blob else None


def base(environment: Mapping[str, str]) -> Path:
    """The workspace of the CI service, else the root of the git repository, else the working folder."""
    working = Path.cwd()
    for name in WORKSPACES:
        if folder := environment.get(name):
            workspace = Path(os.path.realpath(folder))
            if working.is_relative_to(workspace):
                return workspace
    return next((folder for folder in (working, *working.parents) if (folder / ".git").exists()), working)


def blob(environment: Mapping[str, str]) -> str | None:
    """The address of the commit's files, from the variables of GitHub Actions."""
    parts = [environment.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA")]
    return "{}/{}/blob/{}".format(*parts) if all(parts) else None
