"""What a schema says to a value, and to asking for fp8, in the targeted releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dtypelint.facts.config.leaves import MISSING
from dtypelint.facts.configs import Answer
from dtypelint.facts.targets import Targets
from dtypelint.schemas import Config, Key, Reading

When = Mapping[str, tuple[str, ...]]


def answers(config: Config, targets: Targets, applies: Callable[[When], bool]) -> tuple[Answer, ...]:
    """What asking for fp8 does in the targeted releases, for the runs to which `applies`."""
    return tuple(
        Answer(config.library, each.versions, each.grade == "error", each.backend, each.says)
        for each in config.requests
        if targets.affects(config.library, each.versions) and applies(each.when)
    )


def unsaid(when: When) -> bool:
    """Whether a condition on the keys of a document holds where there is no document."""
    return all(MISSING in values for values in when.values())


def refusal(key: Key, text: str, affects: Callable[[str], bool]) -> Reading | None:
    """The targeted releases that do not take a value, if any."""
    for reading in key.readings:
        if affects(reading.versions) and not reading.takes(text):
            return reading
    return None


def taken(reading: Reading) -> str:
    """The values that a key takes, as the middle of a message."""
    return "takes " + ", ".join(f"`{each}`" for each in reading.values)
