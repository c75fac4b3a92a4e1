"""Paths to the files that are worth reading: the walk, the excludes, the project roots and the triggers."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dtypelint.errors import UserError
from dtypelint.languages import Language, language
from dtypelint.patterns import Patterns, is_pattern
from dtypelint.settings import DEFAULT_EXCLUDE

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from dtypelint.knowledge import Rule
    from dtypelint.settings import Configuration, Settings

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
LARGEST_CONFIG = 512_000
MOST = 50_000


@dataclass(frozen=True, slots=True)
class File:
    """A file to check, the root of its project and its settings."""

    path: Path
    root: Path
    settings: Settings


def read_bytes(path: Path, most: int = -1) -> bytes:
    """The content of a regular file, or its first `most` bytes; never waits for a pipe or a device."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(most)


class Walk:
    """The Python and configuration files below folders, without what `.gitignore` and the excludes name."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._working = Path.cwd()
        self._marked: dict[Path, Path | None] = {}

    def files(self, paths: Iterable[Path], overlay: Container[Path] = ()) -> list[File]:
        """The files to check, by path; a file that is named itself is taken whatever it is called.

        The paths of `overlay` need not exist.
        """
        found: dict[Path, File] = {}
        named = [(path, Path(os.path.abspath(path))) for path in paths]
        missing = [str(path) for path, absolute in named if absolute not in overlay and not os.path.lexists(absolute)]
        if missing:
            raise UserError("no such file or folder: " + ", ".join(missing))
        for _, path in named:
            if path.is_dir():
                found.update((file.path, file) for file in self._below(path))
            else:
                settings = self._configuration.for_folder(path.parent)
                left_out = settings.force_exclude and self.excluded(path, settings)
                if not left_out and (settings.configs or not is_config(path.name)):
                    found[path] = File(path, self.root(path.parent, path.parent), settings)
        return [found[path] for path in sorted(found)]

    def excluded(self, path: Path, settings: Settings) -> bool:
        """Whether a named file lies in something that the excludes name."""
        if settings.default_exclude and path.is_relative_to(self._working):
            folders = path.relative_to(self._working).parts[:-1]
            if DEFAULT_EXCLUDE.intersection(folders):
                return True
        return any(patterns.match(path) for patterns in settings.exclude)

    def root(self, folder: Path, given: Path) -> Path:
        """The nearest folder with a project file at or above, never above the working folder.

        Without one it is the given folder, or the one above its top package.
        """
        marked = self._nearest(folder)
        if marked is not None:
            return marked
        while (given / "__init__.py").is_file() and given not in (self._working, given.parent):
            given = given.parent
        return given

    def _nearest(self, folder: Path) -> Path | None:
        if folder not in self._marked:
            if any((folder / name).exists() for name in MARKERS):
                self._marked[folder] = folder
            elif folder in (self._working, folder.parent):
                self._marked[folder] = None
            else:
                self._marked[folder] = self._nearest(folder.parent)
        return self._marked[folder]

    def _below(self, given: Path) -> Iterator[File]:
        for folder, names in walk(given, self._configuration):
            if names:
                settings = self._configuration.for_folder(folder)
                root = self.root(folder, given)
                for name in names:
                    path = folder / name
                    if is_config(name) and not settings.configs:
                        continue
                    if not any(patterns.match(path) for patterns in settings.exclude):
                        yield File(path, root, settings)


def is_config(name: str) -> bool:
    """Whether a file is read as configuration; one that is named and has no known name is read as Python."""
    return language(name) not in (None, Language.PYTHON)


def listing(root: Path) -> list[str]:
    """The files of a root that are read, as posix paths relative to it, for questions that reach beyond the checked files."""
    found: list[str] = []
    for folder, names in walk(root, None):
        found += [(folder / name).relative_to(root).as_posix() for name in names]
        if len(found) > MOST:
            break
    return sorted(found)


def walk(start: Path, configuration: Configuration | None) -> Iterator[tuple[Path, list[str]]]:
    """Folders and the names of their files that are read; links to folders are not followed."""
    stack = [(start, _ignores_above(start))]
    while stack:
        folder, ignores = stack.pop()
        try:
            with os.scandir(folder) as entries:
                content = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue
        if any(entry.name == ".gitignore" for entry in content):
            ignores = (*ignores, _read_ignore(folder))
        settings = configuration.for_folder(folder) if configuration else None
        names = []
        for entry in content:
            if entry.is_dir(follow_symlinks=False):
                path = folder / entry.name
                hidden = entry.name in DEFAULT_EXCLUDE and (settings is None or settings.default_exclude)
                chosen = settings and any(patterns.match(path, folder=True) for patterns in settings.exclude)
                if not (hidden or chosen or _ignored(ignores, path, folder=True)):
                    stack.append((path, ignores))
            elif language(entry.name) and _regular(entry) and not _ignored(ignores, folder / entry.name):
                names.append(entry.name)
        yield folder, names[::-1]


def _regular(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _ignored(ignores: tuple[Patterns, ...], path: Path, *, folder: bool = False) -> bool:
    for patterns in reversed(ignores):
        answer = patterns.match(path, folder=folder)
        if answer is not None:
            return answer
    return False


def _ignores_above(start: Path) -> tuple[Patterns, ...]:
    above = []
    for folder in start.parents:
        above.append(folder)
        if (folder / ".git").exists():
            break
    else:
        return ()
    if (start / ".git").exists():
        return ()
    ignores: tuple[Patterns, ...] = ()
    for folder in reversed(above):
        if (folder / ".gitignore").is_file():
            ignores = (*ignores, _read_ignore(folder))
    parts = [start, *start.parents[: len(above) - 1]]
    return () if any(_ignored(ignores, part, folder=True) for part in parts) else ignores


def _read_ignore(folder: Path) -> Patterns:
    try:
        text = read_bytes(folder / ".gitignore").decode("utf-8", "surrogateescape")
    except OSError:
        text = ""
    return Patterns(folder, tuple(line for line in text.splitlines() if is_pattern(line)))


class Triggers:
    """Which rules can have something to say about the bytes of a file; where it has a name of `own`, all of them can."""

    def __init__(self, rules: Sequence[Rule], *, own: Iterable[str] = (), everything: bool = False) -> None:
        self._rules = tuple(rules)
        self._always = frozenset(rule.code for rule in rules if everything or not rule.triggers)
        codes: dict[bytes, set[str]] = {}
        for rule in rules:
            for trigger in rule.triggers:
                codes.setdefault(trigger, set()).add(rule.code)
        for name in own:
            codes.setdefault(rf"\b{re.escape(name)}\b".encode(), set()).update(rule.code for rule in rules)
        # a plain word is found ten times faster than a pattern
        ordered = sorted(codes, key=lambda trigger: re.escape(trigger) != trigger)
        self._patterns = [(re.compile(trigger, re.MULTILINE), codes[trigger]) for trigger in ordered]

    def any(self, data: bytes) -> bool:
        """Whether any rule has."""
        return bool(self._always) or any(pattern.search(data) for pattern, _ in self._patterns)

    def rules(self, data: bytes) -> tuple[Rule, ...]:
        """The rules with a trigger in the data, and those without triggers."""
        found = set(self._always)
        for pattern, codes in self._patterns:
            if not codes <= found and pattern.search(data):
                found |= codes
        return tuple(rule for rule in self._rules if rule.code in found)
