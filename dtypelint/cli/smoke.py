"""`dtypelint smoke`."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from dtypelint.cli.common import FINDINGS, checking, examples, guarded, inputs, options, stacked, words, write
from dtypelint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dtypelint.engine import Options
    from dtypelint.finding import Finding
    from dtypelint.fixer import Wanted
    from dtypelint.settings import Flags
    from dtypelint.smoke.records import Run
    from dtypelint.source import Source

# Options that say where and how long fixes are driven: `prove` reads them.
driving = stacked(
    click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True),
    click.option(
        "--timeout", type=click.FloatRange(min=1), default=300.0, show_default=True, help="Seconds for the driver."
    ),
    click.option(
        "--python",
        type=click.Path(path_type=Path),
        help="The interpreter that has torch, if not the one that runs dtypelint.",
    ),
)


def named(value: str | None) -> str:
    """The function that `--import` names, or nothing."""
    module, colon, function = (value or "").partition(":")
    if value is not None and not (colon and function.isidentifier() and all(map(str.isidentifier, module.split(".")))):
        raise click.BadParameter("name a function as `package.module:function`")
    return value or ""


smoke_option = stacked(
    click.option("--smoke", "smoke", is_flag=True, help="Drive what the fixes change: see `dtypelint smoke`."),
    driving,
)


@click.command(
    epilog=examples(
        "dtypelint smoke",
        "dtypelint smoke src --rule DTL101 --device cpu",
        "dtypelint smoke --python .venv/bin/python --format markdown",
        "dtypelint smoke trainer/shard.py --import checks.precision:build_policy",
    )
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@checking
@driving
@click.option("--rule", "rule", multiple=True, callback=words, help="Prove the fixes of these rules only.")
@click.option(
    "--witness", is_flag=True, help="Prove reductions by the arithmetic of two processes too; two GPUs always do."
)
@click.option(
    "--import",
    "builder",
    metavar="MODULE:FUNCTION",
    callback=lambda _context, _option, value: named(value),
    help="Run this function of the project instead of reading the code: it takes a dtype and returns a policy or a region.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for what cannot be confirmed here too.")
@click.option("--format", "output", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
def smoke(
    paths: tuple[Path, ...],
    rule: tuple[str, ...] | None,
    witness: bool,
    builder: str,
    strict: bool,
    output: str,
    **values: Any,
) -> None:
    """Drive the real torch operations before and after each fix, and read their dtypes.

    The code that is checked is not run, but by --import. Exit status: 0 what is fixed is proven, 1 a fix or a finding is refuted, 2 usage
    or internal error.
    """
    with guarded(traceback=values["traceback"]):
        from dtypelint.engine import run
        from dtypelint.smoke import render

        chosen, stdin = inputs(paths)
        if stdin:
            raise UserError("smoke reads files, not the standard input")
        checked = options({**values, "select": rule or values["select"]}, stdin=False)
        report = run(chosen, checked)
        result = prove(report.findings, chosen, checked.flags, values, witness=witness, builder=builder)
        write({"json": render.data, "markdown": render.markdown}.get(output, render.text)(result))
        if result.failed(strict=strict):
            raise click.exceptions.Exit(FINDINGS)


def transcript(run: Run) -> str:
    """A run as text."""
    from dtypelint.smoke import render

    return render.text(run)


def proof(
    paths: Sequence[Path], asked: Options, wanted: Wanted, values: dict[str, Any], *, unsafe: bool, unconfirmed: bool
) -> tuple[Run, Wanted]:
    """Drive the fixes that would be applied; what is to be applied after that.

    A fix that was refuted never is, one that could not be confirmed only with `unconfirmed`.
    """
    from dtypelint.engine import run
    from dtypelint.finding import Safety
    from dtypelint.smoke.records import Verdict

    findings = [
        finding
        for finding in run(paths, asked).findings
        if finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE)
    ]
    driven = prove(findings, paths, asked.flags, values)
    held = {
        _key(finding)
        for finding, row in zip(findings, driven.rows, strict=True)
        if not row.confirmed and (row.verdict is not Verdict.NOT_CONFIRMABLE or not unconfirmed)
    }
    seen = {_key(finding) for finding in findings}

    def proven(finding: Finding, texts: Mapping[str, tuple[Source, Source]]) -> bool:
        key = _key(finding)
        return key not in held and (key in seen or unconfirmed) and wanted(finding, texts)

    return driven, proven


def _key(finding: Finding) -> tuple[str, ...]:
    """What stays of a finding while other fixes move it."""
    assert finding.fix is not None
    return finding.code, finding.position.path, finding.message, finding.fix.description


def prove(
    findings: Sequence[Finding],
    paths: Sequence[Path],
    flags: Flags,
    values: dict[str, Any],
    *,
    witness: bool = False,
    builder: str = "",
) -> Run:
    """Drive the fixes of findings as the `driving` options say."""
    from dtypelint.files import Walk
    from dtypelint.knowledge import Knowledge
    from dtypelint.settings import Configuration
    from dtypelint.smoke.run import smoke as run_smoke
    from dtypelint.smoke.session import Session
    from dtypelint.smoke.sites import Sites

    knowledge = Knowledge()
    files = Walk(Configuration(knowledge.rules, flags)).files(paths)
    session = Session(
        device=values["device"],
        timeout=values["timeout"],
        newest=knowledge.libraries["torch"].newest,
        python=_interpreter(values["python"]),
    )
    return run_smoke(findings, Sites(files), session, witness=witness, builder=builder)


def _interpreter(given: Path | None) -> str:
    """The interpreter of the driver, which starts in another folder."""
    return which(given) or str(given.absolute()) if given else sys.executable
