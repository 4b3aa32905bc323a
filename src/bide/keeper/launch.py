"""Keepers as processes: have one made, tell whether one is alive, and never mistake a reused pid."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
from functools import cache

KEEPER = os.environ.get("BIDE_KEEPER") or os.path.join(os.path.dirname(__file__), "bide-keeper")
"""The keeper's program; docs/keeper.md says what another one must do."""
_FLOCK = struct.Struct("hhqqi4x")
_ANY_LOCK = _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0)
_STAT = 4096
_OURS = ("BIDE_HOME", "BIDE_KEEPER", "BIDE_SPARES")
_PYTHONS = ("PYTHONPATH", "COVERAGE_PROCESS_START")
_PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_STATE_HOME", *_OURS, *_PYTHONS)
_NURSERY = "bide-keeper: makes the keepers of bide's jobs"
"""What `ps` shows of it; the keepers it makes have so much room to say whose they are."""
_NURSERY_FD = 3
_NURSERY_SECONDS = 2.0
_PACKET = 4352
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO = struct.Struct("Q52xi")
_PIDFD_INFO_EXIT = 1 << 3


@cache
def boot_identity() -> str:
    """Which boot and pid namespace this is; pids mean nothing in another."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = "unknown"
    return f"{boot}/{os.readlink('/proc/self/ns/pid')}"


@cache
def _environment() -> dict[str, str]:
    return {key: os.environ[key] for key in _PASSED_ON if key in os.environ}


class Nursery:
    """The process that makes keepers. Asking costs one packet; the keeper's pidfd comes back in another."""

    def __init__(self) -> None:
        """Started when first asked for a keeper."""
        self._sock: socket.socket | None = None
        self.pid: int = 0

    def fileno(self) -> int:
        """Readable when there are answers; -1 while there is no nursery."""
        return -1 if self._sock is None else self._sock.fileno()

    def open(self) -> None:
        """Start the process. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]  # pyright: ignore[reportAssignmentType]
        # A descriptor already at its target would keep its close-on-exec flag, so it is moved out of the way.
        source = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
        actions.append((os.POSIX_SPAWN_DUP2, source, _NURSERY_FD))
        try:
            self.pid = os.posix_spawn(
                KEEPER, [_NURSERY, "-N", str(_NURSERY_FD)], _environment(), file_actions=actions, setsid=True
            )
        except OSError:
            ours.close()
            raise
        finally:
            os.close(source)
            theirs.close()
        ours.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        self._sock = ours

    def ask(self, path: str, *, replace: bool = False, in_fd: int = -1, tty_fd: int = -1) -> None:
        """Have a keeper made for a prepared folder, or one to take over. Raises OSError if there is no nursery."""
        head = ("R" if replace else "N") + ("i" if in_fd >= 0 else "-") + ("t" if tty_fd >= 0 else "-")
        self._send(head + path, [fd for fd in (in_fd, tty_fd) if fd >= 0])

    def ask_spares(self, number: int, path: str) -> None:
        """Have up to 99 keepers made ahead, each in a folder of its own in this one. Raises OSError if there is no nursery."""
        self._send(f"S{number:02}{path}", [])

    def _send(self, request: str, fds: list[int]) -> None:
        if self._sock is None:
            raise BrokenPipeError
        try:
            socket.send_fds(self._sock, [os.fsencode(request)], fds)
        except BlockingIOError:
            # Hundreds of requests wait already; each takes the nursery a fraction of a millisecond, unless it hangs.
            if not select.select([], [self._sock], [], _NURSERY_SECONDS)[1]:
                raise
            socket.send_fds(self._sock, [os.fsencode(request)], fds)

    def answers(self) -> list[tuple[int, int, str]] | None:
        """Pid, pidfd and folder of keepers made; a pid below 0 is an errno. `None`: the nursery is gone."""
        found: list[tuple[int, int, str]] = []
        while self._sock is not None:
            try:
                data, fds, _, _ = socket.recv_fds(self._sock, _PACKET, 1, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                return found
            except ConnectionError:
                data, fds = b"", []
            if not data:
                return found or None
            pid, _, path = os.fsdecode(data).partition(" ")
            found.append((int(pid), fds[0] if fds else -1, path))
        return found

    def close(self) -> list[tuple[int, int, str]]:
        """Let it end; the keepers it made go on. One that hangs is left to itself. Gives the answers not read so far."""
        if self._sock is None:
            return []
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            fd = os.pidfd_open(self.pid)
            is_over(fd, _NURSERY_SECONDS)
            os.close(fd)
            os.waitpid(self.pid, os.WNOHANG)
        last = self.answers() or []
        self._sock.close()
        self._sock = None
        self.pid: int = 0
        return last


def kill(pidfd: int) -> None:
    """End a process, if it is not over."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def discard(pidfd: int) -> None:
    """End a process and hear of it no more."""
    kill(pidfd)
    os.close(pidfd)


def is_over(pidfd: int, seconds: float = 0) -> bool:
    """Whether a process has ended, or does within some time."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


def holder(path: str) -> int | None:
    """The pid of the keeper that holds this folder's lock, from the kernel; `None` if nobody does."""
    fd = _open_lock(path)
    if fd is None:
        return None
    try:
        return _holder(fd)
    finally:
        os.close(fd)


def _open_lock(path: str) -> int | None:
    try:
        return os.open(f"{path}/lock", os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _holder(lock: int) -> int | None:
    kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(lock, fcntl.F_GETLK, _ANY_LOCK))
    return None if kind == fcntl.F_UNLCK else int(pid)


def seize(path: str) -> int | None:
    """Keep every keeper out of a folder until the descriptor is closed; `None` if one is in it."""
    fd = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def live_keeper(path: str) -> tuple[int, int] | None:
    """Pid and pidfd of the living keeper; the lock is asked again once the pidfd is held.

    Raises OSError if there is one that cannot be watched: no descriptor is free, or it is of another pid namespace.
    """
    lock = _open_lock(path)
    if lock is None:
        return None
    try:
        pid = _holder(lock)
        if pid is None:
            return None
        if pid <= 0:
            raise OSError(errno.EXDEV, "its keeper is in another pid namespace", path)
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        if _holder(lock) != pid:
            os.close(fd)
            return None
        return pid, fd
    finally:
        os.close(lock)


def start_ticks(pid: int) -> int | None:
    """The start time of a process, which with its pid names it for ever; `None` if it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return int(os.read(fd, _STAT).rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None
    finally:
        os.close(fd)


def is_alive(pid: int, ticks: int) -> bool:
    """Whether this very process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(fields[19]) == ticks and fields[0] not in (b"Z", b"X")


def become_reaper() -> None:
    """Orphans of this process's children become its own: a dead keeper's job can then still be waited for."""
    import ctypes  # noqa: PLC0415 - only the daemon needs it, once

    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def starter(home: str) -> list[str]:
    """How to start a daemon for this home."""
    return [sys.executable, "-P", "-m", "bide.daemon", "--home", home]


def reap(pid: int) -> int | None:
    """Collect a child that ended; its wait status, or `None` if it is not our child or still runs."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return status if done else None


def peek(pid: int) -> int | None:
    """The wait status of a child that ended, leaving it a zombie for others to see."""
    try:
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if info is None:
        return None
    if info.si_code == os.CLD_EXITED:
        return (info.si_status & 255) << 8
    return info.si_status | (128 if info.si_code == os.CLD_DUMPED else 0)


def exit_status(pidfd: int) -> int | None:
    """The wait status of any process that is over and was collected, by its pidfd (Linux 6.15 and later)."""
    info = bytearray(_PIDFD_INFO.pack(_PIDFD_INFO_EXIT, 0))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    mask, status = _PIDFD_INFO.unpack(info)
    return status if mask & _PIDFD_INFO_EXIT else None


def own_children() -> list[int]:
    """The children of this process, of all its threads."""
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", "rb") as file:
            found += [int(word) for word in file.read().split()]
    return found
