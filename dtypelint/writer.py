"""New content for files that exist: each is whole at any moment, the old one or the new one.

A temporary file in the same folder is written, synchronized and renamed over the target of any link. It takes over mode,
owner and extended attributes. Several files are first all written and then all renamed; hard links are cut.
"""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIX = ".dtypelint"


class Unwritten(Exception):
    """A file that keeps its content, and why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held when it was read, and what it is to hold."""

    path: Path
    before: bytes
    after: bytes


def write(contents: Sequence[Content], roots: Sequence[Path]) -> None:
    """Write some files, or none of them: `Unwritten` says which one could not be, and why.

    `roots` are the files and folders that may be written to; what a link in them leads to must lie in one of them too.
    """
    allowed = [Path(os.path.realpath(root)) for root in roots]
    staged: list[_Staged] = []
    try:
        for content in contents:
            with _blamed(content.path):
                target = _target(content.path, allowed)
                # another link may have led there before
                if target.read_bytes() != content.after:
                    staged.append(_Staged(content, target))
        for file in staged:
            with _blamed(file.content.path):
                file.fill()
        with _uninterrupted():
            try:
                for file in staged:
                    with _blamed(file.content.path):
                        file.check()
                        file.commit()
            except BaseException:
                for file in staged:
                    with suppress(OSError, Unwritten):
                        file.restore()
                raise
    finally:
        with _uninterrupted():
            for file in staged:
                file.discard()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until files that belong together are done."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unwritten(path, error.strerror or str(error)) from None


def _target(path: Path, allowed: Sequence[Path]) -> Path:
    """The file behind all links, if it may be written."""
    target = Path(os.path.realpath(path, strict=True))
    if not any(target.is_relative_to(root) for root in allowed):
        raise Unwritten(path, f"leads to {target}, outside of the given paths")
    return target


class _Staged:
    """A file with its next content in a temporary file beside it."""

    def __init__(self, content: Content, target: Path) -> None:
        self.content = content
        self._target = target
        self._status = target.stat()
        if not stat.S_ISREG(self._status.st_mode):
            raise Unwritten(content.path, "not a regular file")
        self.check()
        # the name is no module's: no walk and no import picks a left-over up
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=SUFFIX, dir=target.parent)
        self._handle = handle
        self._temporary: Path | None = Path(name)
        self._committed = False

    def fill(self) -> None:
        """Write the temporary file and give it what the target has."""
        assert self._temporary is not None
        with os.fdopen(self._handle, "wb") as file:
            self._handle = -1
            file.write(self.content.after)
            file.flush()
            _take_over(self._status, self._target, self._temporary, self.content.path)
            os.fsync(file.fileno())

    def check(self) -> None:
        """Refuse a file that is not what was read."""
        if self._target.read_bytes() != self.content.before:
            raise Unwritten(self.content.path, "changed since it was read")

    def commit(self) -> None:
        """Put the new content in place."""
        assert self._temporary is not None
        self._temporary.replace(self._target)
        self._temporary = None
        self._committed = True
        _synchronize(self._target.parent)

    def restore(self) -> None:
        """Put the old content back in place, where the new one is."""
        if not self._committed:
            return
        back = _Staged(Content(self.content.path, self.content.after, self.content.before), self._target)
        try:
            back.fill()
            back.commit()
        finally:
            back.discard()

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.unlink()
            self._temporary = None


def _take_over(status: os.stat_result, old: Path, new: Path, path: Path) -> None:
    own = new.stat()
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid) and hasattr(os, "chown"):
        try:
            os.chown(new, status.st_uid, status.st_gid)
        except PermissionError:
            raise Unwritten(path, "belongs to another user or group, which it would not keep") from None
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(old):
                os.setxattr(new, name, os.getxattr(old, name))
    # last, for a change of owner clears some bits
    new.chmod(stat.S_IMODE(status.st_mode))


def _synchronize(folder: Path) -> None:
    """Make a rename last; not every system can open a folder."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
