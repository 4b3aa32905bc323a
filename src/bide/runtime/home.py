"""The home folder: its layout, its rights, and the lock that makes one runtime serve it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat

from bide.model.errors import HomeBusy, HomeUnusable, of_os_error
from bide.runtime.reserve import Reserve


class Home:
    """An opened home; holding one means holding its lock, which a crash releases."""

    def __init__(self, path: str) -> None:
        """Create what is missing, check that it is ours, take the lock. Raises HomeUnusable or HomeBusy."""
        self.path: str = path
        self.jobs: str = os.path.join(path, "jobs")
        self.new: str = os.path.join(path, "new")
        self.sessions: str = os.path.join(path, "sessions")
        self.quarantine: str = os.path.join(path, "quarantine")
        self.database: str = os.path.join(path, "bide.db")
        self.reserve: Reserve = Reserve(path)
        self.fresh: bool = not os.path.isdir(self.jobs)
        """Whether there was no home here before."""
        self._bound: dict[str, tuple[int, int] | None] = {}
        try:
            self.reserve.with_room(self._open)
        except OSError as error:
            raise of_os_error(error, path) or HomeUnusable(home=path, detail=error.strerror or str(error)) from error
        self._take_lock()

    def _open(self) -> None:
        path = self.path
        os.makedirs(path, mode=0o700, exist_ok=True)
        self._check()
        for folder in (self.jobs, self.new, self.sessions):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        self._lock = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def _check(self) -> None:
        found = os.stat(self.path)
        if found.st_uid != os.geteuid():
            raise HomeUnusable(home=self.path, detail=f"it belongs to uid {found.st_uid}")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(self.path, 0o700)

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            os.close(self._folder)
            raise HomeBusy(home=self.path, pid=pid or "unknown") from error
        # Overwritten before it is cut: the block that the file has is enough on a full disk.
        with contextlib.suppress(OSError):
            line = b"%d\n" % os.getpid()
            self.reserve.with_room(lambda: os.pwrite(self._lock, line, 0))
            os.ftruncate(self._lock, len(line))

    def job(self, job: str) -> str:
        """The folder of a job."""
        return f"{self.jobs}/{job}"

    def bind(self, name: str, kind: socket.SocketKind) -> socket.socket:
        """A unix socket in the home, for its owner only; any length of path will do."""
        address = f"/proc/self/fd/{self._folder}/{name}"
        sock = socket.socket(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        before = os.umask(0o177)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))
            self.reserve.with_room(lambda: sock.bind(address))
        except OSError as error:
            sock.close()
            known = of_os_error(error, self.path)
            unusable = HomeUnusable(home=self.path, detail=f"no socket can be made there ({error.strerror})")
            raise known or unusable from error
        finally:
            os.umask(before)
        self._bound[name] = self._identity(name)
        return sock

    def has_socket(self, name: str) -> bool:
        """Whether the file of a socket is the one that was bound."""
        return self._identity(name) == self._bound.get(name)

    def _identity(self, name: str) -> tuple[int, int] | None:
        try:
            found = os.lstat(os.path.join(self.path, name))
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._folder)
        os.close(self._lock)
