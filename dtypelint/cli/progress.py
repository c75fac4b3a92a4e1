"""How far a long run has come, for somebody who looks at a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

SOON = 1.0


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What a run calls with the numbers of files that are done and of all; nothing is shown in the first second."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    shown = _Bar()
    try:
        yield shown.update
    finally:
        shown.close()


class _Bar:
    """A bar that rich draws on the standard error output, and takes away again."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._bar: Progress | None = None

    def update(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._since < SOON:
                return
            self._bar = _bar()
            self._bar.add_task("checking")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
