"""`wait`: for ends and for conditions, event by event. Only a port and a URL, which tell nobody, are tried again."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

from bide.model.errors import BadRequest
from bide.model.expression import Expression
from bide.model.job import Job, JobId
from bide.model.output import Match, Stream
from bide.model.until import Until
from bide.model.waiting import Mode, Waited, check_wait, is_over
from bide.runtime.core import Core
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.readiness import is_ready
from bide.runtime.reading import LineScanner, kept, watching
from bide.runtime.searching import Due
from bide.stalls import held, in_turns

_TRY_EVERY = 0.1
_THEN_EVERY = 2.0
_TRY_FOR = 2.0
_HTTP_OK = range(200, 400)


Condition = Callable[[], Coroutine[Any, Any, str | None]]
"""Returns when it holds; what came instead, if it was something else."""


class _Wait:
    """One wait in progress."""

    def __init__(self, core: Core, mode: Mode) -> None:
        self.core = core
        self.jobs: list[Job] = []
        self.lives: list[Live] = []
        self.mode = mode
        self.over = mode
        """How many must end for the wait to be over."""
        self.met = "timeout"
        self.match: Match | None = None

    async def find(self, refs: list[str]) -> None:
        """Find the jobs. Raises JobNotFound or JobForgotten."""
        found: dict[str, Job] = {}
        lives: dict[JobId, Live] = {}
        async for ref in in_turns(dict.fromkeys(refs)):
            job = found[ref] = self.core.find(ref)
            # At the same instant: it may end before the next is found.
            if (live := self.core.live(job)) is not None:
                lives[job.id] = live
        self.jobs, self.lives = [found[ref] for ref in refs], [*lives.values()]

    def now(self) -> list[Job]:
        held = {live.job.id: live.job for live in self.lives}
        return [held.get(job.id, job) for job in self.jobs]

    async def ended(self) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                if is_over(self.now(), self.over):
                    return
                await alarm.wait()

    async def log(self, wanted: Expression) -> str:
        """What came first. Whatever ended was looked at to its last line before that counts."""
        jobs = {job.id: job for job in self.jobs}.values()
        scanners = [(job, LineScanner(self.core, stream)) for job in jobs for stream in Stream]
        while True:
            with heard([bell for live in self.lives for bell in (live.output, live.changed)]) as alarm:
                over = is_over(self.now(), self.over)
                if await self.core.searches.through(lambda due: self._scan(scanners, wanted, due)):
                    return "log"
                if over:
                    return "ended"
                await alarm.wait()

    def _scan(self, scanners: list[tuple[Job, LineScanner]], wanted: Expression, due: Due) -> bool | None:
        """Go on looking; return whether a line was found, or `None` if there are more to look at."""
        now = {job.id: job for job in self.now()}
        for job, scanner in scanners:
            for line in scanner.lines(now[job.id], partial=True):
                if wanted.is_in(line.line):
                    self.match = line
                    return True
                # A line that is not complete would be looked at again at once, for ever.
                if scanner.offset > line.offset and due():
                    return None
        return False

    async def quiet(self, seconds: float) -> None:
        while True:
            before = self._sizes()
            with anyio.move_on_after(seconds) as scope:
                with heard([live.output for live in self.lives]) as alarm:
                    await alarm.wait()
            if scope.cancelled_caught and self._sizes() == before:
                return

    async def input(self, *, asked: bool) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                now = [self.core.with_facts(job).facts for job in self.now()]
                if any(facts is not None and facts.waiting is not None for facts in now) is asked:
                    return
                await alarm.wait()

    async def question(self, but: tuple[str, ...]) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                if any(row.posed.id not in but for job in self.jobs for row in self.core.asking.of(job.id)):
                    return
                await alarm.wait()

    async def prompt(self, but: tuple[str, ...]) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                facts = [self.core.with_facts(job).facts for job in self.now()]
                shown = [one.question for one in facts if one is not None and one.question is not None]
                if any(posed.typed_at is not None and posed.id not in but for posed in shown):
                    return
                await alarm.wait()

    async def stall(self, *, stalled: bool) -> None:
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                if any(live.stalled and not live.ended for live in self.lives) is stalled:
                    return
                await alarm.wait()

    def check_services(self) -> None:
        for job in self.jobs:
            if job.spec.service is None:
                raise BadRequest(detail=f"job {job.id} is no service, so it is never ready; wait for something else")
        # Who ended is not ready any more: one end is too many for all, and all of them are for any.
        self.over = Mode.ANY if self.mode is Mode.ALL else Mode.ALL

    async def ready(self) -> None:
        enough = all if self.mode is Mode.ALL else any
        while True:
            with heard([live.changed for live in self.lives]) as alarm:
                ready = {live.job.id for live in self.lives if is_ready(live)}
                if enough(job.id in ready for job in self.jobs):
                    return
                await alarm.wait()

    def _sizes(self) -> list[int]:
        return [kept(self.core, job, stream).size for job in self.now() for stream in Stream]


async def accepts(port: int) -> bool:
    """Whether a port of this machine takes a connection."""
    with anyio.move_on_after(_TRY_FOR), contextlib.suppress(OSError):
        await (await anyio.connect_tcp("localhost", port)).aclose()
        return True
    return False


async def answers(url: str) -> bool:
    """Whether a URL answers with a status below 400."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\nUser-Agent: bide\r\n\r\n".encode()
    with (
        anyio.move_on_after(_TRY_FOR),
        contextlib.suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError),
    ):
        async with await anyio.connect_tcp(parts.hostname or "localhost", parts.port or 80) as stream:
            await stream.send(request)
            status = (await stream.receive(64)).split(b" ")[1:2]
            return bool(status) and status[0].isdigit() and int(status[0]) in _HTTP_OK
    return False


async def tried(holds: Callable[[], Awaitable[bool]], eagerly: timedelta | None = None) -> None:
    """Return when it holds; it tells nobody, so it is tried again and again, and less often once eagerness is over."""
    deadline = math.inf if eagerly is None else time.monotonic() + eagerly.total_seconds()
    while not await holds():  # noqa: ASYNC110 - there is no event to wait for
        await anyio.sleep(_TRY_EVERY if time.monotonic() < deadline else _THEN_EVERY)


async def wait(core: Core, refs: list[str], mode: Mode, until: Until, timeout: timedelta | None) -> Waited:  # noqa: ASYNC109
    """Wait until the jobs ended, a condition holds, or the time is up: whichever comes first."""
    check_wait(refs, until)
    wanted = None if until.log is None else await core.searches.compiled(until.log)
    waiting = _Wait(core, mode)
    await waiting.find(refs)
    conditions = _of_jobs(waiting, until)
    if wanted is not None:
        conditions.append(("log", lambda: waiting.log(wanted)))
    if (port := until.port) is not None:
        conditions.append(("port", lambda: tried(lambda: accepts(port))))
    if (url := until.http) is not None:
        conditions.append(("http", lambda: tried(lambda: answers(url))))
    with core.watches.watching(waiting.jobs):
        with anyio.move_on_after(None if timeout is None else timeout.total_seconds()):
            await _first(waiting, conditions)
        # Told while it is still watched, so that nobody else is told of it in between.
        jobs = [core.seen.mark(core.with_facts(job)) async for job in in_turns(waiting.now())]
    return Waited(jobs=tuple(jobs), met=waiting.met, match=waiting.match)


def _of_jobs(waiting: _Wait, until: Until) -> list[tuple[str, Condition]]:
    """Return the conditions that the jobs themselves meet."""
    conditions: list[tuple[str, Condition]] = []
    if (seconds := until.quiet_seconds) is not None:
        conditions.append(("quiet", lambda: waiting.quiet(seconds)))
    if (asked := until.input) is not None:
        conditions.append(("input", lambda: waiting.input(asked=asked)))
    if (stalled := until.stalled) is not None:
        conditions.append(("stalled", lambda: waiting.stall(stalled=stalled)))
    if (but := until.question) is not None:
        conditions.append(("question", lambda: waiting.question(but)))
    if (shown := until.prompt) is not None:
        conditions.append(("prompt", lambda: waiting.prompt(shown)))
    if until.ready:
        waiting.check_services()
        conditions.append(("ready", waiting.ready))
    return conditions


async def _first(waiting: _Wait, conditions: list[tuple[str, Condition]]) -> None:
    if not conditions:
        await waiting.ended()
        waiting.met = "ended"
        return
    errors: list[BadRequest] = []

    async def one(met: str, condition: Condition) -> None:
        try:
            met = await held(f"waiting for {met}", condition()) or met
        except BadRequest as error:
            errors.append(error)  # raised below: the group would wrap it
        if waiting.met == "timeout":
            waiting.met = met
        group.cancel_scope.cancel()

    looks = any(met in ("log", "quiet") for met, _ in conditions)
    with _watched(waiting.lives if looks else []):
        async with anyio.create_task_group() as group:
            for met, condition in conditions:
                group.start_soon(one, met, condition)
            if all(met != "log" for met, _ in conditions):
                await anyio.lowlevel.checkpoint()
                group.start_soon(one, "ended", waiting.ended)
    if errors:
        raise errors[0]


def _watched(lives: list[Live]) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for live in lives:
        stack.enter_context(watching(live))
    return stack
