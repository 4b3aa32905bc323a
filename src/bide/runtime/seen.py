"""Which ends somebody was told of: `run`, `wait`, `get` and `read` count, a list does not.

What nobody has seen is kept longest, so a mark may be late or lost, but must cost the callers nothing: that of a job
whose row is about to move goes with it, others are written together, a moment later, without a sync.
"""

from __future__ import annotations

from dataclasses import replace

from bide.model.job import Job
from bide.model.phase import Ended
from bide.runtime.keeping import Keeping

_LINGER = 0.5


class Seen:
    """The marks of one runtime."""

    def __init__(self, keeping: Keeping) -> None:
        """Nothing is marked yet."""
        self._keeping = keeping
        self._marked: set[str] = set()

    def mark(self, job: Job) -> Job:
        """The job, as somebody is being told of it; that counts if it is over."""
        if job.seen or not isinstance(job.phase, Ended):
            return job
        seen = replace(job, seen=True)
        live = self._keeping.table.live.get(job.id)
        if live is not None:
            live.job = seen if live.job is job else replace(live.job, seen=True)
        if live is not None and not live.stored:
            live.seen = True
        else:
            if not self._marked:
                self._keeping.hub.call_later(_LINGER, self.write)
            self._marked.add(job.id)
        return seen

    def write(self) -> None:
        """Write what was marked."""
        marked, self._marked = self._marked, set()
        if marked:
            self._keeping.store.past.mark_seen(sorted(marked))
