"""RemoteEvents: every move of a job, over the socket, and over the death of a daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio

from bide.client.patience import Patience
from bide.client.transport import Streamed, Transport
from bide.model.answers import event_from_json
from bide.model.errors import DaemonUnavailable
from bide.model.event import Event

_PATH = "/v1/events"


class RemoteEvents:
    """Implements api.Events by asking the daemon. If it dies meanwhile, the next one is asked for what came after."""

    def __init__(self, transport: Transport) -> None:
        """Beside the RemoteJobs of the same transport."""
        self._transport = transport

    async def newest(self) -> int:
        """See api.Events.newest."""
        streamed = await self._opened(None, None)
        try:
            async for at, _ in _parts(streamed):
                return at
        finally:
            streamed.close()
        raise DaemonUnavailable(home=self._transport.home, detail="it ended before it answered")

    async def follow(self, *, after: int | None = None, job: str | None = None) -> AsyncIterator[Event]:
        """See api.Events.follow."""
        at = after
        while True:
            streamed = await self._opened(at, job)
            try:
                async for seq, event in _parts(streamed):
                    at = seq
                    if event is not None:
                        yield event
            finally:
                streamed.close()

    async def _opened(self, after: int | None, job: str | None) -> Streamed:
        patience = Patience(self._transport.home)
        patience.progressed()  # each time that a stream begins or ends there was a daemon
        while True:
            try:
                return await self._transport.stream(_PATH, query={"after": after, "job": job})
            except DaemonUnavailable as error:
                await anyio.sleep(patience.pause(error))


async def _parts(streamed: Streamed) -> AsyncIterator[tuple[int, Event | None]]:
    """Where it begins, without an event, and then each event with its number, until the other side is gone."""
    rest = b""
    while data := await streamed.more():
        *parts, rest = (rest + data).split(b"\n\n")
        for part in parts:
            fields = dict(line.split(b": ", 1) for line in part.split(b"\n") if line and not line.startswith(b":"))
            body = fields.get(b"data")
            yield int(fields[b"id"]), None if body is None else event_from_json(json.loads(body))
