"""The verbs as a process within a job may use them: for its owner alone, and with the job's name on what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from bide.api import PAGE, READ_LIMIT, Filter, Killed, Page, Ran
from bide.model.excerpt import BUDGET, Excerpt
from bide.model.job import Job
from bide.model.llm.ask import Ask, AskOptions
from bide.model.output import Slice, Stream
from bide.model.owners import PIPE
from bide.model.request import Request, RunOptions
from bide.model.retention import Collected
from bide.model.until import Until
from bide.model.waiting import Mode, Waited, several
from bide.runtime.confined.beside import ConfinedEvents, ConfinedGroups, ConfinedServices, ConfinedSessions
from bide.runtime.confined.llm import ConfinedLlm
from bide.runtime.confined.rights import Rights
from bide.runtime.confined.told import ConfinedOutbox, ConfinedQuestions

if TYPE_CHECKING:
    from bide.model.llm.answer import Asked
    from bide.runtime.local import LocalJobs


class Confined:
    """Implements api.Jobs and api.Upkeep for a process within a job."""

    def __init__(self, jobs: LocalJobs, job: Job) -> None:
        """A view of `jobs`."""
        self._jobs = jobs
        self.rights: Rights = Rights(jobs, job)
        rights = self.rights
        self.groups: ConfinedGroups = ConfinedGroups(jobs, rights)
        self.events: ConfinedEvents = ConfinedEvents(jobs, rights)
        self.services: ConfinedServices = ConfinedServices(jobs, rights)
        self.sessions: ConfinedSessions = ConfinedSessions(jobs, rights)
        self.outbox: ConfinedOutbox = ConfinedOutbox(jobs, rights)
        self.questions: ConfinedQuestions = ConfinedQuestions(jobs, rights)

    @property
    def llm(self) -> ConfinedLlm:
        """LLM command lines."""
        return ConfinedLlm(self._jobs, self.rights)

    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """See api.Jobs.run."""
        ran = await self._jobs.run(self.rights.request(Request.asked(command, options)))
        self.rights.own(ran.job.id)  # the key may be that of another's job
        return ran

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask."""
        return await self.llm.ask(cli, prompt, **options)

    async def get(self, job: str, *, owner: str | None = None) -> Job:
        """See api.Jobs.get."""
        self.rights.of(owner)
        return await self._jobs.get(self.rights.own(job).id)

    async def list(self, where: Filter = Filter(), *, limit: int = PAGE, before: str | None = None) -> Page:
        """See api.Jobs.list."""
        return await self._jobs.list(replace(where, owner=self.rights.of(where.owner)), limit=limit, before=before)

    async def wait(
        self,
        jobs: Sequence[str],
        *,
        mode: Mode = Mode.ALL,
        until: Until = Until(),
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> Waited:
        """See api.Jobs.wait."""
        for job in several(jobs):
            self.rights.own(job)
        return await self._jobs.wait(jobs, mode=mode, until=until, timeout=timeout)

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
        own = self.rights.own(job).id
        return await self._jobs.read(
            own, stream=stream, offset=offset, limit=limit, tail=tail, grep=grep, follow=follow
        )

    async def excerpt(
        self,
        job: str,
        *,
        stream: Stream | None = None,
        budget: int = BUDGET,
        since: Mapping[Stream, int] | None = None,
    ) -> Excerpt:
        """See api.Jobs.excerpt."""
        return await self._jobs.excerpt(self.rights.own(job).id, stream=stream, budget=budget, since=since)

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
        own = self.rights.own(job).id
        return await self._jobs.send(own, data=data, eof=eof, signal=signal, at=at, key=key, pause=pause)

    async def kill(
        self, job: str, *, signal: int = 15, grace: timedelta = timedelta(seconds=5), by: str = ""
    ) -> Killed:
        """See api.Jobs.kill. Who did it is known, whatever `by` says; it tells only whether a pipe of the job's code did."""
        child = self.rights.own(job).parent == self.rights.job.id
        by = PIPE if child and by == PIPE else self.rights.by
        return await self._jobs.kill(job, signal=signal, grace=grace, by=by)

    async def forget(self, job: str) -> None:
        """See api.Jobs.forget."""
        await self._jobs.forget(self.rights.own(job).id)

    def attend(self, owner: str) -> AbstractAsyncContextManager[None]:
        """See api.Upkeep.attend."""
        return self._jobs.attend(self.rights.of(owner))

    async def gc(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """See api.Upkeep.gc. What retention no longer keeps may go whoever asks; the rest, if it is the owner's."""
        owner = None if older_than is None and owner is None else self.rights.of(owner)
        return await self._jobs.gc(dry_run=dry_run, older_than=older_than, owner=owner)
