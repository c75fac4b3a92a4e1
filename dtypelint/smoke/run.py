"""A smoke run: findings with a fix → plans → one driver → rows."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from dtypelint.knowledge import Knowledge
from dtypelint.smoke import averages, builders, casts, configs, constructors, regions, rounds
from dtypelint.smoke.plans import Plan
from dtypelint.smoke.records import Reason, Run
from dtypelint.smoke.unbound import unbound
from dtypelint.smoke.verdict import judge
from dtypelint.smoke.witness import witnessed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dtypelint.finding import Finding
    from dtypelint.smoke.records import Job, Seen
    from dtypelint.smoke.session import Session
    from dtypelint.smoke.sites import Sites

PLANNERS: dict[str, Callable[[Sites, Finding], Plan]] = {
    "policy": constructors.plan,
    "autocast": constructors.plan,
    "island": regions.plan,
    "cast": casts.plan,
    "average": averages.plan,
    "scaler": rounds.plan,
    "fp8": configs.plan,
}


def smoke(
    findings: Sequence[Finding], sites: Sites, session: Session, *, witness: bool = False, builder: str = ""
) -> Run:
    """Prove the fixes of some findings.

    With a witness, or two GPUs, reductions are proven by the arithmetic of two real ranks too; with a builder, which is
    run, policies and regions by what it makes.
    """
    started = time.perf_counter()
    probes = {rule.name: rule.smoke for rule in Knowledge().rules}
    fixable = [finding for finding in findings if finding.fix is not None]
    plans = [planned(sites, finding, probes[finding.name], builder) for finding in fixable]
    jobs = [
        look.job
        for plan in plans
        for attempt in plan.attempts
        for look in (attempt.before, attempt.after)
        if plan.reason is None and look is not None and look.job is not None
    ]
    answers = dict(zip(map(key, jobs), session.drive(jobs), strict=True))

    def answer(job: Job) -> Seen:
        return answers[key(job)]

    rows = tuple(judge(plan, answer) for plan in plans)
    if witness or session.machine.gpus > 1:
        rows = tuple(witnessed(rows, plans, session))
    return Run(rows, session.machine, time.perf_counter() - started, len(findings) - len(fixable))


def planned(sites: Sites, finding: Finding, probe: str, builder: str = "") -> Plan:
    """The plan of one finding; `probe` is what its page names."""
    if builder and probe in builders.PROBES:
        return builders.plan(sites, finding, probe, builder)
    planner = PLANNERS.get(probe)
    if planner is None:
        return Plan(finding, reason=Reason.NO_PROBE, detail=probe.removeprefix("none:").strip())
    found = planner(sites, finding)
    found.unbound = unbound(sites, finding)
    return found


def key(job: Job) -> str:
    """A job as a text; equal jobs are driven once."""
    return json.dumps(job, sort_keys=True)
