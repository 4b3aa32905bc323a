"""Where a run takes place: one folder on the repository's disk and the daemons in it. Nothing is left afterwards."""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.processes import keepers
from bide.client.blocking import Link
from bide.model.errors import DaemonUnavailable

_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_TRIED_FOLDERS, _TRIED_FILES = 8, 30
_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS, _FS_TOPDIR_FL = 0x80086601, 0x40086602, 0x20000


def _end_with_us() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)


class Daemon:
    """The daemon of one home, as a child of this process: however we end, it ends."""

    def __init__(self, home: Path) -> None:
        """Not started yet."""
        self.home = home
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and not ended by us."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of the running daemon."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it as clients do, and return when it says that it is ready."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        with (self.home / "daemon.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "bide.daemon", "--home", str(self.home)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_us,  # noqa: PLW1509 - it makes one system call
            )
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], _READY_SECONDS)[0]:
            raise RuntimeError("the daemon did not become ready")
        said = self._process.stdout.readline()
        if b'"ready"' not in said:
            raise RuntimeError(f"the daemon could not start: {said.decode()}")

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end; what does not is killed. The second time does nothing."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def ask(self, method: str, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request on a connection of its own."""
        link = Link(str(self.home), starts=False)
        try:
            return link.call(method, path, query=query)
        finally:
            link.close()

    def wait_for(
        self, condition: Callable[[dict[str, Any]], bool], *, seconds: float = 60.0, pause: float = 0.05
    ) -> None:
        """Return when what the daemon says of itself meets the condition."""
        until = time.monotonic() + seconds
        while not condition(self._info()):
            if time.monotonic() > until:
                raise TimeoutError(f"after {seconds:.0f} s the daemon says {self._info()}")
            time.sleep(pause)

    def _info(self) -> dict[str, Any]:
        try:
            return self.ask("GET", "/v1/daemon")
        except DaemonUnavailable:
            return {}


def _spread(folder: Path) -> None:
    """Have what is made in this folder put in different parts of the disk, where the filesystem can (chattr +T).

    ext4 without a journal searches for minutes through the inodes that were deleted in one part before it makes a new
    one there: without this, a run pays for the thousands of files that the run before it removed.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = int.from_bytes(fcntl.ioctl(fd, _FS_IOC_GETFLAGS, bytes(8)), sys.byteorder)
        fcntl.ioctl(fd, _FS_IOC_SETFLAGS, (flags | _FS_TOPDIR_FL).to_bytes(8, sys.byteorder))
    except OSError:
        pass
    finally:
        os.close(fd)


def _quickest(parent: Path) -> list[Path]:
    """New folders in different parts of the disk, the one in which files are made fastest first: see `_spread`."""

    def seconds(folder: Path) -> float:
        begun = time.perf_counter()
        for number in range(_TRIED_FILES):
            (folder / f"tried{number}").touch()
        return time.perf_counter() - begun

    return sorted((Path(tempfile.mkdtemp(dir=parent)) for _ in range(_TRIED_FOLDERS)), key=seconds)


class Place:
    """The folder of a run, and all that lives in it."""

    def __init__(self, repository: Path, tell: Callable[[str], None]) -> None:
        """In `build/`, which git and the checks ignore."""
        parent = repository / "build" / "bench"
        parent.mkdir(parents=True, exist_ok=True)
        _spread(parent)
        self.root, *self._others = _quickest(parent)
        self.tell = tell
        """Says what is going on, to whoever watches."""
        self.stack = AsyncExitStack()
        """What later rows may still use."""

    async def __aenter__(self) -> Self:
        """Nothing happens until a row asks for it."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything and remove it."""
        try:
            await self.clear()
            self._end_keepers()
        finally:
            for folder in (self.root, *self._others):
                shutil.rmtree(folder, ignore_errors=True)

    async def clear(self) -> None:
        """End the jobs and daemons that are still there."""
        await self.stack.aclose()

    def daemon(self, name: str) -> Daemon:
        """A started daemon with a home of its own, which ends with the run if nobody ends it before."""
        daemon = Daemon(self.root / name)
        self.stack.callback(daemon.stop)
        daemon.start()
        return daemon

    def _end_keepers(self) -> None:
        """Keepers leave by themselves when their job is over; what has not by then is ours to end."""
        until = time.monotonic() + _STOP_SECONDS
        while (left := keepers(self.root)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
