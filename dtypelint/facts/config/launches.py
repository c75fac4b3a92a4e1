"""The `accelerate launch` commands of a project: which config and which script they bring together, and what they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from dtypelint.facts.config import shell
from dtypelint.facts.config.documents import Documents
from dtypelint.facts.config.leaves import backend_of, value_of
from dtypelint.facts.config.shell import Launch, Script, Word
from dtypelint.finding import Location, Related
from dtypelint.languages import Language, language

PRECISION = "ACCELERATE_MIXED_PRECISION"
BACKEND = "ACCELERATE_FP8_BACKEND"


@dataclass(frozen=True, slots=True)
class Run:
    """A launch in its file."""

    path: str
    launch: Launch
    script: Script


class Launches:
    """Reads them from the scripts and Dockerfiles of a project."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every launch of the project."""
        found = []
        for path in self._documents.files:
            if language(path) is Language.SHELL:
                text = self._documents.text(path)
                if "accelerate" in text:
                    script = shell.read(path, text)
                    found += [Run(path, launch, script) for launch in script.launches]
        return tuple(found)

    @cached_property
    def configs(self) -> tuple[str, ...]:
        """The accelerate configs of the project that ask for fp8."""
        found = []
        for path in self._documents.files:
            if language(path) in (Language.YAML, Language.JSON):
                text = self._documents.text(path)
                if "fp8" in text.lower() and "distributed_type" in text and self._asks(path) is not None:
                    found.append(path)
        return tuple(found)

    def given(self, config: str) -> dict[str, str]:
        """The keys of a config that a launch sets by a flag, where that makes it ask for fp8."""
        for run in self.runs:
            flag = run.launch.flags.get("mixed_precision")
            if flag is not None and flag.text == "fp8" and self.config(run) == config:
                return {"mixed_precision": "fp8"}
        return {}

    def config(self, run: Run) -> str | None:
        """The config file of a launch; empty where it has none, None where it is not known."""
        flag = run.launch.flags.get("config_file")
        if flag is None:
            return "" if not run.launch.spread else None
        return self._resolve(run.path, flag.value, self._documents.files)

    def script(self, run: Run) -> str | None:
        """The Python file that a launch starts."""
        word = run.launch.script
        if word is not None and not word.text.endswith(".py"):
            word = Word(word.text.replace(".", "/") + ".py", word.span, word.known)
        return self._resolve(run.path, word, self._documents.code)

    def asks(self, run: Run) -> Related | None:
        """Where a launch asks for fp8: by its flag, its config file, or the environment; None where it does not."""
        flag = run.launch.flags.get("mixed_precision")
        if flag is not None:
            place = Location(run.path, flag.name.span)
            return Related(place, "the launch asks for fp8 here") if flag.text == "fp8" else None
        config = self.config(run)
        if config:
            return self._asks(config)
        for name, value in run.script.variables:
            if name.text == PRECISION and value.text == "fp8":
                return Related(Location(run.path, name.span), "the environment asks for fp8 here")
        return None

    def backend(self, run: Run) -> str | None:
        """The backend that a launch names somewhere; empty for none, None where it is not known."""
        if run.launch.flags.get("fp8_backend") or any(name.text == BACKEND for name, _ in run.script.variables):
            return "?"
        config = self.config(run)
        if config is None:
            return None
        document = self._documents.first(config) if config else None
        if document is None:
            return "" if not config else None
        return backend_of(document)

    def of(self, script: str) -> Iterator[tuple[Related, bool]]:
        """What asks for fp8 in the runs of a script, and whether that is certain.

        Where no launch is known at all, the one config of the project is taken for its own.
        """
        started = [run for run in self.runs if self.script(run) == script]
        for run in started:
            if (asked := self.asks(run)) is not None:
                yield asked, True
        if not self.runs and len(self.configs) == 1 and not self._others:
            asked = self._asks(self.configs[0])
            assert asked is not None
            yield asked, False

    def about(self, path: str) -> Iterator[tuple[Run, Related]]:
        """The launches whose script gets a file as an argument, and that ask for fp8."""
        for run in self.runs:
            for flag in run.launch.arguments.values():
                if flag.text and self._resolve(run.path, flag.value, self._documents.files) == path:
                    if (asked := self.asks(run)) is not None:
                        yield run, asked

    @cached_property
    def _others(self) -> bool:
        """Whether there is an accelerate config that does not ask for fp8."""
        for path in self._documents.files:
            if path not in self.configs and language(path) in (Language.YAML, Language.JSON):
                if self._is_accelerate(path):
                    return True
        return False

    def _is_accelerate(self, path: str) -> bool:
        kind = self._documents.kind_of(path)
        return kind is not None and bool(kind.requests)

    def _asks(self, config: str) -> Related | None:
        document = self._documents.first(config) if self._is_accelerate(config) else None
        if document is None:
            return None
        entry = document.get("mixed_precision")
        value = value_of(document, "mixed_precision")
        if entry is None or value is None or value.lower() != "fp8":
            return None
        return Related(Location(config, entry.span), "the config asks for fp8 here")

    def _resolve(self, base: str, word: Word | None, files: Iterable[str]) -> str | None:
        """The file that a word names, from the folder of the script, from the root, or by the end of its path."""
        if word is None or not word.known or not word.text:
            return None
        for start in (PurePosixPath(base).parent, PurePosixPath()):
            path = _normal(start / word.text)
            if path in files:
                return path
        tail = "/" + word.text.removeprefix("./").lstrip("/")
        ending = [path for path in files if path.endswith(tail)]
        return ending[0] if len(ending) == 1 else None


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
