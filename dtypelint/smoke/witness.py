"""The value witness: what two real ranks make of two gradients, for the reductions that were confirmed by their dtype."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dtypelint.smoke.records import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dtypelint.smoke.plans import Plan
    from dtypelint.smoke.records import Job, Row, Seen
    from dtypelint.smoke.session import Session

REDUCTION = "reduce_scatter"
NARROW = "bfloat16"
# the mean of 1 and 2 to the power of -9, and what bfloat16 makes of it
MEAN, ROUNDED = "0.5009765625", "0.5"


def witnessed(rows: Sequence[Row], plans: Sequence[Plan], session: Session) -> Iterator[Row]:
    """The rows, those about a reduction with the outcome of its arithmetic."""
    pairs = {index: jobs for index, plan in enumerate(plans) if (jobs := _jobs(plan)) and rows[index].confirmed}
    answers = iter(session.drive([job for jobs in pairs.values() for job, _ in jobs]))
    for index, row in enumerate(rows):
        outcomes = [(dtype, next(answers)) for _, dtype in pairs.get(index, ())]
        yield _judged(row, outcomes) if outcomes else row


def _jobs(plan: Plan) -> list[tuple[Job, str]]:
    """A witness for each value of the setting, with the dtype that it is to be reduced in."""
    return [
        ({**attempt.after.job, "probe": "witness"}, attempt.intended)
        for attempt in plan.attempts
        if attempt.after.job is not None and attempt.after.key == REDUCTION
    ]


def _judged(row: Row, outcomes: Sequence[tuple[str, Seen]]) -> Row:
    seconds = row.seconds + sum(seen.seconds for _, seen in outcomes)
    failed = next((seen for _, seen in outcomes if "mean" not in seen.notes), None)
    if failed is not None:
        why = failed.error or str(failed.reason)
        return replace(row, assumed=(*row.assumed, f"no witness: {why}"), seconds=seconds)
    for dtype, seen in outcomes:
        right = ROUNDED if dtype == NARROW else MEAN
        if seen.notes["mean"] != right:
            detail = f"two ranks reduce to {seen.notes['mean']} where {dtype} gives {right}"
            return replace(row, verdict=Verdict.REFUTED, detail=detail, level=Level.VALUE, seconds=seconds)
    return replace(row, level=Level.VALUE, seconds=seconds)
