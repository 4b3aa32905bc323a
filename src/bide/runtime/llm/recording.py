"""What is on record of requests beside their jobs: a row each, finished when the job is over, by whichever runtime is there then."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
from msgspec.structs import replace

from bide.keeper import services
from bide.kinds.llm import known
from bide.model.askfacts import AskFacts
from bide.model.errors import JobNotFound
from bide.model.job import Job
from bide.model.llm.answer import Answer
from bide.model.llm.conversation import Conversation
from bide.model.phase import Ended
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.llm import answers
from bide.runtime.llm.records import Records
from bide.runtime.llm.retrying import Retrying
from bide.store.future import Future
from bide.store.llm import RequestRow

log = logging.getLogger(__name__)

FOLDER = "llm"
"""In the home: what was written for requests, and the record of approvals."""
_WITHHELD = 5.0
"""Seconds for which a disk that takes no writes holds up an answer."""


class Recorder:
    """Keeps the rows of requests after their jobs."""

    def __init__(self, core: Core, records: Records, retrying: Retrying) -> None:
        """Told of each request that begins and ends, once it has taken up what is there."""
        self._core = core
        self._records = records
        self._retrying = retrying
        self._written: dict[str, Future[None]] = {}
        """Rows on their way to the disk, by job."""
        self._finishing: dict[str, anyio.Event] = {}
        """Jobs that are over and whose answers are not on record yet."""

    def take_up(self) -> None:
        """Finish what ended while nobody was there, record what no row is there for, and be told of what follows."""
        core = self._core
        rows = self._records.kept
        rows.prune(now() - max(core.settings.retention.keep_unseen, core.settings.llm.keep))
        for job in self._found(rows.unrecorded(list(known.clis()))):
            if job.spec.ask is not None and job.spec.ask.retry_of is not None:
                rows.move(job.spec.ask.retry_of, job.id, job.spec.ask.attempt).result()
        for job in self._found(rows.unrecorded(list(known.clis()))):
            after = services.read_next(core.home.job(job.id))
            if job.spec.ask is not None and (after is None or after.job is None):
                rows.start(_row(job, job.spec.ask, job.spec.ask.correlation_id)).result()
        self._sweep()
        active = core.keeping.table.live
        for job in self._found([ref for ref in rows.unfinished() if ref not in active or active[ref].ended]):
            self._finish_soon(job.id, lambda job=job: self._finish_late(job))
        core.keeping.on_admit.append(self._began)
        core.keeping.on_end.append(self._ended)

    def _found(self, refs: list[str]) -> list[Job]:
        found: list[Job] = []
        for ref in refs:
            with suppress(JobNotFound):
                found.append(self._core.find(ref))
        return found

    async def began(self, job: Job) -> None:
        """Return when the request that began this job is on record."""
        written = self._written.pop(job.id, None)
        if written is not None:
            await self._core.hub.settled(written)

    async def finished(self, job: str) -> None:
        """Return when the answer that this job has given can be read in lists and figures."""
        done = self._finishing.get(job)
        if done is not None:
            with anyio.move_on_after(_WITHHELD):
                await done.wait()

    async def joined(self, job: Job, asked: AskFacts) -> None:
        """Another request is answered by this job; return when it is on record."""
        facts = job.spec.ask
        if facts is None:
            return
        row = _row(job, facts, asked.correlation_id, joined=True)
        await self._core.hub.settled(self._records.start(row, recorded=asked.recorded))
        if isinstance(job.phase, Ended):
            self._finish_soon(job.id, lambda: self._finish(job))

    def _began(self, live: Live) -> None:
        facts = live.job.spec.ask
        if facts is None:
            return
        self._retrying.began(live.job)
        if facts.retry_of is not None:
            self._written[live.job.id] = self._records.move(facts.retry_of, live.job.id, facts.attempt)
        else:
            row = _row(live.job, facts, facts.correlation_id)
            self._written[live.job.id] = self._records.start(row, recorded=facts.recorded)

    def _ended(self, live: Live) -> None:
        facts = live.job.spec.ask
        if facts is None:
            return
        if isinstance(live.job.phase, Ended) and live.job.phase.end.success:
            self.remove(facts.files)
        self._finish_soon(live.job.id, lambda: self._over(live.job))

    def _finish_soon(self, job: str, act: Callable[[], Awaitable[object]]) -> None:
        done = self._finishing[job] = anyio.Event()

        async def finish() -> None:
            try:
                await act()
            finally:
                done.set()
                if self._finishing.get(job) is done:
                    del self._finishing[job]

        self._core.spawn(finish)

    async def _over(self, job: Job) -> None:
        self._retrying.ended(await self._finish(job))

    async def _finish_late(self, job: Job) -> None:
        found = await self._finish(job)
        self._retrying.learn_anew(found.cli)

    async def _finish(self, job: Job) -> Answer:
        facts, found = answers.facts_of(job), await answers.answer(self._core, job)
        if not isinstance(job.phase, Ended):
            return found
        after = self._retrying.successor(found)
        if after is not None:
            await self._pass_on(job, after)
            return found
        self.remove(facts.files)
        at, word = job.phase.ended_at, found.reading.conversation
        said = None if word is None else Conversation(word, found.cli, job.owner, "", job.spec.cwd, at, at)
        if said is not None and word is not None and facts.session is not None:
            said = replace(said, id=facts.session, thread=word)
        await self._records.finish(found, at, said, recorded=facts.recorded)
        self._written.pop(job.id, None)
        return found

    async def _pass_on(self, job: Job, after: Job) -> None:
        """Another attempt is the answer, also to whoever asked while this one was ending."""
        await self._core.hub.settled(self._records.move(job.id, after.id, _attempt(after)))
        if isinstance(after.phase, Ended):
            self._finish_soon(after.id, lambda: self._finish(after))

    def remove(self, files: tuple[str, ...]) -> None:
        """Delete what was written for a request, unless another one that goes on uses it as well."""
        used = _in_use(self._core)
        for path in files:
            if path not in used:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def _sweep(self) -> None:
        """Delete what was written for requests whose end nobody saw."""
        folder = os.path.join(self._core.home.path, FOLDER)
        used = _in_use(self._core)
        with suppress(FileNotFoundError):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if name.startswith("schema-") and path not in used:
                    os.unlink(path)


def _attempt(job: Job) -> int:
    return 1 if job.spec.ask is None else job.spec.ask.attempt


def _in_use(core: Core) -> set[str]:
    lives = [live for live in core.keeping.table.live.values() if not live.ended]
    return {path for live in lives if live.job.spec.ask is not None for path in live.job.spec.ask.files}


def _row(job: Job, facts: AskFacts, correlation_id: str, *, joined: bool = False) -> RequestRow:
    return RequestRow(
        correlation_id=correlation_id,
        job=job.id,
        cli=facts.cli,
        owner=job.owner,
        asked_at=now() if joined else job.created_at,
        joined=joined,
        model=facts.model,
        conversation=facts.conversation,
        prefix_hash=facts.prefix_hash,
        prefix_tokens=facts.prefix_tokens,
        cache_blocks=facts.cache_blocks,
        attempts=facts.attempt,
    )
