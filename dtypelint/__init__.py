"""Finds the precision settings that a training codebase asks for and does not get."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from dtypelint.finding import Finding

__all__ = ["check"]
__version__ = "0.1.0"


def check(
    paths: Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    extend_select: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    pedantic: bool | None = None,
    target: Sequence[str] = (),
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
    ignores: bool = True,
    jobs: int = 0,
) -> list[Finding]:
    """The findings in files and folders, as `dtypelint check` shows them; arguments mean what its options mean."""
    from pathlib import Path

    from dtypelint.engine import Options, run
    from dtypelint.settings import Flags

    flags = Flags(
        select=None if select is None else tuple(select),
        ignore=None if ignore is None else tuple(ignore),
        extend_select=None if extend_select is None else tuple(extend_select),
        exclude=tuple(exclude),
        pedantic=pedantic,
        targets=tuple(target),
        config=None if config is None else Path(config),
        isolated=isolated,
    )
    return list(run(map(Path, paths), Options(flags=flags, ignores=ignores, jobs=jobs)).findings)
