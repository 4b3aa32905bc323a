"""RemoteGroups: groups over the daemon's socket."""

from __future__ import annotations

from bide.api import Group
from bide.client.http1 import quote
from bide.client.transport import Transport
from bide.model.errors import BadRequest
from bide.model.messages import Json


class RemoteGroups:
    """Implements api.Groups by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Over the connections of a RemoteJobs."""
        self._transport = transport

    async def list(self) -> tuple[Group, ...]:
        """See api.Groups.list."""
        body = await self._transport.call("GET", "/v1/groups")
        return tuple(Group(**group) for group in body["groups"])

    async def limit(self, group: str | None, most: int | None) -> Group:
        """See api.Groups.limit."""
        return await self._change(group, {"limit": most})

    async def pause(self, group: str | None) -> Group:
        """See api.Groups.pause."""
        return await self._change(group, {"paused": True})

    async def resume(self, group: str | None) -> Group:
        """See api.Groups.resume."""
        return await self._change(group, {"paused": False})

    async def _change(self, group: str | None, body: Json) -> Group:
        if group == "":
            raise BadRequest(detail="a group's name cannot be empty; leave it out for all jobs")
        path = "/v1/groups" if group is None else f"/v1/groups/{quote(group)}"
        return Group(**await self._transport.call("POST", path, body))
