"""The texts of a project's files, for questions about words that need no parse."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property


class Texts:
    """The texts of some files, read once and laid one behind the other: a word is looked up in all of them in one search."""

    def __init__(self, files: Iterable[str], read: Callable[[str], str | None]) -> None:
        self._files = sorted(files)
        self._read = read
        self.holding = cache(self._holding)

    @cached_property
    def _joined(self) -> tuple[bytes, list[int]]:
        parts = [(self._read(path) or "").encode("utf-8", "surrogatepass") for path in self._files]
        starts = [0]
        for part in parts:
            # a word never reaches over the line end between two files
            starts.append(starts[-1] + len(part) + 1)
        return b"\n".join(parts), starts

    def _holding(self, *words: str) -> tuple[str, ...]:
        """The files that hold every one of some words, by path."""
        found = [set(self._with(word.encode())) for word in words]
        return tuple(self._files[index] for index in sorted(set.intersection(*found)))

    def _with(self, word: bytes) -> Iterator[int]:
        data, starts = self._joined
        place = data.find(word)
        while place >= 0:
            index = bisect_right(starts, place) - 1
            yield index
            place = data.find(word, starts[index + 1])
