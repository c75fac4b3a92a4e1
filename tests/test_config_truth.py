"""What dtypelint says of small config files, against what accelerate did with them (`tools/config_truth.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dtypelint
from dtypelint.finding import Severity

FOLDER = Path(__file__).parent / "config_truth"
TABLE: dict[str, dict[str, dict[str, Any]]] = json.loads((FOLDER / "table.json").read_text(encoding="utf-8"))
ROWS = [pytest.param(case, release, id=f"{case}-{release}") for case, rows in TABLE.items() for release in rows]


def test_the_table_is_about_the_files() -> None:
    assert set(TABLE) == {path.name for path in (FOLDER / "cases").iterdir()}
    assert len(TABLE) >= 25
    assert all(set(rows) == {"1.6.0", "1.8.1", "1.12.0", "1.15.0"} for rows in TABLE.values())


@pytest.mark.parametrize(("case", "release"), ROWS)
def test_dtypelint_says_what_accelerate_does(case: str, release: str, tmp_path: Path) -> None:
    row = TABLE[case][release]
    # alone: what other files of a root set counts for a config file too
    path = tmp_path / case
    path.write_bytes((FOLDER / "cases" / case).read_bytes())
    found = dtypelint.check([path], isolated=True, target=[f"accelerate={release}"])
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    if row["outcome"] != "ok":
        assert errors, row
        return
    whole = [finding for finding in errors if finding.code == "DTL301"]
    text = path.read_text(encoding="utf-8")
    for key in row["unread"]:
        section = key.partition(".")[0]
        named = [f for f in errors if f"`{key}`" in f.message or f.message.startswith(f"`{section}` is not used")]
        assert named or whole, f"{key} of\n{text}"
    if not row["unread"]:
        left_open = row["backend"] != "NO" and "backend:" not in text
        assert [finding.code for finding in found] == (["DTL301"] if left_open else []), row
        assert not errors
