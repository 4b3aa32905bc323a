"""LLM command lines as a process within a job may use them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import replace

from bide.model.errors import JobNotFound
from bide.model.llm.ask import Ask, AskOptions
from bide.runtime.confined.rights import Part

if TYPE_CHECKING:
    from bide.model.llm.answer import Answer, Asked
    from bide.model.llm.conversation import Conversation
    from bide.model.llm.programs import Health, Models, Process, Program, Upgrade
    from bide.model.llm.steps import Watched


class ConfinedConversations(Part):
    """Implements beside.Conversations."""

    async def list(self, *, owner: str | None = None, cli: str | None = None) -> tuple[Conversation, ...]:
        """See beside.Conversations.list."""
        return await self._jobs.llm.conversations.list(owner=self._rights.of(owner), cli=cli)

    async def get(self, conversation: str, *, owner: str | None = None) -> Conversation:
        """See beside.Conversations.get."""
        return await self._jobs.llm.conversations.get(conversation, owner=self._rights.of(owner))

    async def start(
        self, cli: str, *, owner: str | None = None, title: str = "", active: bool = True, recorded: bool = True
    ) -> Conversation:
        """See beside.Conversations.start."""
        return await self._jobs.llm.conversations.start(
            cli, owner=self._rights.of(owner), title=title, active=active, recorded=recorded
        )

    async def activate(self, cli: str, conversation: str | None, *, owner: str | None = None) -> None:
        """See beside.Conversations.activate."""
        await self._jobs.llm.conversations.activate(cli, conversation, owner=self._rights.of(owner))

    async def drop(self, conversation: str | None = None, *, cli: str | None = None, owner: str | None = None) -> int:
        """See beside.Conversations.drop."""
        return await self._jobs.llm.conversations.drop(conversation, cli=cli, owner=self._rights.of(owner))


class ConfinedLlm(Part):
    """Implements beside.Llm."""

    @property
    def conversations(self) -> ConfinedConversations:
        """The threads of the owner."""
        return ConfinedConversations(self._jobs, self._rights)

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask."""
        return await self.ask_once(cli if isinstance(cli, Ask) else Ask.of(cli, prompt, **options))

    async def ask_once(self, asked: Ask, key: str | None = None) -> Asked:
        """See beside.Llm.ask_once."""
        found = await self._jobs.llm.ask_once(replace(asked, owner=self._rights.of(asked.owner)), key)
        self._rights.own(found.answer.job.id)
        return found

    async def answer(self, job: str, *, owner: str | None = None) -> Answer:
        """See beside.Llm.answer."""
        return await self._jobs.llm.answer(self._own(job, owner), owner=self._rights.of(owner))

    async def watch(
        self,
        job: str,
        *,
        after: int = 0,
        limit: int = 32,
        wait: timedelta = timedelta(0),
        owner: str | None = None,
    ) -> Watched:
        """See beside.Llm.watch."""
        found = self._own(job, owner)
        return await self._jobs.llm.watch(found, after=after, limit=limit, wait=wait, owner=self._rights.of(owner))

    def _own(self, job: str, owner: str | None) -> str:
        """A request by its id or name; a correlation id means one of the owner's in any case."""
        self._rights.of(owner)
        try:
            return self._rights.own(job).id
        except JobNotFound:
            return job

    async def programs(
        self, cli: str | None = None, *, login: bool = False, env: Mapping[str, str] | None = None
    ) -> tuple[Program, ...]:
        """See beside.Llm.programs."""
        return await self._jobs.llm.programs(cli, login=login, env=env)

    async def health(self) -> tuple[Health, ...]:
        """See beside.Llm.health."""
        return await self._jobs.llm.health()

    async def processes(self, *, owner: str | None = None) -> tuple[Process, ...]:
        """See beside.Llm.processes."""
        return await self._jobs.llm.processes(owner=self._rights.of(owner))

    async def models(self, cli: str | None = None) -> tuple[Models, ...]:
        """See beside.Llm.models."""
        return await self._jobs.llm.models(cli)

    async def upgrade(
        self,
        cli: str,
        target: str | None = None,
        *,
        dry_run: bool = True,
        env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> Upgrade:
        """See beside.Llm.upgrade."""
        return await self._jobs.llm.upgrade(cli, target, dry_run=dry_run, env=env, owner=self._rights.of(owner))

    async def approvals(self, limit: int = 50) -> tuple[dict[str, Any], ...]:
        """See beside.Llm.approvals. They are of all owners, so that a job is not told."""
        del limit
        raise self._rights.refused("what the gate decided is of all owners")

    async def persistence(self, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """See beside.Llm.persistence."""
        return await self._jobs.llm.persistence(env)

    async def metrics(self) -> dict[str, Any]:
        """See beside.Llm.metrics."""
        return await self._jobs.llm.metrics()

    async def cache(
        self, *, conversation: str | None = None, prefix: str | None = None, env: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """See beside.Llm.cache."""
        return await self._jobs.llm.cache(conversation=conversation, prefix=prefix, env=env)
