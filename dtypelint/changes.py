"""Which lines have changed since a commit, asked of git. The only place that starts another program."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dtypelint.finding import Finding, Position

HUNK = re.compile(rb"^@@ -\S+ \+(?P<start>\d+)(?:,(?P<count>\d+))? @@", re.MULTILINE)
# nothing that the repository configures is run: no monitor, no diff program, no text converter
QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager", "--literal-pathspecs")
DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules")
MOVED = ("R", "C")


class Changes:
    """The lines that differ between the working tree and the place where the branch left a commit."""

    def __init__(self, reference: str, folder: Path | None = None) -> None:
        self._top = folder or Path.cwd()
        top = self._git("rev-parse", "--show-toplevel", why="this is no git repository")
        self._top = Path(os.path.realpath(os.fsdecode(top.rstrip(b"\n"))))
        self._base = self._commit(reference)
        self._lines: dict[str, Sequence[range] | None] = {}

    def touch(self, finding: Finding) -> bool:
        """Whether a line of the finding has changed, or one that it rests on: a declared setting makes a finding new."""
        return any(
            map(self._changed, [finding.position, *finding.settings, *(note.position for note in finding.related)])
        )

    def _changed(self, position: Position) -> bool:
        real = Path(os.path.realpath(position.path))
        if not real.is_relative_to(self._top):
            return True
        lines = self._of(real.relative_to(self._top).as_posix())
        first, last = position.lines
        return lines is None or any(part.start <= last and first < part.stop for part in lines)

    def _of(self, path: str) -> Sequence[range] | None:
        """The changed lines of a file; None where the whole file is new."""
        if path not in self._lines:
            self._lines[path] = self._read(path)
        return self._lines[path]

    def _read(self, path: str) -> Sequence[range] | None:
        before = self._modified.get(path)
        if before is None:
            return () if path in self._old else None
        text = self._git("diff", "-U0", "-M", *DIFF, self._base, "--", *sorted({path, before}))
        return [_range(int(hunk["start"]), int(hunk["count"] or 1)) for hunk in HUNK.finditer(text)]

    @cached_property
    def _old(self) -> frozenset[str]:
        """The files of the commit."""
        return frozenset(_names(self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", self._base)))

    @cached_property
    def _modified(self) -> dict[str, str]:
        """The files that exist in both states and differ, with the path that each had."""
        words = iter(_names(self._git("diff", "--raw", "-z", "-M", *DIFF, self._base, "--")))
        found: dict[str, str] = {}
        for entry in words:
            status = entry.rpartition(" ")[2]
            before = next(words)
            after = next(words) if status.startswith(MOVED) else before
            if not status.startswith("A"):
                found[after] = before
        return found

    def _commit(self, reference: str) -> str:
        """Where the branch left the reference; the reference itself where the history is cut off."""
        why = f"`{reference}` is no commit of this repository; a shallow clone may have to fetch it"
        commit = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", why=why)
        head = commit.decode().strip()
        try:
            return self._git("merge-base", head, "HEAD", why=why).decode().strip()
        except UserError:
            return head

    def _git(self, *args: str, why: str = "") -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - the arguments are ours
                ["git", *QUIET, *args],  # noqa: S607 - the git of the user
                cwd=self._top,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                check=False,
            )
        except OSError as error:
            raise UserError(f"--diff-base: git cannot be run: {error.strerror or error}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise UserError(": ".join(filter(None, ["--diff-base", why, said or f"git {args[0]} failed"])))
        return done.stdout


def _range(start: int, count: int) -> range:
    """The lines of a hunk; where lines were taken away, the two that met."""
    return range(start, start + count) if count else range(start, start + 2)


def _names(output: bytes) -> Iterable[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]
