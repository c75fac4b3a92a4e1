"""Writing: whole or not at all, and what a file keeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dtypelint.writer import Content, Unwritten, write

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False
# every call of the system that writing two files makes
STEPS = ("mkstemp", "fdopen", "chmod", "fsync", "read_bytes", "replace", "open", "unlink", "stat")


def content(path: Path, after: bytes = b"new\n") -> Content:
    return Content(path, path.read_bytes(), after)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_new_content_is_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\r\n")
    write([content(path, b"new\r\n")], [tmp_path])
    assert path.read_bytes() == b"new\r\n"
    assert names(tmp_path) == ["a.py"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755, 0o444])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\n")
    path.chmod(mode)
    write([content(path)], [tmp_path])
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(not ROOT, reason="only root gives files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\n")
    os.chown(path, 1234, 4321)
    path.chmod(0o6755)
    write([content(path)], [tmp_path])
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 4321, 0o6755)


def test_a_file_of_another_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\n")

    class Other:
        def __init__(self, status: os.stat_result) -> None:
            self.st_mode = status.st_mode
            self.st_uid = status.st_uid + 1
            self.st_gid = status.st_gid

    def refuse(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self: Other(stat(self)) if self.name == "a.py" else stat(self))
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(Unwritten, match="belongs to another user"):
        write([content(path)], [tmp_path])
    assert path.read_bytes() == b"old\n"
    assert names(tmp_path) == ["a.py"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\n")
    try:
        os.setxattr(path, "user.reviewed", b"yes")
    except OSError:
        pytest.skip("no extended attributes on this disk")
    write([content(path)], [tmp_path])
    assert os.getxattr(path, "user.reviewed") == b"yes"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "a.py"
    path.write_bytes(b"old\n")
    link = tmp_path / "link.py"
    link.symlink_to(path)
    write([content(link)], [tmp_path])
    assert link.is_symlink()
    assert path.read_bytes() == b"new\n"
    assert names(tmp_path / "real") == ["a.py"]


def test_a_link_out_of_the_roots_is_refused(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.py", tmp_path / "inside"
    inside.mkdir()
    outside.write_bytes(b"old\n")
    (inside / "a.py").symlink_to(outside)
    with pytest.raises(Unwritten, match="outside of the given paths"):
        write([content(inside / "a.py")], [inside])
    assert outside.read_bytes() == b"old\n"
    write([content(inside / "a.py")], [inside / "a.py"])
    assert outside.read_bytes() == b"new\n"


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "a.py", tmp_path / "b.py"
    one.write_bytes(b"old\n")
    other.write_bytes(b"old\n")
    contents = [content(one), content(other)]
    other.write_bytes(b"edited meanwhile\n")
    with pytest.raises(Unwritten, match=r"b\.py: changed since it was read"):
        write(contents, [tmp_path])
    assert one.read_bytes() == b"old\n"
    assert other.read_bytes() == b"edited meanwhile\n"
    assert names(tmp_path) == ["a.py", "b.py"]


def test_a_file_that_vanished_and_one_that_is_none(tmp_path: Path) -> None:
    gone = tmp_path / "gone.py"
    with pytest.raises(Unwritten, match="No such file"):
        write([Content(gone, b"", b"new")], [tmp_path])
    with pytest.raises(Unwritten, match="Is a directory|not a regular file"):
        write([Content(tmp_path, b"", b"new")], [tmp_path])
    assert names(tmp_path) == []


def fail_at(monkeypatch: pytest.MonkeyPatch, count: int, error: Callable[[], BaseException]) -> list[int]:
    """Let the `count`-th of all steps fail."""
    seen = [0]

    def guard(real: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **keywords: object) -> object:
            seen[0] += 1
            if seen[0] == count:
                raise error()
            return real(*args, **keywords)

        return step

    for owner in (os, Path, tempfile):
        for name in STEPS:
            if hasattr(owner, name):
                monkeypatch.setattr(owner, name, guard(getattr(owner, name)))
    return seen


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_a_failure_at_any_step_leaves_all_files_old_or_all_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    count = 0
    failed = True
    while failed:
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        paths = [folder / "a.py", folder / "b.py"]
        for path in paths:
            path.write_bytes(b"old\n")
            path.chmod(0o640)
        contents = [content(path) for path in paths]
        failed = False
        with monkeypatch.context() as patch:
            fail_at(patch, count, lambda: kind(28, "No space left on device") if kind is OSError else kind())
            try:
                write(contents, [folder])
            except (KeyboardInterrupt, Unwritten):
                failed = True
        found = [path.read_bytes() for path in paths]
        assert found in ([b"old\n"] * 2, [b"new\n"] * 2)
        assert [path.stat().st_mode & 0o777 for path in paths] == [0o640] * 2
        assert names(folder) == ["a.py", "b.py"]
        failed |= found == [b"new\n"] * 2 and count < 15
    assert count > 15


KILLED = """
import os, signal, sys
from pathlib import Path
import tempfile
from dtypelint import writer

count, seen = int(sys.argv[1]), 0
real = {}

def guard(owner, name):
    inner = getattr(owner, name)
    def step(*args, **keywords):
        global seen
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(*args, **keywords)
    setattr(owner, name, step)

for owner in (os, Path, tempfile):
    for name in sys.argv[2].split(","):
        if hasattr(owner, name):
            guard(owner, name)
paths = [Path("a.py"), Path("b.py")]
writer.write([writer.Content(path, b"old" * 9999, b"new!" * 9999) for path in paths], [Path()])
"""


@pytest.mark.parametrize("count", range(1, 30, 4))
def test_a_killed_run_leaves_every_file_whole(tmp_path: Path, count: int) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_bytes(b"old" * 9999)
        path.chmod(0o640)
    script = [sys.executable, "-c", KILLED, str(count), ",".join(STEPS)]
    result = subprocess.run(
        script, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False
    )
    assert result.returncode in (0, -signal.SIGKILL)
    for path in paths:
        assert path.read_bytes() in (b"old" * 9999, b"new!" * 9999)
        assert path.stat().st_mode & 0o777 == 0o640
    assert not [name for name in names(tmp_path) if name.endswith(".py") and name not in ("a.py", "b.py")]
