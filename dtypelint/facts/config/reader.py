"""From the text of a configuration file to the facts of its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dtypelint.facts.config.documents import Documents
from dtypelint.facts.config.judge import Judge
from dtypelint.facts.config.leaves import backend_of
from dtypelint.facts.config.nodes import Mapping as Map
from dtypelint.facts.config.nodes import Scalar
from dtypelint.facts.configs import ConfigKey, Fp8Request, Insertion
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.finding import Location, Span


@dataclass(frozen=True, slots=True)
class Reader:
    """What it takes to judge a document: the schemas, the targets, and what the project around it is known to do."""

    documents: Documents
    targets: Targets
    roles: Roles
    evident: Callable[[], tuple[str, ...]]

    def facts(
        self, path: str, text: str, given: Mapping[str, str]
    ) -> tuple[tuple[ConfigKey, ...], tuple[Fp8Request, ...]]:
        """The keys that do not arrive, and what asks for fp8; `given` are the keys that a launch command sets."""
        keys: list[ConfigKey] = []
        requests: list[Fp8Request] = []
        for document in self.documents.of(path):
            config = self.documents.kind(document)
            if config is None:
                continue
            assert isinstance(document, Map)
            judge = Judge(path, document, config, self.targets, self.roles, given)
            keys += judge.keys()
            requests += self._requests(path, text, document, judge)
        return tuple(keys), tuple(requests)

    def _requests(self, path: str, text: str, document: Map, judge: Judge) -> Iterator[Fp8Request]:
        answers = judge.answers()
        entry = document.get("mixed_precision")
        if not answers or entry is None:
            return
        backend = backend_of(document)
        yield Fp8Request(
            span=Span(entry.span.start, entry.value.span.end) if not entry.shared else entry.span,
            where="file",
            backend="?" if backend is None else backend,
            answers=answers,
            evident=self.evident() if not backend else (),
            insertion=_insertion(path, text.encode(), document) if not entry.shared else None,
        )


def _insertion(path: str, data: bytes, document: Map) -> Insertion | None:
    """Where a backend can be written without touching anything else."""
    asked, section = document.get("mixed_precision"), document.get("fp8_config")
    assert asked is not None
    quote = '"' if data[asked.span.start : asked.span.start + 1] == b'"' else ""
    backend = f"{quote}backend{quote}: {quote}{{}}{quote}"
    if section is None:
        if document.flow:
            return _at(path, asked.value.span.end, f", {quote}fp8_config{quote}: {{{{{backend}}}}}")
        line = data.rfind(b"\n", 0, asked.span.start) + 1
        indent = data[line : asked.span.start].decode()
        end = data.find(b"\n", asked.value.span.end)
        end = len(data) if end < 0 else end
        newline = "\r\n" if data[end - 1 : end] == b"\r" else "\n"
        end -= len(newline) - 1
        return (
            _at(path, end, f"{newline}{indent}fp8_config:{newline}{indent}  {backend}") if not indent.strip() else None
        )
    inner = section.value
    if section.shared or isinstance(inner, Scalar) or not isinstance(inner, Map):
        return None
    if inner.flow:
        return _at(path, inner.span.start + 1, f"{backend}, " if inner.entries else backend)
    first = inner.entries[0].span.start
    indent = data[data.rfind(b"\n", 0, first) + 1 : first].decode()
    newline = "\r\n" if b"\r\n" in data else "\n"
    return _at(path, first, f"{backend}{newline}{indent}") if not indent.strip() else None


def _at(path: str, offset: int, text: str) -> Insertion:
    return Insertion(Location(path, Span(offset, offset)), text)
