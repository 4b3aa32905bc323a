"""Keeps the past within bounds, in the background: the rule is in model/retention.py, the acts are in forgetting.

Small batches, each a short transaction, and a pause after each that is as long as the batch took: at most half of the
time goes into this, and nobody who runs or reads a job waits for more than one batch.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import TypeVar

import anyio
import anyio.to_thread

from bide.keeper import launch
from bide.model.phase import Ended
from bide.model.retention import EVENTS, TOMBSTONE_AGE, TOMBSTONES, Collected, Past, Policy, choose
from bide.runtime import forgetting
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.look import Look, Shelf
from bide.store.faults import DatabaseCorrupt
from bide.store.past import PastRow, Place, Sums

log = logging.getLogger(__name__)

FIRST = 5.0
"""Seconds after the start until the past is first looked at."""
EVERY = 600.0
_SOONEST = 1.0
_BATCH = 50
_PRUNED = 500
_STUCK = 60.0
"""Seconds until the next look under pressure, when one could not make enough room."""

T = TypeVar("T")


class Retention:
    """Looks at the past soon after the start, every ten minutes, and when outputs hold more than they may."""

    def __init__(self, core: Core) -> None:
        """Nothing is done before `run`."""
        self._core = core
        chosen = core.settings.retention
        self._policy = Policy(chosen.keep, chosen.keep_unseen, chosen.bytes, core.settings.llm.keep)
        self._held = 0
        """About what all outputs of ended jobs hold: exact after each look, then counted up."""
        self._pressed = anyio.Event()
        self._due = False
        self._stuck = False
        """There is too much, and nothing of it may go yet."""
        self._one_at_a_time = anyio.Lock()
        core.keeping.table.dropped.append(self._ended)

    async def run(self) -> None:
        """Do it for ever. Raises DatabaseCorrupt where the index must be rebuilt first."""
        await _pause(FIRST, self._pressed)
        while True:
            self._pressed = anyio.Event()
            try:
                await self.collect()
                await self._prune()
            except DatabaseCorrupt:
                raise
            except Exception:
                log.exception("what is over could not be looked through; it is tried again")
            await _pause(EVERY, self._pressed)

    def _ended(self, live: Live) -> None:
        """One more is over. If outputs now hold too much, or jobs are kept for minutes only, look soon."""
        phase = live.job.phase
        if not isinstance(phase, Ended):
            return
        self._held += phase.end.kept_bytes
        ask = live.job.spec.ask
        keep = self._policy.keeps(seen=True, own=None if ask is None else ask.own_time).total_seconds()
        over = self._policy.bytes is not None and self._held > self._policy.bytes
        if (over or keep < EVERY) and not self._due:
            self._due = True
            wait = (_STUCK if self._stuck else _SOONEST) if over else max(keep, _SOONEST)
            self._core.hub.call_later(wait, self._press)

    def _press(self) -> None:
        self._due = False
        self._pressed.set()

    async def collect(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """Look through the past once."""
        policy = self._policy if older_than is None else Policy(older_than, older_than, None)
        async with self._one_at_a_time:
            self._core.seen.write()
            await self._core.caught_up()
            look = Look(policy, now(), dry_run, older_than is not None, owner)
            look.left = await self._sums()
            look.held = look.left.bytes + await _in_thread(self._running_bytes)
            await self._forget_old(look)
            if policy.bytes is not None and look.held > policy.bytes:
                await self._drop_outputs(look)
            if not dry_run:
                look.left = await self._sums()
                self._held = look.left.bytes
                self._stuck = policy.bytes is not None and self._held > policy.bytes
            if look.forgotten or look.dropped:
                log.info("%s", look.told)
            return look.answer()

    async def _sums(self) -> Sums:
        """How many ended jobs there are, and what their outputs hold: also those whose rows wait for room on a full disk."""
        sums = await _in_thread(self._core.store.past.sums)
        for live in self._core.keeping.table.live.values():
            if live.store_due and isinstance(live.job.phase, Ended):
                sums = sums.with_one(live.job.phase.end.kept_bytes, seen=live.seen)
        return sums

    def _running_bytes(self) -> int:
        """What the outputs of active jobs take, without what they dropped."""
        total = 0
        for live in [live for live in list(self._core.keeping.table.live.values()) if not live.store_due]:
            for stream in ("out", "err"):
                try:
                    total += os.stat(os.path.join(live.path, stream)).st_blocks * 512
                except OSError:
                    continue
        return total

    async def _forget_old(self, look: Look) -> None:
        for shelf in look.shelves():
            until = look.at - look.keeps(shelf)
            async for batch in self._batches(look, shelf, until=until):
                choice = choose(batch, look.policy, 0)
                look.alive += [one.id for one in batch if one.alive]
                if choice.forget and not look.dry_run:
                    await forgetting.forget(self._core, [one.id for one in choice.forget], look.at, look.why(shelf))
                look.went(choice)

    async def _drop_outputs(self, look: Look) -> None:
        for shelf in look.shelves():
            since = look.at - look.keeps(shelf) + timedelta(milliseconds=1)
            until = look.at - look.policy.fresh
            async for batch in self._batches(look, shelf, since=since, until=until, with_output=True):
                choice = choose(batch, look.policy, look.held)
                if choice.drop and not look.dry_run:
                    await forgetting.drop_outputs(self._core, [one.id for one in choice.drop], look.at)
                look.went(choice)
                if not choice.over:
                    return

    async def _batches(
        self,
        look: Look,
        shelf: Shelf,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        with_output: bool = False,
    ) -> AsyncIterator[list[Past]]:
        """The ended jobs in the order in which they go, a few at a time, no faster than is bearable."""
        place = Place()
        while True:
            began = time.monotonic()
            rows = await _in_thread(
                lambda after=place: self._core.store.past.page(
                    after,
                    _BATCH,
                    seen=shelf.seen,
                    own=shelf.own,
                    since=since,
                    until=until,
                    with_output=with_output,
                    owner=look.owner,
                )
            )
            if rows:
                yield [_past(row, look, shelf) for row in rows]
            if len(rows) < _BATCH:
                return
            place = rows[-1].place
            await anyio.sleep(time.monotonic() - began)

    async def _prune(self) -> None:
        """Tombstones and events beyond their bounds."""
        past = self._core.store.past
        too_many = await _in_thread(lambda: past.tombstones_until(TOMBSTONES))
        too_old = now() - TOMBSTONE_AGE
        before = too_old if too_many is None else max(too_old, too_many)
        for prune in (
            lambda: past.prune_tombstones(before, _PRUNED),
            lambda: past.prune_events(EVENTS, _PRUNED),
        ):
            pruned = _PRUNED
            while pruned == _PRUNED:
                began = time.monotonic()
                pruned = await self._core.hub.settled(prune())
                await anyio.sleep(time.monotonic() - began)


async def _pause(seconds: float, sooner: anyio.Event) -> None:
    with anyio.move_on_after(seconds):
        await sooner.wait()


async def _in_thread(read: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(read)


def _past(row: PastRow, look: Look, shelf: Shelf) -> Past:
    alive = any(launch.is_alive(one.pid, one.start_ticks) for one in row.survivors)
    own = None if look.asked else shelf.own
    return Past(row.id, look.at - row.ended_at, row.bytes, seen=shelf.seen, alive=alive, name=row.name, own=own)
