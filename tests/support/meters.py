"""Programs that say themselves what they use, until they are killed: an outside measurement of a job's usage."""

import struct
import sys
from pathlib import Path

from tests.support.patience import eventually

from bide import Job, Usage
from bide.api import Jobs

MB = 1024 * 1024
SLACK_MS = 15
"""What the shells around the measured programs use themselves."""

_METER = """
import mmap, os, struct, sys, threading, time


def meter(path, written=0):
    if not os.path.exists(path):
        with open(path + ".new", "wb") as file:
            file.truncate(16)
        os.rename(path + ".new", path)
    file = open(path, "r+b")
    return mmap.mmap(file.fileno(), 16)
def burn(path, until=1e9):
    page = meter(path)
    while time.process_time() < until:
        struct.pack_into("d", page, 0, time.process_time())
def write(path, amount):
    with open("/dev/shm/.bide-test-%d" % os.getpid(), "wb", buffering=0) as file:
        os.unlink(file.name)
        for _ in range(amount >> 20):
            file.write(b"x" * (1 << 20))
            file.seek(0)
"""


def meter(body: str) -> str:
    """A shell word that runs Python with a meter at hand."""
    text = (_METER + body).replace("'", "'\\''")
    return f"{sys.executable} -c '{text}'"


def burner(path: Path, until: float = 1e9) -> str:
    """A shell command that uses CPU and says how much, in this file, until it is killed."""
    return meter(f"burn({str(path)!r}, {until})")


def said_ms(*paths: Path) -> float:
    """The CPU time that these burners said they used."""
    return sum(struct.unpack("d", path.read_bytes()[:8])[0] * 1000 for path in paths if path.exists())


def close_to(found: int | None, outside: float) -> bool:
    """Whether a figure of a job is within 5 % of what was measured outside."""
    return found is not None and outside * 0.95 <= found + 5 and found <= outside * 1.05 + SLACK_MS


async def burnt(ms: float, *paths: Path) -> None:
    await eventually(lambda: said_ms(*paths) >= ms)


def usage_of(job: Job) -> Usage:
    assert job.facts is not None
    assert job.facts.usage is not None
    return job.facts.usage


async def counts(jobs: Jobs, job: str, ms: float) -> bool:
    return (usage_of(await jobs.get(job)).cpu_ms or 0) >= ms * 0.97
