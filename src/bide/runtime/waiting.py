"""`wait`: for ends and for conditions, event by event. Only a port and a URL, which tell nobody, are tried again."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

from bide.model.job import Job
from bide.model.output import Match, Stream
from bide.model.until import Until
from bide.model.waiting import Mode, Waited, check_wait, is_over
from bide.runtime.core import Core, heard
from bide.runtime.live import Live
from bide.runtime.reading import LineScanner, compile_pattern, kept, watching

_TRY_EVERY = 0.1
_TRY_FOR = 2.0
_HTTP_OK = range(200, 400)


class _Wait:
    """One wait in progress."""

    def __init__(self, core: Core, jobs: list[Job], mode: Mode) -> None:
        self.core = core
        self.jobs = jobs
        self.mode = mode
        self.lives = [live for job in jobs if (live := core.live(job)) is not None]
        self.met = "timeout"
        self.match: Match | None = None

    def now(self) -> list[Job]:
        held = {live.job.id: live.job for live in self.lives}
        return [held.get(job.id, job) for job in self.jobs]

    async def ended(self) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as event:
                if is_over(self.now(), self.mode):
                    return
                await event.wait()

    async def log(self, wanted: re.Pattern[bytes]) -> None:
        scanners = [(job, LineScanner(self.core, stream)) for job in self.jobs for stream in Stream]
        while True:
            with heard([bell for live in self.lives for bell in (live.output, live.changed)]) as event:
                if self._scan(scanners, wanted):
                    return
                await event.wait()

    def _scan(self, scanners: list[tuple[Job, LineScanner]], wanted: re.Pattern[bytes]) -> bool:
        now = {job.id: job for job in self.now()}
        for job, scanner in scanners:
            for line in scanner.lines(now[job.id], partial=True):
                if wanted.search(line.line):
                    self.match = line
                    return True
        return False

    async def quiet(self, seconds: float) -> None:
        while True:
            before = self._sizes()
            with anyio.move_on_after(seconds) as scope:
                with heard([live.output for live in self.lives]) as event:
                    await event.wait()
            if scope.cancelled_caught and self._sizes() == before:
                return

    async def input(self, *, asked: bool) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as event:
                now = [self.core.with_facts(job).facts for job in self.now()]
                if any(facts is not None and facts.waiting is not None for facts in now) is asked:
                    return
                await event.wait()

    def _sizes(self) -> list[int]:
        return [kept(self.core, job, stream).size for job in self.now() for stream in Stream]


async def _port(port: int) -> None:
    while True:
        with anyio.move_on_after(_TRY_FOR):
            try:
                await (await anyio.connect_tcp("localhost", port)).aclose()
            except OSError:
                pass
            else:
                return
        await anyio.sleep(_TRY_EVERY)


async def _http(url: str) -> None:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\nUser-Agent: bide\r\n\r\n".encode()
    while True:
        with anyio.move_on_after(_TRY_FOR):
            try:
                async with await anyio.connect_tcp(parts.hostname or "localhost", parts.port or 80) as stream:
                    await stream.send(request)
                    status = (await stream.receive(64)).split(b" ")[1:2]
                    if status and status[0].isdigit() and int(status[0]) in _HTTP_OK:
                        return
            except (OSError, anyio.EndOfStream, anyio.BrokenResourceError):
                pass
        await anyio.sleep(_TRY_EVERY)


async def wait(core: Core, refs: list[str], mode: Mode, until: Until, timeout: timedelta | None) -> Waited:  # noqa: ASYNC109
    """Wait until the jobs ended, a condition holds, or the time is up: whichever comes first."""
    check_wait(refs, until)
    wanted = None if until.log is None else compile_pattern(until.log)
    waiting = _Wait(core, [core.find(ref) for ref in refs], mode)
    conditions: list[tuple[str, Callable[[], Awaitable[None]]]] = []
    if wanted is not None:
        conditions.append(("log", lambda: waiting.log(wanted)))
    if (port := until.port) is not None:
        conditions.append(("port", lambda: _port(port)))
    if (url := until.http) is not None:
        conditions.append(("http", lambda: _http(url)))
    if (seconds := until.quiet_seconds) is not None:
        conditions.append(("quiet", lambda: waiting.quiet(seconds)))
    if (asked := until.input) is not None:
        conditions.append(("input", lambda: waiting.input(asked=asked)))
    with anyio.move_on_after(None if timeout is None else timeout.total_seconds()):
        await _first(waiting, conditions)
    return Waited(jobs=tuple(core.with_facts(job) for job in waiting.now()), met=waiting.met, match=waiting.match)


async def _first(waiting: _Wait, conditions: list[tuple[str, Callable[[], Awaitable[None]]]]) -> None:
    if not conditions:
        await waiting.ended()
        waiting.met = "ended"
        return

    async def one(met: str, condition: Callable[[], Awaitable[None]]) -> None:
        await condition()
        if waiting.met == "timeout":
            waiting.met = met
        group.cancel_scope.cancel()

    with _watched(waiting.lives):
        async with anyio.create_task_group() as group:
            # A line that is already there counts even if the job is over by now.
            for met, condition in conditions:
                group.start_soon(one, met, condition)
            await anyio.lowlevel.checkpoint()
            group.start_soon(one, "ended", waiting.ended)


def _watched(lives: list[Live]) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for live in lives:
        stack.enter_context(watching(live))
    return stack
