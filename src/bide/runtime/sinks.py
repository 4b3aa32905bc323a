"""Sinks: who is told of jobs by being called. Each has its rows, its own pace, and is tried until it accepts."""

from __future__ import annotations

import hashlib
import html
import json
import logging
import os
import secrets
from collections.abc import Sequence
from datetime import timedelta

import anyio
import anyio.to_thread

from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.messages import job_to_json
from bide.model.news import called
from bide.model.notice import Delivery, Message, gathered_for, pause_after
from bide.model.outboxforms import message_to_json
from bide.model.outboxsettings import SinkSettings
from bide.model.phase import Ended
from bide.model.request import Request
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.model.words import ended_how
from bide.runtime import ending, starting, waiting, webhook
from bide.runtime.consumers import OWN, SINK
from bide.runtime.core import now
from bide.runtime.hub import heard
from bide.runtime.outbox import LIMIT, ROOM, LocalOutbox

log = logging.getLogger(__name__)

_LOOK_AT = 2000
_COMMAND_SECONDS = timedelta(minutes=5)
_SHOWN = 5


def serve(outbox: LocalOutbox) -> None:
    """Tell every sink of the settings, until the runtime ends."""
    for consumer in outbox.consumers.sinks:
        sink = outbox.consumers.settings.sinks[consumer.removeprefix(SINK)]
        outbox.core.spawn(_Sink(outbox, consumer, sink).run)


class _Sink:
    """One sink."""

    def __init__(self, outbox: LocalOutbox, consumer: str, settings: SinkSettings) -> None:
        self._outbox = outbox
        self._core = outbox.core
        self._consumer = consumer
        self._settings = settings
        self._failing = False

    async def run(self) -> None:
        """Hand over what is due, as it becomes due."""
        await self._resume()
        while True:
            with heard([self._core.keeping.events]) as alarm:
                due = await self._due()
                if not due:
                    await alarm.wait(self._until_retry())
                    continue
            await anyio.sleep(gathered_for((one for one, _ in due), self._settings.gather).total_seconds())
            found = (await self._due())[:LIMIT]
            if found:
                await self._hand_over(found)

    async def _due(self) -> list[tuple[Delivery, Job]]:
        await self._outbox.written()
        rows = self._core.store.outbox.due(self._consumer, now(), _LOOK_AT)
        return self._outbox.fitting(self._consumer, rows)

    def _until_retry(self) -> float | None:
        at = self._core.store.outbox.next_retry(self._consumer)
        left = 0.0 if at is None else (at - now()).total_seconds()
        return left if left > 0 else None

    async def _resume(self) -> None:
        """What was being handed over when the last runtime ended is handed over as it was, under the same name."""
        groups: dict[str, list[Delivery]] = {}
        for one in self._core.store.outbox.carried(self._consumer):
            groups.setdefault(one.carrier, []).append(one)
        for carrier, rows in groups.items():
            found = [(one, job) for one in rows if (job := self._core.store.get(one.notice.job)) is not None]
            await self._deliver(found, carrier)

    async def _hand_over(self, found: Sequence[tuple[Delivery, Job]]) -> None:
        ids = [one.notice.id for one, _ in found]
        carrier = f"{self._consumer}:{_name(ids)}"
        await self._core.hub.settled(self._core.store.outbox.carry(self._consumer, ids, carrier, now()))
        await self._deliver(found, carrier)

    async def _deliver(self, found: Sequence[tuple[Delivery, Job]], carrier: str) -> None:
        message = await self._outbox.message(self._consumer, found, ROOM)
        tries = max((one.tries for one, _ in found), default=0) + 1
        self._outbox.delivering.add(self._consumer)
        try:
            why = await self._accepted(message, carrier.rpartition(":")[2], tries)
        except (BideError, OSError) as error:
            why = str(error)
        finally:
            self._outbox.delivering.discard(self._consumer)
        if not why:
            self._failing = False
            await self._core.hub.settled(self._core.store.outbox.settle_carrier(carrier))
            self._core.keeping.events.ring()  # for who waits until nothing is left to deliver
            return
        if not self._failing:
            log.warning("%s did not accept a message, and is tried again: %s", self._consumer, why)
        self._failing = True
        self._core.store.outbox.release_carrier(carrier)
        again = now() + pause_after(tries, secrets.randbelow(1000) / 1000)
        await self._core.hub.settled(self._core.store.outbox.fail(self._consumer, message.ids, again))

    async def _accepted(self, message: Message, delivery: str, tries: int) -> str:
        """Why not; empty if it was."""
        sink = self._settings
        body = json.dumps({**message_to_json(message), "delivery": delivery}).encode()
        if sink.webhook:
            return await anyio.to_thread.run_sync(
                webhook.post, sink.webhook, sink.secret, delivery, body, abandon_on_cancel=True
            )
        argv = sink.command or _notification(message)
        return await self._run(argv, body if sink.command else b"", f"{self._consumer}:{delivery}:{tries}")

    async def _run(self, argv: str | Sequence[str], data: bytes, key: str) -> str:
        """Run a command as a job: it goes on if we die, and is found again by its key instead of being run twice."""
        request = Request.of(
            argv,
            cwd="/",
            base_env=dict(os.environ),
            owner=OWN,
            label="sink",
            key=key,
            stdin=True,
            background=True,
        )
        job = (await starting.run(self._core, request)).job
        if not isinstance(job.phase, Ended):
            await ending.send(self._core, job.id, data, None, eof=True, at=0)
        waited = await waiting.wait(self._core, [job.id], Mode.ALL, Until(), _COMMAND_SECONDS)
        ended = waited.jobs[0]
        if not isinstance(ended.phase, Ended):
            return f"{job.id} runs on after {_COMMAND_SECONDS.total_seconds():.0f} s"
        return "" if ended.phase.end.success else f"{job.id} {ended_how(job_to_json(ended))}"


def _name(ids: Sequence[str]) -> str:
    """A name for handing over these: the same after a crash."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:16]


def _notification(message: Message) -> list[str]:
    """The command that shows a message on the desktop."""
    worst = message.items[0].level if message.items else "info"
    lines = [f"{called(item)} {item.says}" for item in message.items[:_SHOWN]]
    if len(message.items) > _SHOWN:
        lines.append(f"and {len(message.items) - _SHOWN} more: bide inbox")
    urgency = "critical" if worst in ("error", "critical") else "normal"
    title = lines[0] if len(message.items) == 1 else f"{len(message.items)} jobs have news"
    return ["notify-send", "--app-name=bide", f"--urgency={urgency}", "--", title, html.escape("\n".join(lines))]
