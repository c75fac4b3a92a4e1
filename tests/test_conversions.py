"""The converters of a project: a fix uses one where it is in reach, and only what is known to hold dtypes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dtypelint import engine
from dtypelint.settings import Flags

REGION = """from dataclasses import dataclass

import torch

{before}
@dataclass
class Config:
    keys: list
    dtype: str = "bf16"


class Engine:
    def __init__(self, config: Config):
        self.config = config

    def export(self):
        {local}
        def names():
            for key in self.config.keys:
                yield raw[key]
        return names()

    def step(self, model, optimizer, batch):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch)
        loss.backward()
        optimizer.step()
"""
TABLE = '{"bf16": torch.bfloat16, "fp32": torch.float32}'


@pytest.mark.parametrize(
    ("before", "local", "read"),
    [
        ("", "raw = {}", False),
        ("", f"raw = {TABLE}", False),
        (f"raw = {TABLE}\n\n", "", True),
    ],
)
def test_a_table_is_used_where_it_is_in_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, local: str, read: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("engine.py").write_text(REGION.format(before=before, local=local))
    (finding,) = engine.run([Path()], engine.Options(flags=Flags(select=("DTL201",)))).findings
    text = " ".join(edit.text for edit in finding.fix.edits) if finding.fix else ""
    assert ("raw[self.config.dtype]" in text) is read, finding
