"""Environment variables that a script or a module writes, held against what the libraries look up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from dtypelint.facts.config.nodes import Type
from dtypelint.facts.config.verdicts import answers, refusal, taken, unsaid
from dtypelint.facts.configs import Answer, ConfigKey, Fate, Fp8Request, Variable
from dtypelint.facts.targets import Targets
from dtypelint.finding import Related, Span
from dtypelint.schemas import Config, Key, Section

if TYPE_CHECKING:
    from dtypelint.knowledge import Knowledge


@dataclass(frozen=True, slots=True)
class Write:
    """A variable that is written: the spans of its name and of its value, `value` None where it is not written out."""

    name: str
    span: Span
    value: str | None
    value_span: Span
    late: Related | None = None


class Environment:
    """Judges the writes of one file; `is_read` says whether the project looks a variable up itself."""

    def __init__(self, knowledge: Knowledge, targets: Targets, is_read: Callable[[str], bool]) -> None:
        self._known = knowledge.variables
        self._configs = knowledge.configs
        self._targets = targets
        self._is_read = is_read

    def variables(self, writes: Iterable[Write]) -> Iterator[Variable]:
        """The variables that do not arrive."""
        right = {name for name, each in self._known.items() if not each.instead}
        prefixes = {section.exports: config for config, section in self._sections() if section.whole}
        for write in writes:
            known = self._known.get(write.name)
            if known is not None and known.instead:
                if not self._is_read(write.name):
                    fits = write.value is not None and self._fits(known.instead, write.value)
                    yield Variable(write.name, write.span, known.library, known.instead, fits=fits)
            elif known is not None and write.late is not None:
                yield Variable(write.name, write.span, known.library, late=write.late)
            elif known is None:
                config = next((c for prefix, c in prefixes.items() if write.name.startswith(prefix)), None)
                if config is not None and not self._is_read(write.name):
                    near = get_close_matches(write.name, sorted(right), 1, 0.85)
                    yield Variable(write.name, write.span, config.library, near=near[0] if near else "")

    def keys(self, writes: Iterable[Write]) -> Iterator[ConfigKey]:
        """The variables whose value is refused."""
        for write in writes:
            found = self._key(write.name)
            if found is None or write.value is None or not write.value:
                continue
            config, key, is_fp8 = found
            reading = refusal(key, write.value, partial(self._targets.affects, config.library))
            if reading is None:
                continue
            instead = key.means.get(write.value.lower(), "")
            yield ConfigKey(
                path=write.name,
                span=write.span,
                value=write.value,
                type=Type.STRING,
                value_span=write.value_span,
                fate=Fate.REFUSED_VALUE,
                kind="environment",
                why=taken(reading),
                says=key.says,
                versions=f"{config.library} {reading.versions}" if reading.versions else "",
                instead=instead,
                is_spelling=instead.lower() == write.value.lower(),
                is_fp8=is_fp8,
            )

    def requests(self, writes: tuple[Write, ...], evident: Callable[[], tuple[str, ...]]) -> Iterator[Fp8Request]:
        """What asks for fp8 with no backend beside it, right or misnamed."""
        names = {write.name for write in writes}
        for config, section in self._sections():
            backend = f"{section.exports}BACKEND"
            asked = next((w for w in writes if w.name == "ACCELERATE_MIXED_PRECISION" and w.value == "fp8"), None)
            given = any(name == backend or self._stands_for(name, backend) for name in names)
            if asked is not None and "backend" in section.keys and (found := answers(config, self._targets, unsaid)):
                yield Fp8Request(asked.value_span, "environment", "?" if given else "", found, evident())

    def in_python(self) -> Iterator[tuple[Answer, ...]]:
        """What asking for fp8 in Python without a recipe does: no release lost that, but which backend is taken is open."""
        for config in self._configs:
            open_ones = tuple(answer for answer in answers(config, self._targets, unsaid) if not answer.is_error)
            if open_ones:
                yield open_ones

    def _stands_for(self, name: str, right: str) -> bool:
        known = self._known.get(name)
        return known is not None and known.instead == right

    def _sections(self) -> Iterator[tuple[Config, Section]]:
        for config in self._configs:
            for section in config.sections:
                if section.exports:
                    yield config, section

    def _key(self, name: str) -> tuple[Config, Key, bool] | None:
        for config, section in self._sections():
            key = (
                section.keys.get(name.removeprefix(section.exports).lower())
                if name.startswith(section.exports)
                else None
            )
            if key is not None:
                return config, key, "FP8" in section.exports
        return None

    def _fits(self, name: str, value: str) -> bool:
        found = self._key(name)
        if found is None:
            return True
        config, key, _ = found
        return refusal(key, value, partial(self._targets.affects, config.library)) is None


def reads(text: str, name: str) -> bool:
    """Whether a Python text or a script looks a variable up: its name occurs where it is not written."""
    quoted = re.escape(name)
    written = rf"""environ\[\s*['"]{quoted}['"]\s*\]\s*=(?!=)|(?:setdefault|putenv)\(\s*['"]{quoted}['"]|['"]{quoted}['"]\s*:"""
    mentioned = len(re.findall(rf"""['"]{quoted}['"]""", text))
    used = re.search(rf"\$\{{?{quoted}\b", text) is not None
    prefix = name.partition("_")[0] + "_"
    return used or f'startswith("{prefix}' in text or mentioned > len(re.findall(written, text))
