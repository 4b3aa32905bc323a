"""RemoteOutbox: the outbox over the daemon's socket."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Generator, Sequence
from datetime import timedelta

from bide.client.http1 import quote
from bide.client.transport import ASKER, Transport
from bide.model.errors import BadRequest
from bide.model.messages import Json
from bide.model.notice import Level, Message, Outlook, Told
from bide.model.outboxforms import message_from_json, outlook_from_json
from bide.model.times import ms


class RemoteOutbox:
    """Implements api.Outbox by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Over the connections of a RemoteJobs."""
        self._transport = transport

    async def pull(
        self,
        consumer: str,
        *,
        carrier: str = "",
        timeout: timedelta | None = timedelta(0),  # noqa: ASYNC109 - the timeout is a result here
        limit: int | None = None,
        room: int | None = None,
        least: Level = Level.AMBIENT,
        known: Collection[str] = (),
    ) -> Message:
        """See api.Outbox.pull.

        Asked again if the daemon dies meanwhile. Only what has come here is in the carrier's hands: what an answer that
        never came had put there would be told to nobody.
        """
        body: Json = {"timeout_ms": ms(timeout), "limit": limit, "room": room}
        body |= {"least": least.name.lower(), "known": list(known)}
        message = message_from_json(await self._transport.call("POST", f"{_path(consumer)}/pull", body))
        if carrier and message.items:
            await self.carry(consumer, message.ids, carrier)
        return message

    async def acknowledge(self, consumer: str, notices: Sequence[str]) -> int:
        """See api.Outbox.acknowledge."""
        body = await self._transport.call("POST", f"{_path(consumer)}/ack", {"notices": list(notices)})
        return body["acknowledged"]

    async def report(self, job: str, act: str, *, by: str, key: str) -> None:
        """See api.Outbox.report."""
        await self._transport.call("POST", "/v1/outbox", {"job": job, "act": act, "by": by, "key": key})

    async def carry(self, consumer: str, notices: Sequence[str], carrier: str) -> int:
        """See api.Outbox.carry."""
        body: Json = {"notices": list(notices), "carrier": carrier}
        return (await self._transport.call("POST", f"{_path(consumer)}/carry", body))["carried"]

    async def settle(self, carrier: str) -> int:
        """See api.Outbox.settle."""
        return (await self._transport.call("POST", f"{_carrier(carrier)}/settle", {}))["acknowledged"]

    async def release(self, carrier: str) -> int:
        """See api.Outbox.release."""
        return (await self._transport.call("POST", f"{_carrier(carrier)}/release", {}))["released"]

    async def list(self) -> tuple[Outlook, ...]:
        """See api.Outbox.list."""
        body = await self._transport.call("GET", "/v1/outbox")
        return tuple(outlook_from_json(one) for one in body["consumers"])

    async def subscribe(self, consumer: str, *, owner: str | None = None) -> None:
        """See api.Outbox.subscribe."""
        await self._transport.call("POST", _path(consumer), {"owner": owner})

    async def unsubscribe(self, consumer: str) -> bool:
        """See api.Outbox.unsubscribe."""
        return (await self._transport.call("DELETE", _path(consumer)))["subscribed"]

    @contextlib.contextmanager
    def answering(self, asker: str) -> Generator[Told]:
        """See api.Outbox.answering. Nothing is collected here: the daemon is told who asks, and counts what it answers."""
        before = ASKER.set(asker)
        try:
            yield Told(asker)
        finally:
            ASKER.reset(before)

    def told(self, told: Told, *, carrier: str = "") -> None:
        """See api.Outbox.told."""


def _path(consumer: str) -> str:
    if not consumer:
        raise BadRequest(detail="a consumer's name cannot be empty; it is an owner, or who has subscribed")
    return f"/v1/outbox/{quote(consumer)}"


def _carrier(carrier: str) -> str:
    if not carrier:
        raise BadRequest(detail="name who carried it; what nobody carried is acknowledged by its id")
    return f"/v1/carriers/{quote(carrier)}"
