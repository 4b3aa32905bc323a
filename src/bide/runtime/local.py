"""LocalJobs: the verbs on this machine, over store, keepers and kinds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from bide import settings
from bide.api import PAGE, READ_LIMIT, Filter, Killed, Page, Ran
from bide.keeper import launch
from bide.model.errors import BadRequest
from bide.model.excerpt import BUDGET, Excerpt
from bide.model.given import check_duration, choice
from bide.model.job import DEFAULT_OWNER, Job
from bide.model.lifetime import Lifetime
from bide.model.llm.answer import Asked
from bide.model.llm.ask import Ask, AskOptions
from bide.model.output import Slice, Stream
from bide.model.request import Request, RunOptions, check_owner
from bide.model.results import check_filter
from bide.model.retention import Collected
from bide.model.until import Until
from bide.model.waiting import Mode, Waited, several
from bide.runtime import (
    ending,
    excerpting,
    groups,
    index,
    leaving,
    lineage,
    noticing,
    pausing,
    ports,
    reading,
    recovery,
    services,
    starting,
    trimming,
    waiting,
)
from bide.runtime.consumers import Consumers
from bide.runtime.core import Core
from bide.runtime.events import LocalEvents
from bide.runtime.home import Home
from bide.runtime.hub import Hub
from bide.runtime.keeping import Keeping
from bide.runtime.lifetimes import Lifetimes
from bide.runtime.outbox import LocalOutbox
from bide.runtime.places import Places
from bide.runtime.questionlife import QuestionLife
from bide.runtime.questions import LocalQuestions
from bide.runtime.queue import Queue
from bide.runtime.renewal import Renewal
from bide.runtime.retention import Retention
from bide.runtime.services import LocalServices
from bide.runtime.sessions import LocalSessions
from bide.runtime.sound import with_sound_store
from bide.stalls import in_turns
from bide.store.faults import DatabaseCorrupt
from bide.store.pages import check_limit
from bide.store.store import Store

if TYPE_CHECKING:
    from bide.runtime.llm.local import LocalLlm

_CHECK_EVERY = 0.1
_PART = 100
_TRIES = 3


class LocalJobs:
    """Implements api.Jobs in this process."""

    def __init__(self, core: Core, consumers: Consumers) -> None:
        """Made by `open_jobs`."""
        self.core: Core = core
        self._checked_at = 0.0
        self.groups: groups.LocalGroups = groups.LocalGroups(core)
        self.events: LocalEvents = LocalEvents(core)
        self.services: LocalServices = LocalServices(core)
        self.sessions: LocalSessions = LocalSessions(core)
        self.outbox: LocalOutbox = LocalOutbox(core, consumers)
        self.question_life: QuestionLife = QuestionLife(core, consumers)
        self.questions: LocalQuestions = LocalQuestions(core, self.question_life)
        self.lifetimes: Lifetimes = Lifetimes(core)
        self.retention: Retention = Retention(core)
        self._llm: LocalLlm | None = None
        if any(live.job.spec.ask is not None for live in core.keeping.table.live.values()) or core.store.owes_answers():
            self.llm  # noqa: B018 - it watches over the requests that it finds

    @property
    def llm(self) -> LocalLlm:
        """LLM command lines; what knows of them is loaded when there is a request, or somebody wants to make one."""
        from bide.runtime.llm.local import LocalLlm  # noqa: PLC0415 - a home without requests does not pay for it

        if self._llm is None:
            self._llm = LocalLlm(self.core)
        return self._llm

    def close(self) -> None:
        """Forget what only this runtime was to know."""
        if self._llm is not None:
            self._llm.close()

    @with_sound_store
    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """See api.Jobs.run."""
        request = Request.asked(command, options)
        self._look_for_room()
        with self._present(request):
            return await starting.run(self.core, request)

    @with_sound_store
    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask."""
        return await self.llm.ask(cli, prompt, **options)

    @with_sound_store
    async def get(self, job: str, *, owner: str | None = None) -> Job:
        """See api.Jobs.get."""
        found = self.core.with_facts(self.core.seen.mark(self.core.find(job, owner)))
        # A tree may have thousands of descriptors to look at.
        return await anyio.to_thread.run_sync(ports.with_ports, self.core, found) if ports.may_listen(found) else found

    @with_sound_store
    async def list(self, where: Filter = Filter(), *, limit: int = PAGE, before: str | None = None) -> Page:
        """See api.Jobs.list."""
        self._look_for_room()
        self.core.store.check()
        self.core.seen.write()
        await self.core.caught_up()
        check_filter(where)
        check_limit(limit)
        where = lineage.resolved(self.core, where)
        live = self.core.keeping.table.live
        found: list[Job] = []
        left = limit
        while True:
            # A part at a time: a large page would keep others waiting.
            page = self.core.store.page(where, min(left, _PART), before)
            async for job in in_turns(page.jobs):
                current = held.job if (held := live.get(job.id)) else job
                if where.phase in (None, current.phase_name):
                    found.append(self.core.with_facts(current))
            left, before = left - _PART, page.next
            if left <= 0 or before is None:
                return Page(tuple(found), before)
            await checkpoint()

    @with_sound_store
    async def wait(
        self,
        jobs: Sequence[str],
        *,
        mode: Mode = Mode.ALL,
        until: Until = Until(),
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> Waited:
        """See api.Jobs.wait."""
        check_duration("timeout", timeout)
        return await waiting.wait(self.core, several(jobs), choice(Mode, "mode", mode), until, timeout)

    @with_sound_store
    async def read(
        self,
        job: str,
        *,
        stream: Stream = Stream.OUT,
        offset: int | None = None,
        limit: int = READ_LIMIT,
        tail: int | None = None,
        grep: str | None = None,
        follow: timedelta | None = None,
    ) -> Slice:
        """See api.Jobs.read."""
        check_duration("follow", follow)
        stream = choice(Stream, "stream", stream)
        if grep is not None:
            return await reading.grep(self.core, job, stream, offset or 0, limit, grep)
        return await reading.read(self.core, job, stream, offset, limit, tail, follow)

    @with_sound_store
    async def excerpt(
        self,
        job: str,
        *,
        stream: Stream | None = None,
        budget: int = BUDGET,
        since: Mapping[Stream, int] | None = None,
    ) -> Excerpt:
        """See api.Jobs.excerpt."""
        named = None if stream is None else choice(Stream, "stream", stream)
        return await excerpting.excerpt(self.core, job, named, budget, since)

    @with_sound_store
    async def send(
        self,
        job: str,
        *,
        data: bytes = b"",
        eof: bool = False,
        signal: int | None = None,
        at: int | None = None,
        key: str | None = None,
        pause: bool | None = None,
    ) -> Job:
        """See api.Jobs.send."""
        if pause is not None:
            await pausing.pause(self.core, job, stopped=pause)
        return await ending.send(self.core, job, data, signal, eof=eof, at=at, key=key)

    @with_sound_store
    async def kill(
        self, job: str, *, signal: int = 15, grace: timedelta = timedelta(seconds=5), by: str = "user"
    ) -> Killed:
        """See api.Jobs.kill."""
        check_duration("grace", grace)
        return await services.kill(self.core, job, signal, grace, by)

    @with_sound_store
    async def forget(self, job: str) -> None:
        """See api.Jobs.forget."""
        await ending.forget(self.core, job)

    @contextlib.asynccontextmanager
    async def attend(self, owner: str) -> AsyncGenerator[None]:
        """See api.Upkeep.attend."""
        with self.lifetimes.attending(check_owner(owner)):
            yield

    @with_sound_store
    async def gc(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """See api.Upkeep.gc."""
        if older_than is not None and not timedelta(0) <= older_than <= settings.LONGEST:
            raise BadRequest(detail="an age is from 0, which forgets every job that is over, to 36500 days")
        return await self.retention.collect(dry_run=dry_run, older_than=older_than, owner=owner)

    def _present(self, request: Request) -> contextlib.AbstractContextManager[None]:
        """Whoever waits for a job that lives with its owner is there."""
        if request.lifetime != Lifetime.OWNER or request.background:
            return contextlib.nullcontext()
        return self.lifetimes.attending(request.owner or DEFAULT_OWNER)

    def _look_for_room(self) -> None:
        """Bring back to disk an index that was built in memory, once the disk has room for it; and the reserve."""
        at = time.monotonic()
        if at < self._checked_at + _CHECK_EVERY:
            return
        self._checked_at = at
        reserve = self.core.home.reserve
        if self.core.store.in_memory and reserve.is_roomy():
            self.core.store.condemn("it was kept in memory while the disk was full")
        reserve.fill()


@contextlib.contextmanager
def _opened(
    place: Home, chosen: settings.Settings, store: Store, *, apart: bool
) -> Generator[tuple[LocalJobs, Consumers]]:
    """The parts of a runtime, with everything that was active taken up; let go of at the end."""
    with contextlib.ExitStack() as parts:
        parts.callback(store.close)
        hub = Hub()
        parts.callback(hub.close)
        keeping = Keeping(place, store, hub, apart=apart)
        parts.callback(lambda: keeping.store.close())  # noqa: PLW0108 - it may be another by then, if it was damaged
        parts.callback(keeping.close)
        renewal = Renewal(place, keeping)
        queue = Queue(keeping, groups.rules(chosen, store.groups()), chosen.queue.waiting)
        parts.callback(queue.close)
        places = Places(place)
        parts.callback(places.close)
        places.load(store)
        consumers = Consumers(keeping, chosen.outbox)
        keeping.leave = lambda live, phase: leaving.leave(places, keeping, live, phase)
        recovery.recover(place, keeping, queue)
        leaving.take_up(places, keeping, store)
        place.reserve.fill()
        core = Core(place, hub, keeping, queue, chosen, places, renewal, store.newest_id())
        trimming.watch(core)
        services.take_up(core)
        jobs = LocalJobs(core, consumers)
        noticing.watch(core, consumers)
        jobs.question_life.serve()
        yield jobs, consumers


async def _index(place: Home) -> Store:
    """Open the index in a thread of its own, which ends with that: nothing of ours is left in the program around us."""
    hub = Hub()
    try:
        with ThreadPoolExecutor(1, "bide-index") as thread:
            return await hub.settled(thread.submit(index.open_index, place))
    finally:
        hub.close()


async def _entered(stack: contextlib.ExitStack, home: str, *, apart: bool) -> tuple[LocalJobs, Consumers]:
    """Open a home. The index is made anew, in a thread, where it cannot be believed, or turns out to be damaged meanwhile."""
    chosen = settings.load(home)
    place = Home(home)
    stack.callback(place.close)
    tries = 0
    while True:
        store = await _index(place)
        tries += 1
        try:
            return stack.enter_context(_opened(place, chosen, store, apart=apart))
        except DatabaseCorrupt:
            if tries == _TRIES:
                raise


@contextlib.asynccontextmanager
async def open_jobs(home: str, *, reaper: bool = False) -> AsyncGenerator[LocalJobs]:
    """Serve a home from this process: recover what was there, and let go of it, running, at the end.

    With `reaper` this process becomes the second witness of its jobs' ends; the daemon does, an embedding program
    should not, since it would inherit orphans it does not know.
    """
    if reaper:
        launch.become_reaper()
    starting.raise_file_limit()
    with contextlib.ExitStack() as stack:
        jobs, consumers = await _entered(stack, home, apart=reaper)
        core = jobs.core
        core.spawn(jobs.retention.run)
        if consumers.sinks:
            from bide.runtime import sinks  # noqa: PLC0415 - most homes have none, and need not pay for HTTP

            sinks.serve(jobs.outbox)
        try:
            yield jobs
        finally:
            jobs.question_life.stop()
            core.seen.write()
            with anyio.CancelScope(shield=True):
                await core.hub.quit()
            jobs.close()
