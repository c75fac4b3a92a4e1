"""From what was seen to a verdict.

The deciding test is whether the setting is live: before the fix the operation does not follow it, after the fix it does,
and nothing else moves with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dtypelint.finding import Severity
from dtypelint.smoke.plans import RAISES
from dtypelint.smoke.records import Level, Reason, Row, Seen, Trial, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dtypelint.smoke.plans import Attempt, Look, Plan
    from dtypelint.smoke.records import Job

WEIGHT = (Level.FIELD, Level.OP, Level.VALUE)


def judge(plan: Plan, answer: Callable[[Job], Seen]) -> Row:
    """The row of a plan, given what its jobs showed."""
    if plan.unbound:
        return _row(plan, Verdict.REFUTED, detail=f"nothing binds `{plan.unbound}` there", level=Level.FIELD)
    if plan.reason is not None:
        return _row(plan, Verdict.NOT_CONFIRMABLE, reason=plan.reason, detail=plan.detail)
    trials: list[Trial] = []
    levels: list[Level] = []
    times: dict[int, float] = {}
    unseen: Seen | None = None
    for attempt in plan.attempts:
        looks = [attempt.before, attempt.after]
        seen = [answer(look.job) for look in looks if look is not None and look.job is not None]
        # an answer that stands for several jobs counts once
        times.update((id(each), each.seconds) for each in seen)
        for each in seen:
            plan.assumed.update((each.notes[key], None) for key in ("assumed", "substituted") if key in each.notes)
        for when, look in zip(("before", "after"), looks, strict=True):
            if look is not None and look.job is not None and "seen" in answer(look.job).notes:
                plan.seen[f"{when}: {answer(look.job).notes['seen']}"] = None
        blocked = next((each for each in seen if each.reason is not None), None)
        if blocked is not None:
            unseen = unseen or blocked
            continue
        texts = [None if look is None else _text(look, answer) for look in looks]
        if "" in texts:
            return _row(plan, Verdict.NOT_CONFIRMABLE, reason=Reason.NO_SUCH_OP, seconds=sum(times.values()))
        levels.append(_level(attempt, seen))
        trials.append(Trial(attempt.setting, attempt.intended, texts[0], texts[1]))
    seconds = sum(times.values())
    verdict, detail = decide(plan, trials) if trials or unseen is None else (Verdict.NOT_CONFIRMABLE, "")
    if unseen is not None and verdict is not Verdict.REFUTED:
        return _row(plan, Verdict.NOT_CONFIRMABLE, reason=unseen.reason, detail=unseen.error, seconds=seconds)
    trials.sort(key=lambda trial: (trial.before == trial.after, trial.intended != "float32"))
    level = min(levels, key=WEIGHT.index, default=Level.FIELD)
    return _row(plan, verdict, detail=detail, trials=tuple(trials), level=level, seconds=seconds)


def _level(attempt: Attempt, seen: Sequence[Seen]) -> Level:
    """How much a trial weighs; a variable of the environment is a field, whoever reads it."""
    if not seen or attempt.after.key.isupper():
        return Level.FIELD
    return Level.VALUE if all(each.error or each.notes.get("witness") for each in seen) else Level.OP


def decide(plan: Plan, trials: list[Trial]) -> tuple[Verdict, str]:
    """The verdict, and the reason for one that fails."""
    if plan.lost and not plan.attempts:
        return Verdict.NOT_REPRODUCED, plan.lost
    followed = all(trial.after == trial.intended for trial in trials)
    live = len({trial.after for trial in trials}) > 1 or not plan.knob
    known = [trial for trial in trials if trial.before is not None]
    if plan.lost or plan.coupled:
        return Verdict.REFUTED, plan.lost or f"`{plan.knob}` moves `{plan.coupled}` too"
    if not followed or not live:
        wrong = next((trial for trial in trials if trial.after != trial.intended), trials[0])
        return Verdict.REFUTED, f"after the fix {plan.subject} is {wrong.after} where {wrong.intended} is asked for"
    if len(known) < len(trials):
        return Verdict.AFTER_ONLY, plan.detail
    if all(trial.before == trial.intended for trial in trials):
        return Verdict.NOT_REPRODUCED, "the code follows the setting without the fix"
    return Verdict.CONFIRMED, ""


def _text(look: Look, answer: Callable[[Job], Seen]) -> str:
    if look.job is None:
        return look.text
    seen = answer(look.job)
    return RAISES + seen.error.partition(":")[0] if seen.error else seen.notes.get(look.key, look.absent)


def _row(
    plan: Plan,
    verdict: Verdict,
    *,
    reason: Reason | None = None,
    detail: str = "",
    trials: tuple[Trial, ...] = (),
    level: Level = Level.NONE,
    seconds: float = 0.0,
) -> Row:
    finding = plan.finding
    assert finding.fix is not None
    return Row(
        code=finding.code,
        name=finding.name,
        position=finding.position,
        fix=finding.fix.description,
        safety=finding.fix.safety,
        verdict=verdict,
        subject=plan.subject,
        knob=plan.knob,
        trials=trials,
        reason=reason,
        detail=detail,
        level=level,
        seen=tuple(plan.seen),
        assumed=tuple(plan.assumed),
        seconds=seconds,
        note=finding.severity is Severity.NOTE,
    )
