"""Being there for an owner, over the socket: an open request that the next daemon gets as well, if one dies."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import anyio

from bide.client.http1 import quote
from bide.client.transport import Streamed, Transport
from bide.model.errors import BideError

_PAUSES = (0.05, 0.2, 1.0, 5.0)
"""Seconds before each new try, when a daemon could not be reached; the last one again and again."""


@contextlib.asynccontextmanager
async def attending(transport: Transport, owner: str) -> AsyncGenerator[None]:
    """While inside, we are there."""
    path = f"/v1/owners/{quote(owner)}/attend"
    held = _Held(transport, path, await transport.stream(path))
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(held.hold)
            # What is raised inside is raised outside as it is, not as part of a group.
            try:
                yield
            except Exception as error:  # noqa: BLE001 - it is raised again below
                failure = error
            group.cancel_scope.cancel()
    finally:
        held.attendance.close()
    if failure is not None:
        raise failure


class _Held:
    """The connection of this moment."""

    def __init__(self, transport: Transport, path: str, attendance: Streamed) -> None:
        self._transport = transport
        self._path = path
        self.attendance = attendance

    async def hold(self) -> None:
        """Be there again, each time that a daemon goes away."""
        while True:
            await self.attendance.over()
            self.attendance.close()
            await self._come_back()

    async def _come_back(self) -> None:
        tries = 0
        while True:
            try:
                self.attendance = await self._transport.stream(self._path)
            except BideError:
                await anyio.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
                tries += 1
            else:
                return
