"""Homes in tests: what serves them, and how everything in them is ended."""

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
from tests.support import processes
from tests.support.patience import PATIENCE, eventually

import bide
from bide import config
from bide.api import Jobs
from bide.daemon.main import answering
from bide.runtime.local import LocalJobs

Door = Callable[[Path], AbstractAsyncContextManager[Jobs]]
"""`local` or `remote`, below."""


CLEANING = 2 * PATIENCE
"""Seconds in which everything in a home must be over, once its test is."""


@asynccontextmanager
async def cleaning(jobs: Jobs) -> AsyncGenerator[None]:
    """End everything in the home at the end, within a bound, also if the test was cancelled."""
    try:
        yield
    finally:
        with anyio.fail_after(CLEANING, shield=True):
            await end_everything(jobs)


async def end_everything(jobs: Jobs) -> None:
    """Kill what runs, and what outlived its job."""
    before = None
    while True:
        page = await jobs.list(limit=500, before=before)
        async with anyio.create_task_group() as group:
            for job in page.jobs:
                if not isinstance(job.phase, bide.Ended) or job.facts is not None:
                    group.start_soon(_kill, jobs, job.id)
        before = page.next
        if before is None:
            return


async def _kill(jobs: Jobs, job: str) -> None:
    await jobs.kill(job, signal=signal.SIGKILL, grace=timedelta(0), by="the end of the test")


def daemon_pid(home: Path) -> int:
    """The process that serves a home."""
    return int((home / "lock").read_text())


async def stop_daemon(home: Path) -> None:
    """End the daemon of a home as `kill` would, if there is one, and wait until it is gone."""
    pid = daemon_pid(home) if (home / "lock").exists() else 0
    if pid and processes.read(pid, "cmdline").endswith(b"--home\0" + os.fsencode(home) + b"\0"):
        processes.end(pid, signal.SIGTERM)
        await eventually(lambda: not processes.is_alive(pid))


async def kill_daemon(home: Path) -> None:
    """End the daemon of a home as a crash would."""
    pid = daemon_pid(home)
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: not processes.is_alive(pid))


@asynccontextmanager
async def local(home: Path) -> AsyncGenerator[Jobs]:
    """The verbs in this process; at the end everything in the home is over and collected."""
    async with bide.local(home) as jobs:
        before = processes.descriptors(home).count(processes.PIDFD)
        async with cleaning(jobs):
            yield jobs
        with anyio.CancelScope(shield=True):
            await eventually(lambda: processes.descriptors(home).count(processes.PIDFD) <= before + config.spares())


@asynccontextmanager
async def served(home: Path) -> AsyncGenerator[Jobs]:
    """The verbs over the socket of this process: what the daemon answers, without its start. It cannot be killed."""
    async with local(home) as jobs:
        assert isinstance(jobs, LocalJobs)
        async with answering(jobs, lambda: None), bide.connect(home) as found:
            yield found


@asynccontextmanager
async def remote(home: Path) -> AsyncGenerator[Jobs]:
    """The verbs over the socket of a daemon of its own; at the end everything in the home is over and collected."""
    async with bide.connect(home) as jobs:
        try:
            async with cleaning(jobs):
                yield jobs
        finally:
            with anyio.fail_after(CLEANING, shield=True):
                await stop_daemon(home)
                await eventually(lambda: not processes.reap())
