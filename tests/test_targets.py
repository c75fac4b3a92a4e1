"""Which releases a finding is for."""

from __future__ import annotations

import pytest

from dtypelint.facts.targets import Targets


@pytest.mark.parametrize(
    ("given", "versions", "affected"),
    [
        ({}, "<2.15", False),
        ({}, ">=2.15", True),
        ({"torch": "2.13"}, "<2.15", True),
        ({"torch": "<2.15"}, ">=2.15", False),
        ({"torch": "<2.15"}, "<2.15", True),
        ({"torch": "==2.13"}, "<2.15", True),
        ({"torch": "==2.13.*"}, "<2.15", True),
        ({"torch": "==2.15.0"}, "<2.15", False),
        ({"torch": ">2.6,<2.10"}, "<2.15", True),
        ({"torch": ">=2.13.1,<2.13.3"}, "<2.13.2", True),
        ({"torch": ">=2.14"}, "<2.14", False),
        ({"*": "any"}, "<2.15", True),
        ({}, "", True),
    ],
)
def test_a_range_is_affected_when_a_target_lies_in_it(given: dict[str, str], versions: str, affected: bool) -> None:
    assert Targets(given, {"torch": "2.15.0"}).affects("torch", versions) is affected
