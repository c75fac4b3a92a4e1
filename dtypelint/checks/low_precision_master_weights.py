"""DTL503: see `rules/low-precision-master-weights.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.masters import LowWeights
from dtypelint.finding import Confidence, Hit, Related


def check(facts: Facts) -> Iterator[Hit]:
    for weights in facts.trained:
        yield Hit(
            weights.span,
            f"`{weights.trainer}` {_what(weights)}, without a float32 copy: small updates round to nothing",
            Confidence.LOW,
            (
                Related(weights.lowered, f"{weights.how} {_dtype(weights)} here"),
                Related(weights.trained, "trained here"),
            ),
            withheld="load the weights in float32 and let autocast or a policy compute in 16 bit",
        )


def _what(weights: LowWeights) -> str:
    if weights.dtype == "checkpoint":
        default = f", the default of {weights.versions}" if weights.versions else ""
        return f"trains weights in the dtype of the checkpoint{default}"
    return f"trains weights that {'are' if weights.sure else 'may be'} {weights.how} {weights.dtype}"


def _dtype(weights: LowWeights) -> str:
    return "the dtype of the checkpoint" if weights.dtype == "checkpoint" else weights.dtype
