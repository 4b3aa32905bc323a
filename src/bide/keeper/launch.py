"""Keepers as processes: start one, replace one, tell whether one is alive, and never mistake a reused pid."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import sys
from functools import cache

KEEPER = os.path.join(os.path.dirname(__file__), "bide-keeper")
_FLOCK = struct.Struct("hhqqi4x")
_PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "BIDE_HOME", "XDG_STATE_HOME", "PYTHONPATH", "COVERAGE_PROCESS_START")
_IN_FD, _TTY_FD = 3, 4


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


def _spawn(arguments: list[str], actions: list[tuple[int, ...]]) -> int:
    quiet = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
    return os.posix_spawn(
        KEEPER, ["bide-keeper", *arguments], _environment(), file_actions=[*quiet, *actions], setsid=True
    )


def start(path: str) -> int:
    """Start the keeper of a prepared folder; it refuses by itself to start a job twice."""
    return _spawn([path], [])


def take_over(path: str, in_fd: int, tty_fd: int) -> int:
    """Start a replacement for a keeper that died, handing it what was kept for it (-1 for nothing)."""
    actions: list[tuple[int, ...]] = []
    words = ["-1", "-1"]
    for index, (fd, target) in enumerate(((in_fd, _IN_FD), (tty_fd, _TTY_FD))):
        if fd >= 0:
            # A descriptor already at its target would keep its close-on-exec flag, so it is moved out of the way.
            source = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
            actions.append((os.POSIX_SPAWN_DUP2, source, target))
            words[index] = str(target)
    try:
        return _spawn(["-R", path, *words], actions)
    finally:
        for action in actions:
            os.close(action[1])


def holder(path: str) -> int | None:
    """The pid of the keeper that holds this folder's lock, from the kernel; `None` if nobody does."""
    try:
        fd = os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0))
    finally:
        os.close(fd)
    kind, _, _, _, pid = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else int(pid)


def live_keeper(path: str) -> tuple[int, int] | None:
    """Pid and pidfd of the living keeper; the lock is asked again once the pidfd is held."""
    pid = holder(path)
    if pid is None or pid <= 0:
        return None
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    if holder(path) != pid:
        os.close(fd)
        return None
    return pid, fd


def start_ticks(pid: int) -> int | None:
    """The start time of a process, which with its pid names it for ever; `None` if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


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


def end_process(pidfd: int) -> None:
    """End a keeper that never got as far as starting its job."""
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return
