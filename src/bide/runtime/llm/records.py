"""The records of requests as one: those on disk, and those of which nothing may be on disk, known until this runtime ends."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from msgspec.structs import replace

from bide.model.llm import caches, conversation, metrics
from bide.model.llm.answer import Answer
from bide.model.llm.caches import Used
from bide.model.llm.conversation import Conversation
from bide.runtime.core import Core
from bide.store.future import Future
from bide.store.llm import LlmRows, RequestRow
from bide.store.memory import Memory

REMEMBERED = 10_000
"""Of so many requests that are not on disk something is known: the newest ones."""
_EVER = datetime.fromtimestamp(0, UTC)


class Records:
    """Rows on disk, and rows in memory once a request wants that."""

    def __init__(self, core: Core) -> None:
        """Nothing is in memory yet."""
        self._core = core
        self._memory: Memory | None = None
        self._passing: LlmRows | None = None
        """What is in memory."""

    def close(self) -> None:
        """Forget what is in memory."""
        if self._memory is not None:
            self._memory.close()

    @property
    def kept(self) -> LlmRows:
        """What is on disk."""
        return self._core.store.llm

    def _both(self) -> tuple[LlmRows, ...]:
        return (self.kept,) if self._passing is None else (self.kept, self._passing)

    def _in_memory(self) -> LlmRows:
        if self._passing is None:
            self._memory = Memory()
            self._passing = LlmRows(self._memory, self._memory)
        return self._passing

    # Requests.

    def start(self, row: RequestRow, *, recorded: bool) -> Future[None]:
        """Record a request, on disk or not."""
        if recorded:
            return self.kept.start(row)
        rows = self._in_memory()
        started = rows.start(row)
        rows.keep_newest(REMEMBERED)
        return started

    def move(self, before: str, after: str, attempts: int) -> Future[None]:
        """What one job was to answer, another will."""
        if self._passing is not None:
            self._passing.move(before, after, attempts)
        return self.kept.move(before, after, attempts)

    async def finish(self, answer: Answer, ended_at: datetime, said: Conversation | None, *, recorded: bool) -> None:
        """Record an answer, and the conversation that it named wherever a request for it is on record."""
        owed = await self._core.hub.settled(self.kept.finish(answer, ended_at))
        if said is not None and (recorded or owed):
            await self._core.hub.settled(self.use(said, recorded=True))
        if self._passing is not None:
            owed = self._passing.finish(answer, ended_at).result()
            if said is not None and owed:
                self.use(said, recorded=False)

    def find(self, correlation_id: str, owner: str | None) -> RequestRow | None:
        """The newest request with this correlation id."""
        found = [row for rows in self._both() if (row := rows.find(correlation_id, owner)) is not None]
        return max(found, key=lambda row: row.asked_at, default=None)

    def used(self, since: datetime, conversation: str | None = None, prefix: str | None = None) -> list[Used]:
        """What requests used, by CLI and model."""
        return caches.together(one for rows in self._both() for one in rows.used(since, conversation, prefix))

    def did(self) -> list[metrics.Did]:
        """How requests ended, by CLI."""
        return metrics.together(one for rows in self._both() for one in rows.did())

    def prefixes(self, since: datetime, conversation: str | None = None) -> tuple[int, int]:
        """How many stable prefixes there were, and in how many requests."""
        found = sum((rows.prefixes(since, conversation) for rows in self._both()), Counter[str]())
        return len(found), found.total()

    # Conversations. One that is active on disk goes before one that is in memory, so that a CLI has one at most.

    def use(self, used: Conversation, *, recorded: bool) -> Future[None]:
        """Record that a conversation was used, on disk or not; the first one of its CLI becomes the active one."""
        rows = self.kept if recorded else self._in_memory()
        leading = [other.active(used.owner, used.cli) for other in self._both() if other is not rows]
        return rows.use(used, may_lead=all(one in (None, used.id) for one in leading))

    def conversations(
        self, owner: str, since: datetime, cli: str | None = None, which: str | None = None
    ) -> list[Conversation]:
        """Those of an owner that were used since a time."""
        kept = self.kept.conversations(owner, since, cli, which)
        if self._passing is None:
            return kept
        passing = [
            replace(one, active=one.active and self.kept.active(owner, one.cli) in (None, one.id))
            for one in self._passing.conversations(owner, since, cli, which)
        ]
        return conversation.together((*kept, *passing))

    async def activate(self, owner: str, cli: str, which: str | None) -> None:
        """Make a conversation the active one of its CLI, or none."""
        if self._passing is not None:
            self._passing.activate(owner, cli, which).result()
        await self._core.hub.settled(self.kept.activate(owner, cli, which))

    async def drop(self, owner: str, cli: str | None, which: str | None) -> int:
        """Forget conversations; how many there were."""
        passing = self._passing
        if passing is None:
            return await self._core.hub.settled(self.kept.drop(owner, cli, which))
        known = [{one.id for one in rows.conversations(owner, _EVER, cli, which)} for rows in self._both()]
        gone = passing.drop(owner, cli, which).result() - len(set[str].intersection(*known))
        return gone + await self._core.hub.settled(self.kept.drop(owner, cli, which))
