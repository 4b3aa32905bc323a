"""Processes as /proc shows them."""

import os
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def words(pid: int) -> list[bytes]:
    """The command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def children_of(pid: int) -> list[int]:
    """Of all its threads, zombies included."""
    found: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    return found


def files(pid: int) -> list[str]:
    """What its descriptors lead to."""
    found: list[str] = []
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the third on; empty if the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def state(pid: int) -> str:
    """One letter; empty if the process is gone, Z if only its status is left."""
    fields = stat(pid)
    return fields[0].decode() if fields else ""


def cpu_seconds(pid: int) -> float:
    """What it used so far."""
    fields = stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0
