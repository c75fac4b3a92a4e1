"""Paths against patterns in the syntax of `.gitignore`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dtypelint.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from pathspec import GitIgnoreSpec


@dataclass(frozen=True)
class Patterns:
    """Patterns that hold below a folder."""

    base: Path
    lines: tuple[str, ...]

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        try:
            return GitIgnoreSpec.from_lines(line.removeprefix("./") for line in self.lines)
        except ValueError as error:
            raise UserError(f"{self.base}: not a pattern: {error}") from None

    def match(self, path: Path, *, folder: bool = False) -> bool | None:
        """True and False are the last pattern's word, None says that no pattern speaks of the path."""
        if not self.lines or not path.is_relative_to(self.base):
            return None
        relative = path.relative_to(self.base).as_posix()
        return self._spec.check_file(f"{relative}/" if folder else relative).include


def is_pattern(line: str) -> bool:
    """Whether a line of somebody else's `.gitignore` can be read."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
