"""Remember which of an owner's jobs were begun by a call that answers with their end, and which of them that call left."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

from bide.model.job import Job
from bide.model.phase import Ended

_MOST = 10_000


class Foreground:
    """The foreground jobs of one owner. Those that a call left go on in the background."""

    def __init__(self) -> None:
        """No call has begun one. What runs from before that is followed by no call, unless one comes again for it."""
        self._since = datetime.now(UTC)
        self._followed: Counter[str] = Counter()
        self._left: OrderedDict[str, None] = OrderedDict()

    @contextmanager
    def following(self, job: str) -> Generator[None]:
        """Count a job as a call's own while inside; after it as left, unless the call was `answered`."""
        self._followed[job] += 1
        self._left[job] = None
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        try:
            yield
        finally:
            self._followed[job] -= 1
            self._followed += Counter()

    def answered(self, job: str) -> None:
        """Take note that the call that began a job answers with its end."""
        self._left.pop(job, None)

    def has_left(self, job: Job) -> bool:
        """Return whether no call follows a foreground job any more, though none has answered with its end."""
        if self._followed[job.id]:
            return False
        return job.id in self._left or (job.created_at < self._since and not isinstance(job.phase, Ended))
