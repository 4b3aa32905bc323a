"""Which ends somebody was told of: `run`, `wait`, `get` and `read` count, a list does not.

What nobody has seen is kept longest, so a mark may be late or lost, but must cost the callers nothing: that of a job
whose row is about to move goes with it, others are written together, a moment later, without a sync.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from bide.model.job import Job
from bide.model.phase import Ended
from bide.runtime.keeping import Keeping
from bide.runtime.telling import Watches, answer_now
from bide.store.future import Future

_LINGER = 0.5


class Seen:
    """The marks of one runtime."""

    def __init__(self, keeping: Keeping, watches: Watches) -> None:
        """Nothing is marked yet."""
        self._keeping = keeping
        self._watches = watches
        self._marked: set[str] = set()
        self._told: dict[str, dict[str, bool]] = {}
        """Of which jobs each owner was told, and whether they were over."""
        self._written: Future[int] | None = None
        """The last write of what somebody was told: it is done after all before it."""
        self.noticed: set[str] = set()
        """Active jobs of which there is something to tell."""

    def mark(self, job: Job) -> Job:
        """The job, as somebody is being told of it; that counts if it is over."""
        self._tell(job, over=isinstance(job.phase, Ended))
        if job.seen or not isinstance(job.phase, Ended):
            return job
        seen = replace(job, seen=True)
        live = self._keeping.table.live.get(job.id)
        if live is not None:
            live.job = seen if live.job is job else replace(live.job, seen=True)
        if live is not None and not live.stored:
            live.seen = True
        else:
            self._later()
            self._marked.add(job.id)
        return seen

    def _tell(self, job: Job, *, over: bool) -> None:
        if not over and job.id not in self.noticed:
            return
        answer = answer_now()
        if answer is None:
            self.tell(job.owner, {job.id: over})
        else:
            self._watches.tells(answer, job, over=over)

    def tell(self, owner: str, jobs: dict[str, bool]) -> None:
        """An owner was told of these jobs, for certain."""
        if jobs:
            self._later()
            self._told.setdefault(owner, {}).update(jobs)

    def _later(self) -> None:
        if not self._marked and not self._told:
            self._keeping.hub.call_later(_LINGER, self._write_now)

    def _write_now(self) -> None:
        self.write()

    def write(self) -> Future[int] | None:
        """Write what was marked, and return what is done when all that was told so far is in the rows."""
        marked, self._marked = self._marked, set()
        told, self._told = self._told, {}
        if marked:
            self._keeping.store.past.mark_seen(sorted(marked))
        if told:
            # The rows of what is over are made with their moves.
            self._keeping.store_ends()
        for owner, jobs in told.items():
            self._written = self._keeping.store.outbox.tell(owner, jobs, "", datetime.now(UTC))
        if self._written is not None and self._written.done():
            self._written = None
        return self._written
