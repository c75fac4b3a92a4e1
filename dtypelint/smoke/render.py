"""A smoke run as text, JSON and a Markdown table."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from dtypelint.smoke.records import Verdict

if TYPE_CHECKING:
    from dtypelint.smoke.records import Machine, Row, Run, Trial

VERSION = 1
NONE = "-"


def text(run: Run) -> str:
    """A block for each fix, and a summary."""
    return "".join(_block(row, run.machine) for row in run.rows) + summary(run)


def summary(run: Run) -> str:
    """How many fixes were proven, and on what."""
    counts = Counter(row.verdict for row in run.rows)
    parts = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]] or ["no fix to prove"]
    without = f"; {run.unfixable} without a fix" if run.unfixable else ""
    where = f" ({_machine(run.machine)}, {run.seconds:.1f} s)" if run.machine.torch else ""
    return ", ".join(parts) + without + where + "\n"


def data(run: Run) -> str:
    """The whole run as JSON."""
    document = {
        "version": VERSION,
        "rows": [_row(row, run.machine) for row in run.rows],
        "machine": {
            "torch": run.machine.torch,
            "device": run.machine.device,
            "name": run.machine.name,
            "gpus": run.machine.gpus,
        },
        "summary": {
            **{verdict.name.lower(): sum(row.verdict is verdict for row in run.rows) for verdict in Verdict},
            "without_fix": run.unfixable,
            "seconds": round(run.seconds, 3),
        },
    }
    return json.dumps(document, indent=2) + "\n"


def markdown(run: Run) -> str:
    """A table with a line for each fix."""
    lines = [
        "| rule | place | intended → before → after | verdict | evidence | device | torch | time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in run.rows:
        place = f"{row.position.path}:{row.position.line}"
        cells = [
            f"{row.code} {row.name}",
            f"`{place}`",
            _change(row),
            _verdict(row),
            row.level or NONE,
            run.machine.device or NONE,
            run.machine.torch or NONE,
            f"{row.seconds:.2f} s",
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, "", summary(run)])


def _block(row: Row, machine: Machine) -> str:
    head = f"{row.position.path}:{row.position.line}:{row.position.column}: {row.code} [{row.name}] {_verdict(row)}"
    driven = (_machine(machine), f"{row.seconds:.2f} s") if row.seconds else ()
    evidence = ", ".join(part for part in (row.level, *driven) if part)
    lines = [f"{head} [{evidence}]" if evidence else head, f"    fix: {row.fix} ({row.safety})"]
    if row.trials:
        follows = f" follows `{row.knob}`" if row.knob else ""
        lines.append(f"    {row.subject}{follows}, intended → before → after:")
        lines += dict.fromkeys(f"      {_trial(trial)}" for trial in row.trials)
    lines += [f"    seen {what}" for what in row.seen]
    lines += [f"    assumed: {assumption}" for assumption in row.assumed]
    return "\n".join(lines) + "\n"


def _verdict(row: Row) -> str:
    why = [str(part) for part in (row.reason, row.detail) if part]
    return f"{row.verdict}: {': '.join(why)}" if why else str(row.verdict)


def _change(row: Row) -> str:
    return f"{row.subject}: {_trial(row.trials[0])}" if row.trials else NONE


def _trial(trial: Trial) -> str:
    return f"{trial.intended} → {trial.before or 'unknown'} → {trial.after or 'unknown'}"


def _machine(machine: Machine) -> str:
    named = f" ({machine.name})" if machine.name else ""
    return f"torch {machine.torch} on {machine.device}{named}"


def _row(row: Row, machine: Machine) -> dict[str, Any]:
    return {
        "code": row.code,
        "name": row.name,
        "path": row.position.path,
        "line": row.position.line,
        "column": row.position.column,
        "fix": row.fix,
        "safety": row.safety,
        "verdict": row.verdict,
        "reason": row.reason,
        "detail": row.detail,
        "evidence": row.level,
        "device": machine.device,
        "torch": machine.torch,
        "subject": row.subject,
        "setting": row.knob,
        "trials": [
            {"setting": trial.setting, "intended": trial.intended, "before": trial.before, "after": trial.after}
            for trial in row.trials
        ],
        "seen": list(row.seen),
        "assumed": list(row.assumed),
        "seconds": round(row.seconds, 3),
    }
