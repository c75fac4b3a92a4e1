"""Plans for what a function of the user's builds, which the driver imports and runs: see `--import`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dtypelint.smoke.plans import Attempt, Look, Plan, encoded
from dtypelint.smoke.records import Reason
from dtypelint.smoke.subjects import POLICY
from dtypelint.smoke.symbols import DTYPES

if TYPE_CHECKING:
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

PROBES = frozenset({"policy", "autocast"})


def plan(sites: Sites, finding: Finding, probe: str, builder: str) -> Plan:
    """How the fix of a policy or a region is proven by running its builder: it takes the dtype that is asked for."""
    assert finding.fix is not None
    found = Plan(finding, subject="matmul", knob=builder)
    found.assumed[f"`{builder}` was imported and run, and hands its dtype to the setting"] = None
    key = "matmul"
    if probe == "policy":
        written = set(re.findall(r"\w+", " ".join(edit.text for edit in finding.fix.edits)))
        named = [field for field in POLICY if field in written and field.endswith("dtype")]
        if len(named) != 1:
            found.reason, found.detail = Reason.UNEVALUABLE, "the fix names no field of a policy, or several"
            return found
        found.subject, key = named[0], POLICY[named[0]]
    root, before, after = sites.overlays(finding)
    job: dict[str, Any] = {
        "probe": "import",
        "builder": builder,
        "root": root,
        "key": key,
        "dtypes": [encoded(dtype) for dtype in DTYPES],
    }
    for dtype in DTYPES:
        looks = (Look({**job, "texts": texts}, f"{dtype.name} {key}", absent="not there") for texts in (before, after))
        found.attempts.append(Attempt(dtype.name, dtype.name, *looks))
    return found
