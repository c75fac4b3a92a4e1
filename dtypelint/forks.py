"""Work spread over forked processes: results keep their order, and a process that dies or hangs costs one piece."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Lost:
    """A piece without a result, and why."""

    reason: str


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    piece: int
    since: float

    def give(self, piece: int) -> None:
        self.piece, self.since = piece, time.monotonic()
        self.pipe.send(piece)

    def end(self) -> str:
        self.pipe.close()
        self.process.join(5)
        code = self.process.exitcode
        return f"{signal.strsignal(-code) or -code}" if code is not None and code < 0 else f"exit status {code}"


def spread(
    work: Callable[[int], Result],
    count: int,
    jobs: int,
    limit: float,
    told: Callable[[int, int], None] = lambda _done, _count: None,
) -> list[Result | Lost]:
    """`work(0)` to `work(count - 1)`, each within `limit` seconds; `told` hears how many are done."""
    results: dict[int, Result | Lost] = {}
    waiting = deque(range(count))
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(_start(work, waiting.popleft(), [worker.pipe for worker in workers]))
            ready = wait([worker.pipe for worker in workers], timeout=1)
            for worker in list(workers):
                if worker.pipe in ready:
                    _collect(worker, workers, waiting, results)
                elif time.monotonic() - worker.since > limit:
                    worker.process.kill()
                    worker.end()
                    workers.remove(worker)
                    results[worker.piece] = Lost(f"took longer than {limit:g} seconds")
            told(len(results), count)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.end()
    return [results[piece] for piece in range(count)]


def _collect(worker: _Worker, workers: list[_Worker], waiting: deque[int], results: dict[int, Result | Lost]) -> None:
    try:
        results[worker.piece] = worker.pipe.recv()
    except (EOFError, OSError):
        workers.remove(worker)
        results[worker.piece] = Lost(f"its process died: {worker.end()}")
        return
    if waiting:
        worker.give(waiting.popleft())
    else:
        workers.remove(worker)
        worker.end()


def _start(work: Callable[[int], Result], piece: int, others: list[Connection]) -> _Worker:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs, [*others, ours]), daemon=True)
    process.start()
    theirs.close()
    worker = _Worker(process, ours, piece, 0)
    worker.give(piece)
    return worker


def _serve(work: Callable[[int], Result], pipe: Connection, inherited: list[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    while True:
        try:
            piece = pipe.recv()
        except EOFError:
            return
        pipe.send(work(piece))
