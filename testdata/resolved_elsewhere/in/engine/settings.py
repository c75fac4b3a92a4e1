"""What an engine can be told."""

from dataclasses import dataclass


@dataclass
class EngineSettings:
    strategy: str = "fsdp2"
    mixed_precision: dict[str, str] | None = None
    forward_only: bool = False
