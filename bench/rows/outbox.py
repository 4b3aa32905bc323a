"""The outbox: from a durable event to `bide events --follow`, and many events through many consumers."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

import bide
from bench.figures import Figure, Pairs, rounds
from bench.place import Place
from bide.daemon.main import answering
from bide.model.job import Job
from bide.model.notice import notice
from bide.model.notify import What
from bide.runtime.local import LocalJobs

_EVENTS, _CONSUMERS, _CHUNK = 10_000, 10, 250


async def measure(place: Place) -> list[Figure]:
    """Each beside its peer, in the same run."""
    home = place.root / "outbox"
    async with bide.local(home) as jobs, answering(jobs, lambda: None):
        job = (await jobs.run("sleep 600", background=True, owner="bench")).job
        figures = [await _wake(place, jobs, job, home), await _through(place, jobs, job, home)]
        await jobs.kill(job.id)
    return figures


async def _wake(place: Place, jobs: LocalJobs, job: Job, home: Path) -> Figure:
    place.tell("follows events, in turn with a bare round trip over a unix socket")
    words = [str(Path(sys.executable).with_name("bide")), "--home", str(home), "events", "--follow", "--owner", "bench"]
    pairs = Pairs()
    with (
        _Reader() as reader,
        _Echo() as echo,
        subprocess.Popen(words, stdout=reader.stdin) as follower,  # noqa: ASYNC220
    ):
        try:
            for number in rounds(200, seconds=8):
                while not await _waits(jobs, follower.pid):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
                began: list[float] = []
                told = notice(job, What.READY, datetime.now(UTC), place=number)
                record = jobs.core.store.outbox.record([(told, ["bench"])])
                record.add_done_callback(lambda _, began=began: began.append(time.perf_counter()))
                record.add_done_callback(lambda _: jobs.core.hub.call_soon(jobs.core.keeping.events.ring))
                printed = await asyncio.to_thread(reader.printed_at)
                if number:
                    pairs.add((printed - began[0]) * 1e3, echo.round_trip() * 1e3)
        finally:
            follower.kill()
    first, second = pairs.medians
    what, against = "durable event to `bide events --follow`, p50", "bare round trip over a unix socket"
    ratio = pairs.ratio_of_medians
    return Figure("outbox", what, against, "ms", 10, at_most=True, ours=first, theirs=second, ratio=ratio)


async def _waits(jobs: LocalJobs, pid: int) -> bool:
    """Whether all is acknowledged, and the follower sits in recvfrom with its next question asked."""
    if any(one.due for one in await jobs.outbox.list()):
        return False
    asked = bool(jobs.core.keeping.events._alarms)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return asked and Path(f"/proc/{pid}/syscall").read_text().startswith("45 ")


_READS = """
import os, struct, time
while text := os.read(0, 65536):
    at = time.perf_counter()
    while b"--- end" not in text:
        text += os.read(0, 65536)
    os.write(1, struct.pack("d", at))
"""


class _Reader:
    """Whoever reads what the follower prints: a process of its own, as an agent is, which says when it has a message.

    In the daemon's own process it would wait for that to be done with what comes after the answer.
    """

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _READS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None
        self.stdin = self._process.stdin
        return self

    def printed_at(self) -> float:
        """When the next message was there."""
        assert self._process.stdout is not None
        return float(struct.unpack("d", self._process.stdout.read(8))[0])

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class _Echo:
    """The peer: a process that answers each byte, with nothing between."""

    def __enter__(self) -> _Echo:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX)
        code = "import socket,sys; s = socket.socket(fileno=int(sys.argv[1]))\nwhile s.send(s.recv(64)): pass"
        self._peer = subprocess.Popen(
            [sys.executable, "-c", code, str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL
        )
        theirs.close()
        return self

    def round_trip(self) -> float:
        began = time.perf_counter()
        self._ours.send(b"x")
        self._ours.recv(64)
        return time.perf_counter() - began

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._peer.wait()


async def _through(place: Place, jobs: LocalJobs, job: Job, home: Path) -> Figure:
    place.tell(f"tells {_EVENTS} events to {_CONSUMERS} consumers, beside SQLite's own commits")
    names = [f"c{number}" for number in range(_CONSUMERS)]
    for name in names:
        await jobs.outbox.subscribe(name)
    counts = dict.fromkeys(names, 0)

    async def consume(name: str) -> None:
        while counts[name] < _EVENTS:
            message = await jobs.outbox.pull(name, timeout=timedelta(seconds=30))
            counts[name] += await jobs.outbox.acknowledge(name, message.ids)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(consume(name))
        for start in range(0, _EVENTS, _CHUNK):
            made = [notice(job, What.READY, datetime.now(UTC), place=10**6 + start + at) for at in range(_CHUNK)]
            await jobs.core.hub.settled(jobs.core.store.outbox.record([(one, names) for one in made]))
            jobs.core.keeping.events.ring()
    ours = _EVENTS * _CONSUMERS / (time.perf_counter() - began)
    left = sum(one.due for one in await jobs.outbox.list() if one.consumer in names)
    lost = sum(_EVENTS - count for count in counts.values()) + left
    theirs = _commits(home / "peer.db")
    what, against = "events told and acknowledged, 10,000 to 10 consumers", "SQLite's own commits of one row, synced"
    note = "none lost" if not lost else f"{lost} LOST"
    return Figure(
        "outbox", what, against, "/s", 1, at_most=False, ours=ours, theirs=theirs, ratio=ours / theirs, note=note
    )


def _commits(path: Path) -> float:
    found: list[float] = []

    def commit() -> None:
        with sqlite3.connect(path, isolation_level=None) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("CREATE TABLE peer (at TEXT)")
            began = time.perf_counter()
            for number in range(1000):
                connection.execute("INSERT INTO peer VALUES (?)", (str(number),))
            found.append(1000 / (time.perf_counter() - began))

    thread = threading.Thread(target=commit)
    thread.start()
    thread.join()
    return found[0]
