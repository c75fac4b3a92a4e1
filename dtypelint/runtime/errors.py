"""What the assertions raise."""

from __future__ import annotations


class PrecisionError(AssertionError):
    """A dtype is not the one that was asked for; the message holds everything that was observed."""


class NotConfirmable(AssertionError):
    """Nothing was observed that could answer the question: no such operation ran."""
