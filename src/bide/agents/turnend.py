"""The end of a turn: handles that are active are asked about, waited for or aborted, as their tools say."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
from msgspec import Struct

from bide.agents.acting import ABORT_GRACE
from bide.agents.calls import Response
from bide.agents.handles import Handle, Handles
from bide.api import Jobs
from bide.model import inquiry
from bide.model.fitting import as_json
from bide.model.handles import state_of
from bide.model.inquiry import Outstanding
from bide.model.phase import Running
from bide.model.schema import Json
from bide.model.spawning import ABORT, AWAIT, INQUIRE, Lifecycle

log = logging.getLogger(__name__)

PREVIEW = 400
"""Characters of output that are shown of a handle."""
_LINES = 5

Inquire = Callable[[Json, Json], Awaitable[object]]
"""Asks an assistant: given the question and the schema of its answer, what it answers."""


@dataclass(slots=True)
class TurnEnd:
    """What became of the handles that were active. If there are results, the assistant is to speak again."""

    results: list[Response] = field(default_factory=list[Response])
    """Of those that the assistant chose to wait for, each with the id of the call that spawned it: as `await` tells of them."""
    aborted: list[str] = field(default_factory=list[str])
    """Killed with their trees, verified; or never started, because nobody had permitted them yet."""
    unverified: list[str] = field(default_factory=list[str])
    """Killed, and something of them may be left."""
    left: list[str] = field(default_factory=list[str])
    """These go on, or ended meanwhile; the assistant is told of their ends in a later turn."""


class Policy(Struct, frozen=True):
    """What a tool says about the end of a turn, and who is asked about it."""

    lifecycle: Lifecycle
    inquire: Inquire | None


Found = Sequence[tuple[Handle, Policy]]


class Ending:
    """Ends turns for one agent."""

    def __init__(self, jobs: Jobs, handles: Handles) -> None:
        """Over these handles."""
        self._jobs = jobs
        self._handles = handles

    async def end(self, policy: Callable[[str], Policy]) -> TurnEnd:
        """Do with each active handle as the policy of its tool has it, all at once."""
        done = TurnEnd()
        found = [(handle, policy(handle.tool)) for handle, _ in await self._handles.active()]
        async with anyio.create_task_group() as group:
            for handle, said in found:
                if said.lifecycle.on_turn_end == ABORT:
                    group.start_soon(self._abort, handle, done)
                elif said.lifecycle.on_turn_end == AWAIT:
                    group.start_soon(self._await, handle, said.lifecycle.await_timeout, done)
            for asked in _by_target(one for one in found if one[1].lifecycle.on_turn_end == INQUIRE):
                group.start_soon(self._inquire, asked, done)
        return done

    async def _abort(self, handle: Handle, done: TurnEnd) -> None:
        if handle.held:
            handle.failed("the turn ended before it was permitted, so it was not started")
        await handle.settled.wait()
        if handle.job is None:
            done.aborted.append(handle.id)
            return
        killed = await self._jobs.kill(handle.job, grace=ABORT_GRACE, by=self._handles.owner)
        (done.aborted if killed.verified_empty else done.unverified).append(handle.id)

    async def _await(self, handle: Handle, longest: timedelta, done: TurnEnd) -> None:
        """Nobody is told by this wait: the end is due in the next turn."""
        with anyio.move_on_after(longest.total_seconds()):
            await handle.settled.wait()
            if handle.job is None:
                done.left.append(handle.id)
                return
            async for event in self._jobs.events.follow(after=0, job=handle.job):
                if event.what == "ended":
                    done.left.append(handle.id)
                    return
        await self._abort(handle, done)

    async def _inquire(self, found: Found, done: TurnEnd) -> None:
        asked = [await self._outstanding(handle) for handle, _ in found]
        inquire = found[0][1].inquire
        answer: object = None
        if inquire is not None:
            try:
                answer = await inquire(inquiry.question(asked), inquiry.schema(asked))
            except Exception:  # what was to be decided is left, which loses nothing
                log.exception("the inquiry at the end of a turn failed; its handles go on")
        chosen = inquiry.decided(asked, answer)
        if inquire is not None and any(choice == inquiry.LEAVE for choice in chosen.values()):
            log.warning("the inquiry at the end of a turn was not answered for every handle: %.500r", answer)
        async with anyio.create_task_group() as group:
            for handle, said in found:
                if chosen[handle.id] == inquiry.WAIT:
                    group.start_soon(self._wait, handle, said.lifecycle.wait_timeout, done)
                elif chosen[handle.id] == inquiry.ABORT or handle.held:
                    group.start_soon(self._abort, handle, done)
                else:
                    done.left.append(handle.id)

    async def _wait(self, handle: Handle, longest: timedelta, done: TurnEnd) -> None:
        with anyio.move_on_after(longest.total_seconds()) as waiting:
            await handle.settled.wait()
            if handle.job is not None:
                await self._jobs.wait([handle.job])
        if handle.held:
            await self._abort(handle, done)
        row = await self._handles.row(handle)
        if waiting.cancelled_caught:
            row["timed_out"] = True
            if row["state"] != "stopped":
                done.left.append(handle.id)
        done.results.append(Response(handle.call, handle.tool, as_json(row), is_error="error" in row))

    async def _outstanding(self, handle: Handle) -> Outstanding:
        if handle.job is None:
            elapsed = time.monotonic() - handle.since
            state = await self._handles.state(handle)
            return Outstanding(handle.id, handle.tool, state, elapsed, "waits for permission to start")
        job = await self._jobs.get(handle.job)
        began = job.phase.started_at if isinstance(job.phase, Running) else job.created_at
        written = (await self._jobs.read(job.id, tail=_LINES)).data.decode("utf-8", "replace").strip()
        elapsed = (datetime.now(UTC) - began).total_seconds()
        return Outstanding(handle.id, handle.tool, state_of(job), max(elapsed, 0.0), written[-PREVIEW:])


def _by_target(found: Iterable[tuple[Handle, Policy]]) -> list[Found]:
    """Each target is asked once, for all that it is to decide."""
    grouped: dict[int, list[tuple[Handle, Policy]]] = {}
    for one in found:
        grouped.setdefault(id(one[1].inquire), []).append(one)
    return list(grouped.values())
