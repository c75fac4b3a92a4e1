"""Which files are read, and as what."""

from __future__ import annotations

import re
from enum import StrEnum


class Language(StrEnum):
    """What a file is by its name; what it says of precision follows from its content."""

    PYTHON = "python"
    YAML = "yaml"
    JSON = "json"
    SHELL = "shell"
    PINS = "pins"


SUFFIXES = {
    ".py": Language.PYTHON,
    ".ipynb": Language.PYTHON,
    ".yaml": Language.YAML,
    ".yml": Language.YAML,
    ".json": Language.JSON,
    ".sh": Language.SHELL,
    ".bash": Language.SHELL,
    ".slurm": Language.SHELL,
    ".sbatch": Language.SHELL,
    ".dockerfile": Language.SHELL,
}
NAMES = re.compile(
    r"(?P<shell>(?:Docker|Container)file(?:\..+)?)|(?P<pins>requirements[\w.-]*\.txt|pyproject\.toml|setup\.cfg)"
)


def language(path: str) -> Language | None:
    """The language of a file by its name; None for one that is not read."""
    name = path.rpartition("/")[2]
    found = SUFFIXES.get(name[name.rfind(".") :].lower()) if "." in name else None
    if found is None and (match := NAMES.fullmatch(name)):
        found = Language(match.lastgroup or "")
    return found
