"""The job's folder from the Python side: file names, writing what the daemon writes, reading what the keeper wrote.

docs/keeper.md is the contract. Knows nothing of processes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, field

from bide.keeper import told
from bide.model import jsontext
from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.messages import job_from_json, job_to_json
from bide.model.times import ms
from bide.model.wellformed import check_job

RECORD = 4096
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk."""
_SMALL = 64 * 1024
_LARGEST = 64 << 20
"""What no file that bide writes here and reads whole comes near."""
MARKER = "BIDE_JOB"
UNREADABLE_END = "end.unreadable"
BOOT_UNKNOWN = "unknown"
_ENV_COUNT = re.compile(rb"env=[0-9]+")


class Orders(Struct, frozen=True):
    """What the keeper is told beside the job itself; see docs/keeper.md for each key."""

    env: Mapping[str, str]
    umask: int = 0o022
    nofile: int = 0
    boot: str = ""
    """The kernel's boot id and pid namespace: a job of another boot cannot be running."""
    starter: Sequence[str] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    input: bytes | None = None
    """All that the job reads from its stdin; `None` if that comes later."""


class Started(Struct, frozen=True):
    """The program runs, or ran, under this pid."""

    pid: int
    ticks: int
    """The start time of the process; 0 if the record is damaged: it began, and that is all that is known."""
    at: datetime


def instant(ms: int) -> datetime:
    """The instant of a wall-clock stamp."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def prepare(path: str, job: Job, orders: Orders, *, made: bool = False, reserved: bool = False) -> None:
    """Make the folder complete: FIFOs, and the spec last. Raises OSError and leaves nothing behind.

    In one that a spare keeper has `made`, all but the spec is there already, and that is empty. With `reserved`, the
    keeper's own files are made as well, so that it finds room for them.
    """
    if not made:
        os.mkdir(path, 0o700)
    try:
        if not made:
            for name in _fifos(job):
                os.mkfifo(f"{path}/{name}", 0o600)
        if orders.input is not None:
            told.append(path, orders.input)
            told.close(path)
        if reserved:
            _reserve(path, job)
        told.write(f"{path}/spec", _spec(job, orders), 0 if made else os.O_CREAT | os.O_EXCL)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _reserve(path: str, job: Job) -> None:
    """Make the files of the keeper, with room for its records."""
    blank = b" " * (RECORD - 1) + b"\n"
    for name in ("live", "end.tmp"):
        told.write(f"{path}/{name}", blank)
    told.write_reserved(f"{path}/started", RECORD, keep_size=True)
    empty = ["lock", "out"]
    if not (job.spec.merge or job.spec.pty):
        empty.append("err")
    if job.spec.stdin or job.spec.pty:
        empty.append("in")
    for name in empty:
        told.write(f"{path}/{name}", b"", os.O_CREAT)


def _fifos(job: Job) -> list[str]:
    names = ["ctl", "out.p"]
    if not (job.spec.merge or job.spec.pty):
        names.append("err.p")
    if job.spec.stdin and not job.spec.pty:
        names.append("in.p")
    return names


def _spec(job: Job, orders: Orders) -> bytes:
    spec, limits = job.spec, job.spec.limits
    sampled = [name for name, means in spec.enforced if means == "sampled"]
    parts = [
        f"cwd={spec.cwd}",
        f"umask={orders.umask}",
        f"nofile={orders.nofile}",
        f"stdin={spec.stdin:d}",
        f"pty={spec.pty:d}",
        f"merge={spec.merge:d}",
        f"fence={spec.fence:d}",
        f"timeout_ms={_ms(limits.timeout)}",
        f"idle_ms={_ms(limits.idle)}",
        f"idle_cpu={limits.idle_needs_no_cpu:d}",
        f"grace_ms={_ms(limits.grace)}",
        f"cap={limits.output_bytes}",
        f"cap_kills={limits.on_output_cap == 'kill':d}",
        f"memory_sampled={limits.memory_bytes if 'memory' in sampled else 0}",
        f"pids_sampled={limits.pids if 'pids' in sampled else 0}",
        f"memory_limit={limits.memory_bytes or 0}",
        f"pids_limit={limits.pids or 0}",
    ]
    for key, values in orders.groups.items():
        parts += [f"{key}={value}" for value in values]
    env = list(map("=".join, orders.env.items()))
    for key, values in (("starter", orders.starter), ("argv", spec.argv), ("env", env)):
        parts += (f"{key}={len(values)}", *values)
    first = f"v=1\0marker={MARKER}={job.id}\0boot={orders.boot}\0job=".encode()
    return first + jsontext.encode(job_to_json(job)) + b"\0" + os.fsencode("\0".join(parts)) + b"\0"


def with_groups(spec: bytes, groups: Mapping[str, Sequence[str]], keys: Sequence[str]) -> bytes:
    """A spec with these orders in place of those that have one of the keys."""
    parts = spec.split(b"\0")
    at = next((at for at, part in enumerate(parts) if part.startswith(b"starter=")), len(parts) - 1)
    dropped = tuple(key.encode() + b"=" for key in keys)
    kept = [part for part in parts[:at] if not part.startswith(dropped)]
    added = [os.fsencode(f"{key}={value}") for key, values in groups.items() for value in values]
    return b"\0".join([*kept, *added, *parts[at:]])


def _ms(duration: timedelta | None) -> int:
    return ms(duration) or 0


def read_small(path: str) -> bytes | None:
    """The whole of a small file; `None` if there is no file, or something else: a FIFO would be waited for, a device never ends."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ELOOP):
            return None
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return None
        data = os.read(fd, _SMALL)
        while len(data) % _SMALL == 0 and (more := os.read(fd, _SMALL)):
            data += more
    finally:
        os.close(fd)
    return data


def read_spec(path: str) -> tuple[Job, str] | None:
    """The job as it was asked for and the boot it belongs to, or `None` if the spec is missing or torn."""
    data = read_small(f"{path}/spec")
    if not data or not data.endswith(b"\0"):
        return None
    found = dict(part.split(b"=", 1) for part in data.split(b"\0", 5)[:5] if b"=" in part)
    try:
        job = job_from_json(jsontext.decode(found[b"job"]))
        check_job(job)
        return job, found[b"boot"].decode()
    except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, BideError):
        return None


def mend_spec(path: str, job: Job) -> None:
    """Put a spec in the place of one that cannot be read. It says what the job is, not how to start it, nor in which boot.

    What stood there is kept as `spec.unreadable`.
    """
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{path}/spec", f"{path}/spec.unreadable")
    first = f"v=1\0marker={MARKER}={job.id}\0boot={BOOT_UNKNOWN}\0job=".encode()
    told.write(f"{path}/spec.tmp", first + jsontext.encode(job_to_json(job)) + b"\0", os.O_CREAT | os.O_TRUNC)
    fd = os.open(f"{path}/spec.tmp", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(f"{path}/spec.tmp", f"{path}/spec")
    sync_folder(path)


def read_env(path: str) -> dict[str, str]:
    """The environment that the job began with; empty if the spec is missing or torn."""
    parts = (read_small(f"{path}/spec") or b"").split(b"\0")
    for at, part in enumerate(parts):
        # It comes last, and says how many follow.
        if _ENV_COUNT.fullmatch(part) and at + int(part[4:]) == len(parts) - 2:
            return dict(os.fsdecode(text).split("=", 1) for text in parts[at + 1 : -1] if b"=" in text)
    return {}


def read_started(path: str) -> Started | None:
    """Who runs; `None` if the gate was never opened."""
    data = read_small(f"{path}/started")
    if not data or not data.endswith(b"\n"):
        return None
    try:
        facts = dict(word.split(b"=", 1) for word in data.split())
        return Started(pid=int(facts[b"pid"]), ticks=int(facts[b"ticks"]), at=instant(int(facts[b"wall"])))
    except (ValueError, KeyError, OverflowError):
        # Damaged, but it was whole once: the program ran, nobody knows as what, and it must not run again.
        return Started(pid=0, ticks=0, at=instant(0))


def read_live(path: str) -> dict[str, Any]:
    """The keeper's page about a running job; empty if there is none yet."""
    for _ in range(3):
        data = read_small(f"{path}/live")
        if not data or not data.startswith(b"{"):
            return {}
        with contextlib.suppress(ValueError):
            return jsontext.decode(data)
    return {}


def read_end(path: str, *, unfinished: bool = False) -> dict[str, Any] | None:
    """The end record. With `unfinished`, one that is complete but was not yet renamed is finished: no keeper may be alive."""
    for name in ("end", "end.tmp") if unfinished else ("end",):
        data = read_small(f"{path}/{name}")
        if data and len(data) >= RECORD and data.startswith(b"{"):
            with contextlib.suppress(ValueError):
                record = jsontext.decode(data)
                if name != "end":
                    os.rename(f"{path}/{name}", f"{path}/end")
                return record
    return None


def set_aside_end(path: str, readable: Callable[[], bool]) -> None:
    """Put an end record that cannot be read out of the way, under another name. One that is there never changes."""
    end = f"{path}/end"
    if os.path.exists(end) and not readable():
        os.rename(end, f"{path}/{UNREADABLE_END}")


def write_end(path: str, record: Mapping[str, Any]) -> None:
    """Record an end that no keeper can record: it never began, or its machine is gone. First writer wins."""
    data = jsontext.encode(record).ljust(RECORD - 1) + b"\n"
    temporary = f"{path}/end.daemon"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        told.write(temporary, data)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        # A keeper that began here had room reserved for this; a job that never had one has no such file.
        temporary = f"{path}/end.tmp"
        if not os.path.exists(temporary):
            raise
        told.write(temporary, data, 0)
    fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    os.fsync(fd)
    os.close(fd)
    try:
        os.link(temporary, f"{path}/end")
    except OSError as error:
        if error.errno in NO_ROOM and not os.path.exists(f"{path}/end"):
            os.rename(temporary, f"{path}/end")  # on some filesystems a link takes an inode
            return
        if error.errno != errno.EEXIST:
            raise
    os.unlink(temporary)


def write_status(path: str, status: int) -> None:
    """Be the witness: how the leader ended, learned by whoever reaped it."""
    temporary = f"{path}/status.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    told.write(temporary, b"%d\n" % status)
    os.rename(temporary, f"{path}/status")


def command(path: str, line: str) -> bool:
    """Tell the keeper something; False if no keeper listens."""
    try:
        fd = os.open(f"{path}/ctl", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, os.fsencode(line) + b"\n")
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def sync_folder(path: str) -> None:
    """Return when the names in a folder are on disk: those of new files, and those after a rename."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def remove(path: str) -> None:
    """Delete the folder with everything in it."""
    shutil.rmtree(path, ignore_errors=True)


def mark_unheld(path: str) -> None:
    """Put on record that nobody held the job's pipes when it ended: what was in them is gone, and nobody knows how much."""
    os.close(os.open(f"{path}/unheld", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def is_unheld(path: str) -> bool:
    """Whether that is on record."""
    return os.path.exists(f"{path}/unheld")


def has_reader(path: str) -> bool:
    """Whether somebody holds the read ends of a job's pipes, as the program itself does."""
    for name in ("out.p", "err.p"):
        try:
            os.close(os.open(f"{path}/{name}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError:
            continue
        except OSError:  # ENXIO: there is none
            return False
    return True


def write_dropped(path: str, at: datetime) -> None:
    """Put on record that the output of an ended job is being dropped."""
    with open(f"{path}/dropped", "wb") as file:
        file.write(dropped_line(at))


def dropped_line(at: datetime) -> bytes:
    """What the file `dropped` says."""
    return b"%d\n" % (at.timestamp() * 1000)


def read_dropped(path: str) -> datetime | None:
    """When the output was dropped; `None` if it was not."""
    data = read_small(f"{path}/dropped")
    if data is None:
        return None
    return instant(int(data)) if data.strip().isdigit() else instant(0)


OUTPUTS = ("out", "err", "in")
"""What an ended job wrote and was given to read."""


def remove_output(path: str) -> None:
    """Delete an ended job's output; the records stay."""
    for name in OUTPUTS:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(f"{path}/{name}")
