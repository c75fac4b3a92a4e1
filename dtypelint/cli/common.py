"""What the commands share: options, messages, exit statuses."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dtypelint.errors import UserError
from dtypelint.reports.escape import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from click.shell_completion import CompletionItem

    from dtypelint.engine import Options
    from dtypelint.finding import Report

Command = TypeVar("Command", bound="Callable[..., Any]")

CLEAN, FINDINGS, BROKEN, INTERRUPTED = 0, 1, 2, 130


class Failure(click.ClickException):
    """A usage or internal error: one line on stderr, exit status 2."""

    exit_code = BROKEN

    def show(self, _file: Any = None) -> None:
        """Print the message."""
        write(f"dtypelint: error: {visible(self.message)}\n", err=True)


def write(text: str, *, err: bool = False) -> None:
    """Print text as it is; what the encoding of the stream lacks is escaped."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace"), nl=False, err=err)


@contextmanager
def guarded(*, traceback: bool = False) -> Iterator[None]:
    """Turn what goes wrong into a message and exit status 2."""
    try:
        yield
    except UserError as error:
        raise Failure(str(error)) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except click.Abort:
        raise click.exceptions.Exit(INTERRUPTED) from None
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if traceback:
            from traceback import format_exc

            write(format_exc(), err=True)
        raise Failure(f"internal error: {type(error).__name__}: {error}; please report it with --traceback") from None


def words(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """The items of a repeatable option that also takes a list with commas; None where it was not given."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip()) if values else None


def rule_names(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Codes and names of rules for the completion of a shell; behind the last comma of a list."""
    from click.shell_completion import CompletionItem

    from dtypelint.knowledge import Knowledge

    before, comma, word = start.rpartition(",")
    return [
        CompletionItem(before + comma + name, help=rule.summary)
        for rule in Knowledge().rules
        for name in (rule.code, rule.name)
        if name.startswith(word)
    ]


def stacked(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


# Options that say what is checked and how: `options` reads them.
checking = stacked(
    click.option(
        "--select",
        multiple=True,
        callback=words,
        shell_complete=rule_names,
        help="Rules to run: codes, prefixes of codes, names.",
    ),
    click.option("--ignore", multiple=True, callback=words, shell_complete=rule_names, help="Rules to leave out."),
    click.option(
        "--extend-select",
        multiple=True,
        callback=words,
        shell_complete=rule_names,
        help="Rules to run besides the selected ones.",
    ),
    click.option("--pedantic/--no-pedantic", default=None, help="Show findings of low confidence too."),
    click.option("--target", multiple=True, help="Versions to judge for: torch=2.13, torch<2.15, or any."),
    click.option(
        "--exclude", multiple=True, callback=words, help="Files and folders to leave out besides the usual ones."
    ),
    click.option(
        "--force-exclude", is_flag=True, default=None, help="Leave excluded files out even where they are named."
    ),
    click.option("--no-configs", is_flag=True, help="Leave YAML, JSON, shell scripts and requirements out."),
    click.option("--config", type=click.Path(path_type=Path), help="The settings file to use."),
    click.option("--isolated", is_flag=True, help="Use no settings file."),
    click.option("--no-ignores", is_flag=True, help="Show what comments suppress."),
    click.option(
        "--fail-on", type=click.Choice(["error", "warning", "note", "never"]), help="Exit with 1 from here on."
    ),
    click.option("--stdin-filename", type=click.Path(path_type=Path), help="The path of what `-` reads."),
    click.option("--jobs", type=click.IntRange(min=1), help="Processes to use."),
    click.option("--traceback", is_flag=True, help="Show where an internal error comes from."),
    click.option("--no-prefilter", is_flag=True, hidden=True),
)


def options(values: dict[str, Any], *, stdin: bool) -> Options:
    """The checking options of a command, taken out of its values."""
    from dtypelint.engine import Options
    from dtypelint.settings import Flags

    filename = values["stdin_filename"] or Path("stdin.py")
    return Options(
        flags=Flags(
            select=values["select"],
            ignore=values["ignore"],
            extend_select=values["extend_select"],
            exclude=values["exclude"] or (),
            pedantic=values["pedantic"],
            fail_on=values["fail_on"],
            targets=values["target"],
            force_exclude=values["force_exclude"],
            configs=False if values["no_configs"] else None,
            config=values["config"],
            isolated=values["isolated"],
        ),
        ignores=not values["no_ignores"],
        jobs=values["jobs"] or 0,
        prefilter=not values["no_prefilter"],
        stdin=(filename, sys.stdin.buffer.read()) if stdin else None,
    )


def width() -> int | None:
    """The columns of the terminal that the output goes to, if it is one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def color(no_color: bool) -> bool:
    """Whether the output is a terminal that may show colours."""
    return not (no_color or os.environ.get("NO_COLOR")) and sys.stdout.isatty()


def finish(report: Report, *, traceback: bool, exit_zero: bool) -> None:
    """End with the exit status of a report."""
    if traceback:
        write("".join(report.internal), err=True)
    if report.internal:
        raise click.exceptions.Exit(BROKEN)
    if report.failed and not exit_zero:
        raise click.exceptions.Exit(FINDINGS)


def inputs(paths: Sequence[Path]) -> tuple[list[Path], bool]:
    """The files and folders that are named, and whether the standard input is."""
    stdin = Path("-") in paths
    return [path for path in paths if path != Path("-")] or ([] if stdin else [Path()]), stdin
