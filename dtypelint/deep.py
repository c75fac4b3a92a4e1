"""Room for deeply nested code: a stack that holds what Python's own limit would cut off."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

STACK = 512 * 1024 * 1024  # bytes of address space; only what is used becomes memory
FRAMES = 100_000


def with_room(work: Callable[[], Result]) -> Result:
    """`work()` in a thread with a stack of `STACK` bytes; what it raises is raised here."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(max(limit, FRAMES))
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
