"""What processes write, sync, rename and send, in order: the log of recorder.c, and questions to it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from tests.crash import processes
from tests.crash.patience import until
from tests.crash.place import Place

SYNCS = ("fsync", "fdatasync")
WRITES = ("write", "pwrite", "splice", "sendfile", "truncate")
SAYS = ("send", "write")
"""How an answer or a note leaves a process: by a socket."""


@dataclass(slots=True)
class Event:
    """One system call: when it was entered and left, in lines of the log."""

    thread: int
    call: str
    path: str
    other: str
    data: bytes
    entered: int
    left: int | None = None
    result: int = 0

    @property
    def done(self) -> int:
        """The line at which it had succeeded."""
        assert self.left is not None, f"{self} has not returned"
        return self.left

    def __str__(self) -> str:
        """For the message of a failing test."""
        return f"{self.call} {self.path} {self.other} {self.data[:60]!r}"


class Recording:
    """All events of a daemon, its nursery and their keepers from now on."""

    def __init__(self, place: Place, program: Path, log: Path) -> None:
        self.place = place
        self._log = log
        pids = [place.daemon, *processes.children_of(place.daemon)]
        self._tracer = place.world.start([str(program), str(log), *map(str, pids)])
        until(lambda: "ready" in self._lines())
        for line in self._lines():
            if line.startswith("refused"):
                pytest.skip(f"processes may not be traced here: {os.strerror(int(line.split()[1]))}")

    def _lines(self) -> list[str]:
        return self._log.read_text().split("\n")[:-1] if self._log.exists() else []

    def now(self) -> int:
        """Where the log is."""
        return len(self._lines())

    def stop(self) -> None:
        self.place.world.kill(self._tracer)

    def events(self, since: int = 0) -> list[Event]:
        """What began since a place in the log, in order."""
        found: list[Event] = []
        inside: dict[str, Event] = {}
        for number, line in enumerate(self._lines()):
            kind, _, rest = line.partition("\t")
            if kind == "E":
                thread, call, _, path, *more = rest.split("\t")
                other, data = [*more, "", ""][:2]
                event = Event(int(thread), call, path, other, bytes.fromhex(data), number)
                inside[thread] = event
                if number >= since:
                    found.append(event)
            elif kind == "X":
                thread, _, result = rest.split("\t")
                if (event := inside.pop(thread, None)) is not None:
                    event.left, event.result = number, int(result)
        return found


class History:
    """The events of one act, and what must have been on disk before what."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def _all(self, calls: tuple[str, ...], path: str, holding: bytes) -> Iterator[Event]:
        """Those that succeeded, of a path that ends with this (for a rename, the new one)."""
        for event in self.events:
            name = event.other if event.call == "rename" else event.path
            if event.call in calls and name.endswith(path) and holding in event.data and event.result >= 0:
                yield event

    def first(self, calls: str | tuple[str, ...], path: str, holding: bytes = b"") -> Event:
        calls = (calls,) if isinstance(calls, str) else calls
        found = next(self._all(calls, path, holding), None)
        assert found is not None, f"no {'/'.join(calls)} of {path} {holding!r}"
        return found

    def said(self, *words: bytes) -> Event:
        """The first message that has all of these words."""
        for event in self.events:
            if event.call in SAYS and event.path.startswith("socket:") and all(word in event.data for word in words):
                return event
        raise AssertionError(f"nobody said {words}")

    def synced(self, path: str, after: Event) -> Event:
        """The first sync of a file, or a folder, that began after an event was done."""
        for event in self._all(SYNCS, path, b""):
            if event.entered > after.done:
                return event
        raise AssertionError(f"{path} was not synced after {after}")

    def written(self, path: str, holding: bytes = b"") -> Event:
        """The sync of what was first written to a file, and holds this."""
        return self.synced(path, self.first(WRITES, path, holding))

    def committed(self, holding: bytes) -> Event:
        """The sync of the write-ahead log that makes the first transaction with these bytes durable."""
        return self.written("/bide.db-wal", holding)

    def after(self, event: Event) -> "History":
        """What began when this was done."""
        return History([one for one in self.events if one.entered > event.done])


def in_order(*events: Event) -> None:
    """Assert that each was done before the next began."""
    for before, after in pairwise(events):
        assert before.done < after.entered, f"{after} came before {before} was done"
