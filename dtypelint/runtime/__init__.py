"""What users import in their own tests and scripts: the dtypes that a step really used, and assertions about them.

Nothing here imports torch before one of its names is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dtypelint.runtime.cluster import fake_cluster
    from dtypelint.runtime.errors import NotConfirmable, PrecisionError
    from dtypelint.runtime.observed import Observed, assert_effective_precision, record_precision
    from dtypelint.runtime.policies import assert_policy

__all__ = [
    "NotConfirmable",
    "Observed",
    "PrecisionError",
    "assert_effective_precision",
    "assert_policy",
    "fake_cluster",
    "record_precision",
]
_HOMES = {
    "NotConfirmable": "errors",
    "Observed": "observed",
    "PrecisionError": "errors",
    "assert_effective_precision": "observed",
    "assert_policy": "policies",
    "fake_cluster": "cluster",
    "record_precision": "observed",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
