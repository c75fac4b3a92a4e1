"""The command line."""

from __future__ import annotations

import click

from dtypelint import __version__
from dtypelint.cli.check import check
from dtypelint.cli.common import examples
from dtypelint.cli.completion import completion
from dtypelint.cli.explain import explain
from dtypelint.cli.fix import fix
from dtypelint.cli.rules import rules
from dtypelint.cli.smoke import smoke


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "dtypelint check", "dtypelint check src train.py", "dtypelint fix --diff", "dtypelint explain DTL101"
    ),
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Find the precision settings that training code asks for and does not get."""


for command in (check, fix, explain, rules, smoke, completion):
    main.add_command(command)
