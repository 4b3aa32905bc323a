"""The questions that only the assistant can answer, so that no `await` of its own waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from bide.agents.handles import Handle, Handles
from bide.agents.registry import Tools
from bide.model.job import Job
from bide.model.phase import Ended
from bide.model.question import Posed
from bide.model.until import Until


class Asking:
    """Watches handles for questions to the assistant."""

    def __init__(self, handles: Handles, tools: Tools, *, assistant: bool) -> None:
        """With `assistant`, it may answer what a job puts; it may type into a program's own prompt in any case."""
        self._handles = handles
        self._tools = tools
        self._assistant = assistant
        self._going: set[str] = set()
        """The handles that neither stopped nor wait for the assistant."""

    async def asked(self, watched: Sequence[Handle]) -> None:
        """Return when one asks the assistant what it was not shown before, or none goes on without it."""
        self._going = {handle.id for handle in watched}
        async with anyio.create_task_group() as group:

            async def watch(handle: Handle) -> None:
                await self._watch(handle)
                group.cancel_scope.cancel()

            for handle in {handle.id: handle for handle in watched}.values():
                group.start_soon(watch, handle)

    async def _watch(self, handle: Handle) -> None:
        """Return when there is nothing to wait for but the assistant."""
        await handle.settled.wait()
        if handle.job is None:
            return await self._stopped(handle)
        jobs, asked = self._handles.jobs, self._handles.asked
        while True:
            (job,) = (await jobs.wait([handle.job], until=Until(input=True))).jobs
            if isinstance(job.phase, Ended):
                return await self._stopped(handle)
            await self._handles.others.done(job.id)
            posed = [one for one in await jobs.questions.list(job=job.id) if self._is_for_it(handle, job, one)]
            new = [one.id for one in posed if one.id not in asked]
            if new:
                asked.update(new)
                return None
            if posed:
                self._going.discard(handle.id)
                if not self._going:
                    return None
            known = tuple(one.id for one in await jobs.questions.list(job=job.id))
            await jobs.wait([job.id], until=Until(input=False, question=known))
            self._going.add(handle.id)

    async def _stopped(self, handle: Handle) -> None:
        """Return only if what is left waits for the assistant; the condition itself is another's to watch."""
        self._going.discard(handle.id)
        if self._going:
            await anyio.sleep_forever()

    def _is_for_it(self, handle: Handle, job: Job, posed: Posed) -> bool:
        if posed.question.for_people or self._tools.applier(handle.tool) is None:
            return False
        return self._assistant if posed.typed_at is None else job.spec.stdin or job.spec.pty
