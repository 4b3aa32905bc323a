"""Peers that ask for everything and read nothing: memory stays bounded, and others are answered."""

import os
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.support import homes

from bide.api import READ_LIMIT, Jobs

MIB = 1024 * 1024
SIZE = 32 * MIB
FORMS = [
    "/v1/jobs/{job}/output?limit=999999999",
    "/v1/jobs/{job}/output?tail=99999999&limit=999999999",
    "/v1/jobs/{job}/output?grep=.&limit=999999999",
    "/v1/jobs/{job}/output?stream=err&grep=x&limit=999999999",
    "/v1/jobs/{binary}/output?grep=a*",
    "/v1/jobs/{binary}/output?stream=err&grep=a*",
    "/v1/jobs/{job}/output?follow_ms=1000&limit=999999999",
    "/v1/jobs/{job}/follow",
    "/v1/jobs/{job}/follow?tail=99999999",
]
OUTPUT = f"yes 'a line of output' | head -c {SIZE}; head -c {SIZE} /dev/zero | tr '\\0' '\\1' >&2; printf x >&2"
BINARY = f"head -c {SIZE} /dev/zero | tr '\\0' '\\377'; head -c {SIZE} /dev/zero >&2"
"""No lines, and much longer as JSON."""


@contextmanager
def greedy(home: Path, path: str) -> Generator[socket.socket]:
    """A peer that asks, and reads nothing."""
    folder = os.open(home, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as peer:
        try:
            peer.connect(f"/proc/self/fd/{folder}/bide.sock")
        finally:
            os.close(folder)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        peer.sendall(f"GET {path} HTTP/1.1\r\nHost: bide\r\n\r\n".encode() * 4)
        yield peer


def memory(pid: int) -> int:
    """The memory that a process has now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("readers", [6, pytest.param(30, marks=pytest.mark.slow)])
async def test_peers_that_read_nothing_take_little_memory_and_starve_nobody(home: Path, readers: int) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run(OUTPUT)).job.id
        binary = (await jobs.run(BINARY)).job.id
        await everything(jobs, job)
        pid = homes.daemon_pid(home)
        for form in FORMS:
            before = most = memory(pid)
            with ExitStack() as peers:
                for _ in range(readers):
                    peers.enter_context(greedy(home, form.format(job=job, binary=binary)))
                for _ in range(8):
                    assert (await jobs.get(job)).id == job
                    most = max(most, memory(pid))
                assert await everything(jobs, job) == SIZE
                most = max(most, memory(pid))
            assert most - before < 100 * MIB, form


async def everything(jobs: Jobs, job: str) -> int:
    """Read all of a job's output, as whoever goes on from `next`."""
    size = 0
    while True:
        piece = await jobs.read(job, offset=size, limit=1 << 40)
        assert len(piece.data) <= READ_LIMIT
        size = piece.next
        if piece.eof:
            return size


async def test_a_search_that_finds_much_goes_on_from_next(home: Path) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run("seq 100000")).job.id
        lines: list[bytes] = []
        at = 0
        while True:
            piece = await jobs.read(job, grep=".", offset=at, limit=1 << 40)
            lines += [match.line for match in piece.matches]
            at = piece.next
            if piece.eof:
                break
        assert lines == [b"%d" % number for number in range(1, 100_001)]
