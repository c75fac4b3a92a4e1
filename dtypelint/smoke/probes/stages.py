"""How a probe says that it saw nothing."""

from __future__ import annotations


class Stage(Exception):
    """What failed, and while what was done: `construct`, `enter` or `run`."""

    def __init__(self, stage: str, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.stage = stage


class Elsewhere(Exception):
    """What this machine cannot show: a reason from the closed list, and what is missing."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
