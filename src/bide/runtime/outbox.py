"""LocalOutbox: what is due to whom, as one message; and what became of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

import anyio
from msgspec import Struct
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.news import compose
from bide.model.notice import ENDS, Delivery, Item, Level, Message, Outlook, State, Told, in_order, notice, superseded
from bide.model.notify import What
from bide.model.request import KEY_MAX, check_owner
from bide.runtime.consumers import SINK, Consumers
from bide.runtime.core import Core, now
from bide.runtime.extracts import Known, told_of
from bide.runtime.hub import heard
from bide.runtime.sound import with_sound_store

LIMIT = 250
"""How many notices one message has at most."""
ROOM = 4000
"""How many characters of output one message has at most."""
_LOOK_AT = 2000
_LATEST_RETRY = timedelta(days=1)
"""No try is put off for longer."""
_ACT = re.compile(r"[A-Za-z][\w .()]{0,99}", re.ASCII)
"""No act can pose as more than one line of ours."""


class _Wanted(Struct, frozen=True):
    """What of all that is due somebody wants to be told."""

    least: Level
    known: Collection[str]

    def has(self, delivery: Delivery) -> bool:
        return delivery.notice.level >= self.least and delivery.notice.id not in self.known


class LocalOutbox:
    """Implements api.Outbox in this process."""

    def __init__(self, core: Core, consumers: Consumers) -> None:
        """Beside the LocalJobs of the same core."""
        self.core: Core = core
        self.consumers = consumers
        self._taking = anyio.Lock(fast_acquire=True)
        self.delivering: set[str] = set()
        """Sinks that are being handed something."""

    @with_sound_store
    async def pull(
        self,
        consumer: str,
        *,
        carrier: str = "",
        timeout: timedelta | None = timedelta(0),  # noqa: ASYNC109 - the timeout is a result here
        limit: int = LIMIT,
        room: int = ROOM,
        least: Level = Level.AMBIENT,
        known: Collection[str] = (),
    ) -> Message:
        """See api.Outbox.pull."""
        check_owner(consumer)
        if not 0 < limit <= _LOOK_AT or not 0 <= room <= 100_000:
            raise BadRequest(detail=f"a message has 1 to {_LOOK_AT} notices and at most 100000 characters of output")
        if timeout is not None and timeout < timedelta(0):
            raise BadRequest(detail="a timeout cannot be negative; 0 answers at once, null waits for ever")
        until = None if timeout is None else time.monotonic() + timeout.total_seconds()
        wanted, wakes = _Wanted(least, known), _Wanted(max(least, Level.INFO), known)
        while True:
            left = None if until is None else until - time.monotonic()
            is_last = left is not None and left <= 0
            with heard([self.core.keeping.events]) as alarm:
                message = await self._take(consumer, carrier, limit, room, wanted if is_last else wakes)
                if message.items or is_last:
                    return message
                await alarm.wait(left)

    async def _take(self, consumer: str, carrier: str, limit: int, room: int, wanted: _Wanted) -> Message:
        await self.written()
        if not carrier and not self._taking.locked():
            return await self._due(consumer, limit, room, wanted)
        # One at a time, so that nobody else is handed the same.
        async with self._taking:
            await self.written()
            message = await self._due(consumer, limit, room, wanted)
            if message.items and carrier:
                with anyio.CancelScope(shield=True):
                    await self.core.hub.settled(self.core.store.outbox.carry(consumer, message.ids, carrier, now()))
            return message

    async def written(self) -> None:
        """Return when what somebody was told is in the rows."""
        told = self.core.seen.write()
        if told is not None:
            await self.core.hub.settled(told)

    async def _due(self, consumer: str, limit: int, room: int, wanted: _Wanted) -> Message:
        found = self._chosen(consumer, limit, wanted)
        message = await self.message(consumer, found[:limit], room, more=len(found) - limit)
        if not any(item.extract and item.what in ENDS for item in message.items):
            return message
        # Some may have been told elsewhere while output was looked through. Nothing comes between the rows and the return.
        await self.written()
        still = {one.notice.id for one, _ in self._chosen(consumer, limit, wanted)}
        left = tuple(item for item in message.items if item.id in still)
        return message if len(left) == len(message.items) else _message(consumer, left, message.more)

    def _chosen(self, consumer: str, limit: int, wanted: _Wanted) -> list[tuple[Delivery, Job]]:
        found: list[tuple[Delivery, Job]] = []
        # What is watched may be many, and hide what is not.
        for look_at in (2 * limit, _LOOK_AT):
            rows = self.core.store.outbox.due(consumer, now(), look_at)
            found = self.fitting(consumer, [one for one in rows if wanted.has(one)])
            if found or len(rows) < look_at:
                break
        return found

    def fitting(self, consumer: str, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Job]]:
        """Those to be told now, the most severe first; what is not wanted, or no longer so, is dropped for good."""
        fitting: list[tuple[Delivery, Job]] = []
        dropped: list[str] = []
        for one in in_order(deliveries):
            job = self._job(one)
            if job is None or self._is_stale(one, job) or not self.consumers.wants(consumer, one.notice.what, job):
                dropped.append(one.notice.id)
            elif self._is_for(consumer, one, job):
                fitting.append((one, job))
        if dropped:
            self.core.store.outbox.settle(consumer, dropped, State.DROPPED)
        return fitting

    def _is_for(self, consumer: str, one: Delivery, job: Job) -> bool:
        """Whether to tell it at this moment: what its owner watches is told to few others, but what was done to it is."""
        if one.notice.what is What.ACTED or self._is_told_all(consumer):
            return True
        return not self.core.watches.is_watched(job.id) and not self._is_carried(one, job)

    def _is_carried(self, delivery: Delivery, job: Job) -> bool:
        """Whether its owner was just told by an answer: nobody is called unless that turns out not to have arrived."""
        if not delivery.consumer.startswith(SINK):
            return False
        return self.core.store.outbox.state(job.owner, delivery.notice.id) is State.CARRIED

    def _is_told_all(self, consumer: str) -> bool:
        sink = self.consumers.settings.sinks.get(consumer.removeprefix(SINK)) if consumer.startswith(SINK) else None
        return sink.all if sink is not None else consumer in self.consumers.asked

    def _job(self, delivery: Delivery) -> Job | None:
        live = self.core.keeping.table.live.get(delivery.notice.job)
        return live.job if live is not None else self.core.store.get(delivery.notice.job)

    def _is_stale(self, delivery: Delivery, job: Job) -> bool:
        notice = delivery.notice
        if superseded(notice.what, job, waiting=notice.what is What.WAITING and self._asks(job, notice.detail)):
            return True
        if not delivery.consumer.startswith(SINK) or self._is_told_all(delivery.consumer):
            return False
        # Its owner knows already, from an answer: no need to call anybody.
        return self.core.store.outbox.state(job.owner, notice.id) is State.DONE

    def _asks(self, job: Job, question: str) -> bool:
        """Whether a job still asks this question, or, of its own prompt, anything."""
        if question:
            return self.core.asking.is_open(question)
        facts = self.core.with_facts(job).facts
        return facts is not None and facts.waiting is not None

    async def message(self, consumer: str, found: Sequence[tuple[Delivery, Job]], room: int, more: int = 0) -> Message:
        """One message of these."""
        items: list[Item] = []
        known: dict[str, Known] = {}
        for at, (one, job) in enumerate(found):
            facts = known.get(job.id) or known.setdefault(job.id, Known(self.core, job))
            item = await told_of(self.core, job, one.notice, room // max(1, min(len(found) - at, 4)), facts)
            room -= len(item.extract)
            items.append(item)
        return _message(consumer, tuple(items), max(more, 0))

    @with_sound_store
    async def acknowledge(self, consumer: str, notices: Sequence[str]) -> int:
        """See api.Outbox.acknowledge."""
        return await self.core.hub.settled(self.core.store.outbox.settle(check_owner(consumer), notices))

    @with_sound_store
    async def report(self, job: str, act: str, *, by: str, key: str) -> None:
        """See api.Outbox.report."""
        if not _ACT.fullmatch(act) or not 0 < len(key) <= KEY_MAX:
            raise BadRequest(
                detail=f"an act is up to 100 letters, digits, spaces and _ . ( ), and has a key of 1 to {KEY_MAX}"
            )
        found = self.core.find(job)
        said = notice(found, What.ACTED, now(), place=key, detail=f"{act} by {check_owner(by)}")
        await self.consumers.record_act(found, said)

    @with_sound_store
    async def carry(self, consumer: str, notices: Sequence[str], carrier: str) -> int:
        """See api.Outbox.carry."""
        carried = self.core.store.outbox.carry(check_owner(consumer), notices, _checked(carrier), now())
        return await self.core.hub.settled(carried)

    @with_sound_store
    async def settle(self, carrier: str) -> int:
        """See api.Outbox.settle."""
        return await self.core.hub.settled(self.core.store.outbox.settle_carrier(_checked(carrier)))

    @with_sound_store
    async def release(self, carrier: str) -> int:
        """See api.Outbox.release."""
        released = await self.core.hub.settled(self.core.store.outbox.release_carrier(_checked(carrier)))
        self.core.keeping.events.ring()
        return released

    @with_sound_store
    async def list(self) -> tuple[Outlook, ...]:
        """See api.Outbox.list."""
        await self.written()
        found = self.core.store.outbox.outlooks()
        others = {**self.consumers.asked, **self.consumers.sinks}
        names = sorted({*found, *others})
        return tuple(
            replace(found.get(name, Outlook(name)), owner=others.get(name, name), delivering=name in self.delivering)
            for name in names
        )

    async def drain(self, seconds: float) -> dict[str, int]:
        """Wait until every sink has accepted what it is to be told, so long at most; return how many notices each still lacks."""
        end = time.monotonic() + seconds
        while True:
            with heard([self.core.keeping.events]) as alarm:
                await self.written()
                lacking = {sink: len(self._undelivered(sink)) for sink in self.consumers.sinks}
                left = end - time.monotonic()
                if left <= 0 or not any(lacking.values()):
                    return lacking
                await alarm.wait(left)

    def _undelivered(self, sink: str) -> Sequence[object]:
        """Return what a sink is to be told, also what it has in hand and what waits for another try."""
        return self.fitting(sink, self.core.store.outbox.due(sink, now() + _LATEST_RETRY, _LOOK_AT))

    @with_sound_store
    async def subscribe(self, consumer: str, *, owner: str | None = None) -> None:
        """See api.Outbox.subscribe."""
        if check_owner(consumer).startswith(SINK):
            raise BadRequest(detail=f"names that begin with {SINK!r} are for the sinks of config.toml")
        owner = None if owner is None else check_owner(owner)
        await self.core.hub.settled(self.core.store.outbox.subscribe(consumer, owner, now()))
        self.consumers.asked[consumer] = owner

    @with_sound_store
    async def unsubscribe(self, consumer: str) -> bool:
        """See api.Outbox.unsubscribe."""
        self.consumers.asked.pop(check_owner(consumer), None)
        return await self.core.hub.settled(self.core.store.outbox.unsubscribe(consumer))

    def answering(self, asker: str) -> AbstractContextManager[Told]:
        """See api.Outbox.answering."""
        return self.core.watches.answering(asker)

    def told(self, told: Told, *, carrier: str = "") -> None:
        """See api.Outbox.told."""
        if not told.jobs:
            return
        if not carrier:
            self.core.seen.tell(told.asker, told.jobs)
            return
        self.core.keeping.store_ends()
        jobs = dict(told.jobs)
        self.core.watches.hold(jobs)
        future = self.core.store.outbox.tell(told.asker, jobs, carrier, now())
        future.add_done_callback(lambda _: self.core.hub.call_soon(lambda: self.core.watches.release(jobs)))


def _message(consumer: str, items: tuple[Item, ...], more: int) -> Message:
    return Message(consumer, items, compose(items, os.urandom(3).hex(), more), more)


def _checked(carrier: str) -> str:
    if not carrier:
        raise BadRequest(detail="name who carried it; what nobody carried is acknowledged by its id")
    return carrier
