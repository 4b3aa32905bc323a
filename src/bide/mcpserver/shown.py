"""Remember how far a client was shown each job's output, so that no answer repeats what an earlier one showed.

The memory lasts as long as the client's connection: a client that connects again may have lost its answers, and is shown
everything again. Explicit reads (an offset, a tail, an expression) show what they name, whatever was shown before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bide.model.excerpt import Part
from bide.model.output import Stream

JOBS = 1000
"""Jobs that are remembered of one connection; of others everything is shown again."""
_CONNECTIONS = 256

Offsets = dict[Stream, int]


class Span(Struct, frozen=True):
    """Bytes of a stream that answers were about."""

    next: int
    """Where they end: what comes after is new."""
    start: int = 0
    left: int | None = None
    """The first byte that was left out; none was if there is none."""
    budget: int = 0
    """The tokens among which those were chosen that are shown."""

    def joined(self, other: Span) -> Span:
        """Return what a client was shown after an answer about the other bytes."""
        end = max(self.next, other.next)
        if self.left is None:
            return Span(end, 0, other.left, other.budget)
        if other.start > self.left:
            budget = self.budget if other.left is None else min(self.budget, other.budget)
            return Span(end, 0, self.left, budget)
        if other.left is not None:
            return Span(end, 0, other.left, other.budget)
        return Span(end, 0, None if other.next >= self.next else other.next, self.budget)


def spans_of(parts: Iterable[Part], budget: int) -> dict[Stream, Span]:
    """Return what an excerpt within this budget shows. Of a stream of which it shows nothing, all stays new."""
    return {
        part.stream: Span(part.next, part.start, part.omitted[0][0] if part.omitted else None, budget)
        for part in parts
        if part.pieces or not part.omitted
    }


class Memory:
    """What one connection was shown of each job's streams."""

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._jobs: OrderedDict[str, dict[Stream, Span]] = OrderedDict()
        self.prompts: OrderedDict[str, None] = OrderedDict()
        """Ids of the prompts that were shown, which end no wait a second time."""

    def spans(self, job: str) -> dict[Stream, Span]:
        """Return what was shown of a job's streams."""
        return dict(self._jobs.get(job, {}))

    def add(self, job: str, spans: Mapping[Stream, Span]) -> None:
        """Remember what was shown of a job's streams, and forget the job longest unused."""
        known = self._jobs.setdefault(job, {})
        for stream, span in spans.items():
            known[stream] = known[stream].joined(span) if stream in known else span
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
        self._staged: list[tuple[str, Mapping[Stream, Span]]] = []
        self._prompts: list[str] = []

    def since(self, job: str, budget: int = 0) -> Offsets:
        """Return the offsets from which a job's output is new to the client, or was left out for want of this budget."""
        spans = self._memory.spans(job)
        return {
            stream: span.next if span.left is None or span.budget >= budget else span.left
            for stream, span in spans.items()
        }

    def budget(self, job: str) -> int | None:
        """Return the smallest budget that left something of a job out; `None` where nothing is left out."""
        left = [span.budget for span in self._memory.spans(job).values() if span.left is not None]
        return min(left, default=None)

    def show(self, job: str, spans: Mapping[Stream, Span]) -> None:
        """Note what the answer shows of a job's streams."""
        self._staged.append((job, dict(spans)))

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
        for job, spans in self._staged:
            self._memory.add(job, spans)


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
