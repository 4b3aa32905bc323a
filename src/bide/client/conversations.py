"""RemoteConversations: conversations over the daemon's socket."""

from __future__ import annotations

from bide.client.http1 import quote
from bide.client.transport import Transport
from bide.model.llm.conversation import Conversation, conversation_from_json

_PATH = "/v1/conversations"


class RemoteConversations:
    """Implements beside.Conversations by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Over the connections of a RemoteJobs."""
        self._transport = transport

    async def list(self, *, owner: str | None = None, cli: str | None = None) -> tuple[Conversation, ...]:
        """See beside.Conversations.list."""
        found = await self._transport.call("GET", _PATH, query={"owner": owner, "cli": cli})
        return tuple(conversation_from_json(one) for one in found["conversations"])

    async def get(self, conversation: str, *, owner: str | None = None) -> Conversation:
        """See beside.Conversations.get."""
        path = f"{_PATH}/{quote(conversation)}"
        return conversation_from_json(await self._transport.call("GET", path, query={"owner": owner}))

    async def start(
        self, cli: str, *, owner: str | None = None, title: str = "", active: bool = True, recorded: bool = True
    ) -> Conversation:
        """See beside.Conversations.start. Not asked again if the daemon dies meanwhile."""
        body = {"cli": cli, "owner": owner, "title": title, "active": active, "recorded": recorded}
        return conversation_from_json(await self._transport.call("POST", _PATH, body, again=False))

    async def activate(self, cli: str, conversation: str | None, *, owner: str | None = None) -> None:
        """See beside.Conversations.activate."""
        body = {"cli": cli, "conversation": conversation, "owner": owner}
        await self._transport.call("POST", f"{_PATH}/active", body)

    async def drop(self, conversation: str | None = None, *, cli: str | None = None, owner: str | None = None) -> int:
        """See beside.Conversations.drop."""
        path = _PATH if conversation is None else f"{_PATH}/{quote(conversation)}"
        found = await self._transport.call("DELETE", path, query={"cli": cli, "owner": owner}, again=False)
        return int(found["dropped"])
