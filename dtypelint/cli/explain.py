"""`dtypelint explain`."""

from __future__ import annotations

import click

from dtypelint.cli import common
from dtypelint.cli.common import examples, guarded, rule_names, write


@click.command(epilog=examples("dtypelint explain DTL101", "dtypelint explain dropped-policy-dtype --format json"))
@click.argument("rule", shell_complete=rule_names)
@click.option("--format", "output", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@click.option("--no-color", is_flag=True, help="No colours; NO_COLOR does the same.")
def explain(rule: str, output: str, no_color: bool) -> None:
    """Show the page of a rule, given its code or name."""
    with guarded():
        from dtypelint.knowledge import Knowledge

        found = Knowledge().rule(rule)
        if output == "json":
            from dtypelint.reports import data

            write(data.explanation(found))
        elif output == "text" and common.color(no_color):
            from dtypelint.reports import text

            write(text.page(found.page))
        else:
            write(found.page)
