"""The worked examples, each with the releases that it speaks of.

`DTYPELINT_PACKAGES` names a folder with one folder a release (`accelerate-1.13.0`) and one of what they need (`base`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
PACKAGES = os.environ.get("DTYPELINT_PACKAGES", "")


@pytest.mark.parametrize(
    ("release", "outcome"),
    [
        ("1.12.0", "1 passed"),
        ("1.13.0", "PrecisionError: params is bfloat16, not float32"),
        ("1.14.0", "1 passed"),
    ],
)
def test_the_upcast_of_accelerate(release: str, outcome: str) -> None:
    folder = Path(PACKAGES) / f"accelerate-{release}"
    if not PACKAGES or not folder.is_dir():
        pytest.skip(f"no accelerate {release} in DTYPELINT_PACKAGES")
    path = os.pathsep.join([str(HERE), str(folder), str(folder.parent / "base")])
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "dtypelint.runtime.plugin"]
    done = subprocess.run(
        [*command, str(HERE / "examples" / "test_accelerate_fsdp2.py")],
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert outcome in done.stdout, done.stdout + done.stderr
