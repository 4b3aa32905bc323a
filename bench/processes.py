"""Facts about processes, from /proc."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_KEEPER = "bide-keeper"


def keepers(below: Path) -> set[int]:
    """The keepers of all jobs in this folder: their working folder is that of the job."""
    prefix = f"{below}{os.sep}"
    found: set[int] = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            folder = os.readlink(f"/proc/{name}/cwd")
            spare = os.path.basename(folder).startswith("spare-")
            if folder.startswith(prefix) and not spare and _command(name) == _KEEPER:
                found.add(int(name))
    return found


def _command(pid: str) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()


def memory_kb(pid: int) -> dict[str, int]:
    """`Rss`, `Pss`, `Private_Clean`, … of a process, in kB, from its smaps_rollup."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return {words[0].rstrip(":"): int(words[1]) for words in (line.split() for line in lines)}


def private_kb(pid: int) -> int:
    """What the process has to itself and nobody shares."""
    kb = memory_kb(pid)
    return kb["Private_Clean"] + kb["Private_Dirty"]


def cpu_seconds(pid: int) -> float:
    """Time on a CPU so far, of all threads, by the scheduler's own nanoseconds."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9


def filesystem(path: Path) -> str:
    """The kind of filesystem that holds a folder."""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted:
            return after.split()[0]
    return "unknown"
