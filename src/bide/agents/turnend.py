"""The end of a turn: handles that are active are asked about, waited for or aborted, as their tools say."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
from msgspec import Struct

from bide.agents.acting import ABORT_GRACE
from bide.agents.handles import Handle, Handles
from bide.api import Jobs
from bide.model import inquiry
from bide.model.handles import state_of
from bide.model.inquiry import Outstanding
from bide.model.job import Job
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

    results: list[Json] = field(default_factory=list[Json])
    """Of those that the assistant chose to wait for: as `await` tells of them."""
    aborted: list[str] = field(default_factory=list[str])
    """Killed with their trees, verified."""
    unverified: list[str] = field(default_factory=list[str])
    """Killed, and something of them may be left."""
    left: list[str] = field(default_factory=list[str])
    """These go on, or ended meanwhile; the assistant is told of their ends in a later turn."""


class Policy(Struct, frozen=True):
    """What a tool says about the end of a turn, and who is asked about it."""

    lifecycle: Lifecycle
    inquire: Inquire | None


Found = Sequence[tuple[Handle, Job, Policy]]


class Ending:
    """Ends turns for one agent."""

    def __init__(self, jobs: Jobs, handles: Handles) -> None:
        """Over these handles."""
        self._jobs = jobs
        self._handles = handles

    async def end(self, policy: Callable[[str], Policy]) -> TurnEnd:
        """Do with each active handle as the policy of its tool has it, all at once."""
        done = TurnEnd()
        found = [(handle, job, policy(handle.tool)) for handle, job in await self._handles.active()]
        async with anyio.create_task_group() as group:
            for handle, job, said in found:
                if said.lifecycle.on_turn_end == ABORT:
                    group.start_soon(self._abort, handle, job, done)
                elif said.lifecycle.on_turn_end == AWAIT:
                    group.start_soon(self._await, handle, job, said.lifecycle.await_timeout, done)
            for asked in _by_target(one for one in found if one[2].lifecycle.on_turn_end == INQUIRE):
                group.start_soon(self._inquire, asked, done)
        return done

    async def _abort(self, handle: Handle, job: Job, done: TurnEnd) -> None:
        killed = await self._jobs.kill(job.id, grace=ABORT_GRACE, by=self._handles.owner)
        (done.aborted if killed.verified_empty else done.unverified).append(handle.id)

    async def _await(self, handle: Handle, job: Job, longest: timedelta, done: TurnEnd) -> None:
        """Nobody is told by this wait: the end is due in the next turn."""
        with anyio.move_on_after(longest.total_seconds()):
            async for event in self._jobs.events.follow(after=0, job=job.id):
                if event.what == "ended":
                    done.left.append(handle.id)
                    return
        await self._abort(handle, job, done)

    async def _inquire(self, found: Found, done: TurnEnd) -> None:
        asked = [await self._outstanding(handle, job) for handle, job, _ in found]
        inquire = found[0][2].inquire
        answer: object = None
        if inquire is not None:
            try:
                answer = await inquire(inquiry.question(asked), inquiry.schema(asked))
            except Exception:  # what was to be decided is left, which loses nothing
                log.exception("the inquiry at the end of a turn failed; its handles go on")
        chosen = inquiry.decided(asked, answer)
        async with anyio.create_task_group() as group:
            for handle, job, said in found:
                if chosen[handle.id] == inquiry.ABORT:
                    group.start_soon(self._abort, handle, job, done)
                elif chosen[handle.id] == inquiry.WAIT:
                    group.start_soon(self._wait, handle, job, said.lifecycle.wait_timeout, done)
                else:
                    done.left.append(handle.id)

    async def _wait(self, handle: Handle, job: Job, longest: timedelta, done: TurnEnd) -> None:
        await self._jobs.wait([job.id], timeout=longest)
        row = await self._handles.row(handle)
        if row["state"] != "stopped":
            row["timed_out"] = True
            done.left.append(handle.id)
        done.results.append(row)

    async def _outstanding(self, handle: Handle, job: Job) -> Outstanding:
        job = await self._jobs.get(job.id)
        began = job.phase.started_at if isinstance(job.phase, Running) else job.created_at
        written = (await self._jobs.read(job.id, tail=_LINES)).data.decode("utf-8", "replace").strip()
        elapsed = (datetime.now(UTC) - began).total_seconds()
        return Outstanding(handle.id, handle.tool, state_of(job), max(elapsed, 0.0), written[-PREVIEW:])


def _by_target(found: Iterable[tuple[Handle, Job, Policy]]) -> list[Found]:
    """Each target is asked once, for all that it is to decide."""
    grouped: dict[int, list[tuple[Handle, Job, Policy]]] = {}
    for one in found:
        grouped.setdefault(id(one[2].inquire), []).append(one)
    return list(grouped.values())
