"""Remember how far a client was shown each job's output, so that no answer repeats what an earlier one showed.

The memory lasts as long as the client's connection: a client that connects again may have lost its answers, and is shown
everything again. Explicit reads (an offset, a tail, an expression) show what they name, whatever was shown before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from bide.model.output import Stream

JOBS = 1000
"""Jobs that are remembered of one connection; of others everything is shown again."""
_CONNECTIONS = 256

Offsets = dict[Stream, int]


class Memory:
    """The offsets up to which one connection was shown each job's streams."""

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._jobs: OrderedDict[str, Offsets] = OrderedDict()
        self.prompts: OrderedDict[str, None] = OrderedDict()
        """Ids of the prompts that were shown, which end no wait a second time."""

    def since(self, job: str) -> Offsets:
        """Return the offsets from which a job's output is new."""
        return dict(self._jobs.get(job, {}))

    def add(self, job: str, offsets: Mapping[Stream, int]) -> None:
        """Remember that a job's streams were shown up to these offsets, and forget the job longest unused."""
        known = self._jobs.setdefault(job, {})
        for stream, offset in offsets.items():
            known[stream] = max(known.get(stream, 0), offset)
        self._jobs.move_to_end(job)
        if len(self._jobs) > JOBS:
            self._jobs.popitem(last=False)

    def add_prompts(self, prompts: Iterable[str]) -> None:
        """Remember that these prompts were shown, and forget the oldest."""
        self.prompts.update(dict.fromkeys(prompts))
        while len(self.prompts) > JOBS:
            self.prompts.popitem(last=False)


class Showing:
    """What one call shows: it counts only once the call's answer is complete."""

    def __init__(self, memory: Memory) -> None:
        """Begin a call of the connection with this memory."""
        self._memory = memory
        self._staged: list[tuple[str, Offsets]] = []
        self._prompts: list[str] = []

    def since(self, job: str) -> Offsets:
        """Return the offsets from which a job's output is new to the client."""
        return self._memory.since(job)

    def show(self, job: str, offsets: Mapping[Stream, int]) -> None:
        """Note that the answer shows a job's streams up to these offsets."""
        self._staged.append((job, dict(offsets)))

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts that the client was shown."""
        return (*self._memory.prompts, *self._prompts)

    def show_prompts(self, prompts: Iterable[str]) -> None:
        """Note that the answer shows these prompts."""
        self._prompts += prompts

    def commit(self) -> None:
        """Remember what was noted."""
        self._memory.add_prompts(self._prompts)
        for job, offsets in self._staged:
            self._memory.add(job, offsets)


class Memories:
    """The memory of each connection."""

    def __init__(self) -> None:
        """Start with no connection."""
        self._memories: OrderedDict[str, Memory] = OrderedDict()

    def of(self, connection: str) -> Memory:
        """Return a connection's memory. A connection without a name has none that lasts."""
        if not connection:
            return Memory()
        memory = self._memories.setdefault(connection, Memory())
        self._memories.move_to_end(connection)
        if len(self._memories) > _CONNECTIONS:
            self._memories.popitem(last=False)
        return memory

    def drop(self, connection: str) -> None:
        """Forget what a connection was shown."""
        self._memories.pop(connection, None)
