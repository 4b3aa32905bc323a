"""LocalConversations: the conversations that answers have named, by owner."""

from __future__ import annotations

import uuid
from datetime import timedelta

from bide.kinds.llm import known
from bide.model.errors import BadRequest, ConversationNotFound
from bide.model.job import DEFAULT_OWNER
from bide.model.llm.ask import NAMED
from bide.model.llm.conversation import Conversation
from bide.runtime.core import Core, now
from bide.runtime.llm.records import Records

KEPT = timedelta(days=30)
"""One that was not used for so long is no longer listed; its CLI may still know it."""


class LocalConversations:
    """Implements beside.Conversations in this process."""

    def __init__(self, core: Core, records: Records) -> None:
        """Over what is on record, on disk or not."""
        self._core = core
        self._records = records

    async def list(self, *, owner: str | None = None, cli: str | None = None) -> tuple[Conversation, ...]:
        """See beside.Conversations.list."""
        if cli is not None:
            known.named(cli)
        return tuple(self._records.conversations(owner or DEFAULT_OWNER, now() - KEPT, cli))

    async def get(self, conversation: str, *, owner: str | None = None) -> Conversation:
        """See beside.Conversations.get."""
        found = self._records.conversations(owner or DEFAULT_OWNER, now() - KEPT, which=conversation)
        if not found:
            raise ConversationNotFound(conversation=conversation)
        return found[0]

    async def start(
        self, cli: str, *, owner: str | None = None, title: str = "", active: bool = True, recorded: bool = True
    ) -> Conversation:
        """See beside.Conversations.start."""
        at = now()
        made = Conversation(f"{NAMED}{uuid.uuid4()}", known.named(cli).name, owner or DEFAULT_OWNER, title, "", at, at)
        await self._core.hub.settled(self._records.use(made, recorded=recorded))
        if active:
            await self.activate(cli, made.id, owner=owner)
        return await self.get(made.id, owner=owner)

    async def activate(self, cli: str, conversation: str | None, *, owner: str | None = None) -> None:
        """See beside.Conversations.activate."""
        if conversation is not None and (found := await self.get(conversation, owner=owner)).cli != cli:
            raise BadRequest(detail=f"session {conversation!r} is one of {found.cli}, not of {cli}; name the right one")
        await self._records.activate(owner or DEFAULT_OWNER, known.named(cli).name, conversation)

    async def drop(self, conversation: str | None = None, *, cli: str | None = None, owner: str | None = None) -> int:
        """See beside.Conversations.drop."""
        return await self._records.drop(owner or DEFAULT_OWNER, cli, conversation)
