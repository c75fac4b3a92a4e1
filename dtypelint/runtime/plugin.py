"""The pytest plugin: the `precision` fixture. torch is imported when a test uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dtypelint.runtime.observed import Observed, Recording


class Precision:
    """What a test asks: see `dtypelint.runtime`."""

    def cluster(self, world_size: int = 8, **more: Any) -> AbstractContextManager[Any]:
        """`fake_cluster`: many ranks in this process."""
        from dtypelint.runtime.cluster import fake_cluster

        return fake_cluster(world_size, **more)

    def record(self) -> AbstractContextManager[Recording]:
        """`record_precision`: the dtypes of what runs inside."""
        from dtypelint.runtime.observed import record_precision

        return record_precision()

    def check(self, model: Any, optimizer: Any = None, **more: Any) -> Observed:
        """`assert_effective_precision`: one step, and the dtypes that it used."""
        from dtypelint.runtime.observed import assert_effective_precision

        return assert_effective_precision(model, optimizer, **more)

    def policy(self, policy: Any, **more: Any) -> None:
        """`assert_policy`: the dtypes of a policy as it was built."""
        from dtypelint.runtime.policies import assert_policy

        assert_policy(policy, **more)


@pytest.fixture
def precision() -> Precision:
    """Assertions about the dtypes that a model really uses."""
    return Precision()
