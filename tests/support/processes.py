"""Who is alive, from /proc: what a test left behind, and how to end exactly that."""

import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

PIDFD = "anon_inode:[pidfd]"


def pids() -> Iterator[int]:
    """Every process of this machine but ourselves."""
    yield from (int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid())


def read(pid: int, file: str) -> bytes:
    """A file of /proc/PID; empty if the process is gone."""
    try:
        with open(f"/proc/{pid}/{file}", "rb", buffering=0) as found:
            return found.read()
    except OSError:
        return b""


def state(pid: int) -> str:
    """One letter; empty if the process is gone, Z if only its status is left."""
    return read(pid, "stat").rpartition(b")")[2][1:2].decode()


def is_alive(pid: int) -> bool:
    """Whether it runs or could."""
    return state(pid) not in ("", "Z", "X")


def cwd(pid: int) -> str:
    """Where it is; empty if it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def now() -> int:
    """This moment, as /proc tells start times."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def of_folder(folder: Path, since: int = 0) -> dict[int, str]:
    """Live processes of the homes in this folder: daemons by their words, keepers by where they are, jobs by their
    environment. With `since`, only those that were started then or later.
    """
    mark, found = os.fsencode(folder), dict[int, str]()
    for pid in pids():
        fields = read(pid, "stat").rpartition(b")")[2].split()
        if not fields or fields[0] in (b"Z", b"X") or int(fields[19]) < since:
            continue
        words = read(pid, "cmdline")
        if words.startswith(b"bide-keeper"):
            ours = cwd(pid).startswith(str(folder))
        else:
            # Who is traced may be in the middle of execve, and then its environment cannot be read for a long time.
            ours = mark in words or (not is_traced(pid) and b"BIDE_HOME=" + mark in read(pid, "environ"))
        if ours:
            found[pid] = words.replace(b"\0", b" ").decode("utf-8", "replace")
    return found


def is_traced(pid: int) -> bool:
    """Whether a debugger has it."""
    return b"\nTracerPid:\t0\n" not in read(pid, "status")


def keepers(folder: Path) -> list[int]:
    """The keepers of jobs of the homes in this folder."""
    return [pid for pid in _all_keepers(folder) if not _is_spare(pid)]


def spares(folder: Path) -> list[int]:
    """The keepers that wait for a job, each with the process that waits to become its program."""
    return [pid for pid in _all_keepers(folder) if _is_spare(pid)]


def _all_keepers(folder: Path) -> list[int]:
    return [pid for pid, words in of_folder(folder).items() if words.startswith("bide-keeper")]


def _is_spare(pid: int) -> bool:
    return os.path.basename(cwd(pid)).startswith("spare-")


def daemons(folder: Path) -> list[int]:
    """The daemons of the homes in this folder."""
    return [pid for pid, words in of_folder(folder).items() if " bide.daemon " in words]


def children() -> list[int]:
    """Our own children, zombies included."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def reap() -> list[int]:
    """Collect children that ended; the others."""
    for pid in children():
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return children()


def left(folder: Path, since: int, before: Collection[int], within: float = 20.0) -> dict[int, str]:
    """What is alive of the homes in this folder, and of our new children, once what is about to end has ended."""
    deadline = time.monotonic() + within
    while True:
        new = [pid for pid in reap() if pid not in before and is_alive(pid)]
        found = dict.fromkeys(new, "a child of the tests")
        if any(folder.iterdir()):
            found |= of_folder(folder, since)
        if not found or time.monotonic() > deadline:
            return found
        threading.Event().wait(0.01)


def end(pid: int, number: int = signal.SIGKILL) -> None:
    """Signal one process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def descriptors(folder: Path) -> list[str]:
    """What we hold open that belongs to a home in this folder, and every pidfd."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if str(folder) in target or target == PIDFD:
                found.append(target)
    return found


if __name__ == "__main__":
    for found in of_folder(Path(sys.argv[1])):
        end(found)
