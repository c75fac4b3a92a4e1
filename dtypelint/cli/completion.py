"""`dtypelint completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dtypelint.cli.common import examples, write

PROGRAM = "dtypelint"
VARIABLE = "_DTYPELINT_COMPLETE"


@click.command(
    epilog=examples(
        "dtypelint completion bash >> ~/.bash_completion",
        "dtypelint completion zsh > ~/.zfunc/_dtypelint",
        "dtypelint completion fish > ~/.config/fish/completions/dtypelint.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and rules in a shell."""
    kind = get_completion_class(shell)
    assert kind
    write(f"{kind(context.find_root().command, {}, PROGRAM, VARIABLE).source()}\n")
