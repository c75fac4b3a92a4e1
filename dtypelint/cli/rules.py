"""`dtypelint rules`."""

from __future__ import annotations

import click

from dtypelint.cli.common import examples, guarded, write


@click.command(epilog=examples("dtypelint rules", "dtypelint rules --format json"))
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rules(output: str) -> None:
    """List the rules."""
    with guarded():
        from dtypelint.knowledge import Knowledge

        found = Knowledge().rules
        if output == "json":
            from dtypelint.reports import data

            write(data.rules(found))
        else:
            from dtypelint.reports import table

            write(table.render(found))
