"""Who listens on which TCP port, from /proc. Costs a few reads, and nothing while nobody asks."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
from collections.abc import Iterable, Iterator

from bide.keeper.folder import MARKER
from bide.model.service import Port

_LISTEN = "0A"
_REACHED_LOCALLY = ("0.0.0.0", "127.0.0.1", "::", "::1")  # noqa: S104 - names what others bind to


def listening(pid: int | str = "self") -> dict[int, tuple[str, int]]:
    """Address and port of every listening socket in a process's network namespace, by the socket's inode."""
    found: dict[int, tuple[str, int]] = {}
    for table in ("tcp", "tcp6"):
        for line in _text(f"/proc/{pid}/net/{table}").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN:
                address, _, port = fields[1].partition(":")
                found[int(fields[9])] = _address(address), int(port, 16)
    return found


def _address(words: str) -> str:
    """The kernel writes an address as words of four bytes, each in the machine's own order."""
    order = -1 if sys.byteorder == "little" else 1
    data = b"".join(bytes.fromhex(words[at : at + 8])[::order] for at in range(0, len(words), 8))
    return str(ipaddress.ip_address(data))


def of(pids: Iterable[int], space: int | str = "self") -> tuple[Port, ...]:
    """What these processes listen on, each port once, with the first process that has it; `space` is one of them."""
    sockets = listening(space)
    found: dict[tuple[str, int], Port] = {}
    if sockets:
        for pid in pids:
            for inode in _inodes(pid):
                if (place := sockets.get(inode)) is not None:
                    found.setdefault(place, Port(*place, pid))
    return tuple(sorted(found.values(), key=lambda port: (port.port, port.address)))


def holder(port: int) -> int | None:
    """The process that listens where a connection to this port of localhost arrives.

    `None` if nobody does, 0 if it is a process that we may not look into.
    """
    wanted = {inode for inode, (address, found) in listening().items() if found == port and address in _REACHED_LOCALLY}
    if not wanted:
        return None
    return next((pid for pid in _pids() if wanted.intersection(_inodes(pid))), 0)


def tree(roots: Iterable[int]) -> list[int]:
    """These processes and all their descendants."""
    found = list(dict.fromkeys(roots))
    for pid in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                children = [int(word) for word in _text(f"/proc/{pid}/task/{task}/children").split()]
                found += [child for child in children if child not in found]
    return found


def marked(job: str) -> list[int]:
    """Processes that were started by a job, whoever is their parent by now."""
    return [pid for pid in _pids() if marks(pid).get(MARKER) == job]


def marks(pid: int) -> dict[str, str]:
    """What links a process to bide: BIDE_JOB and BIDE_HOME of the environment it was started with."""
    words = [os.fsdecode(word).partition("=") for word in _bytes(f"/proc/{pid}/environ").split(b"\0")]
    return {key: value for key, _, value in words if key in (MARKER, "BIDE_HOME")}


def described(pid: int) -> tuple[str, str]:
    """The command line and the folder of a process; empty where we may not know."""
    command = _bytes(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    cwd = ""
    with contextlib.suppress(OSError):
        cwd = os.readlink(f"/proc/{pid}/cwd")
    return command.decode("utf-8", "replace"), cwd


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _inodes(pid: int) -> Iterator[int]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                yield int(target[8:-1])


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _text(path: str) -> str:
    return _bytes(path).decode("ascii", "replace")
