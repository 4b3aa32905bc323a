"""Ended jobs as retention needs them: in the order in which they go, by a connection of its own.

Its reads may take a while (a sum over a million jobs) and are made for threads: nobody who reads a job waits for them.
Its writes are a few statements for many jobs, so that they hold the writer for some milliseconds at a time.
"""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from bide.model.messages import descendants_from_json
from bide.model.phase import Descendant, Ended
from bide.store import moves
from bide.store.future import Future
from bide.store.queries import QUERIES
from bide.store.reader import Reader, same
from bide.store.rows import Row, Values, from_ms, phase_values, to_ms
from bide.store.writer import Writer


class Place(Struct, frozen=True):
    """Where in the order to go on: after the job of this time, size and number."""

    at: int = -1
    bytes: int = -1
    seq: int = -1


class PastRow(Struct, frozen=True):
    """An ended job."""

    place: Place
    id: str
    name: str | None
    ended_at: datetime
    bytes: int
    survivors: tuple[Descendant, ...]


class Sums(Struct, frozen=True):
    """How many ended jobs there are, and what their outputs hold, by whether they were seen."""

    seen: int = 0
    unseen: int = 0
    seen_bytes: int = 0
    unseen_bytes: int = 0
    own: tuple[timedelta, ...] = ()
    """The times of their own that some of them have, the shortest first."""

    @property
    def bytes(self) -> int:
        """What all of them hold."""
        return self.seen_bytes + self.unseen_bytes

    def with_one(self, size: int, *, seen: bool) -> "Sums":
        """Return the sums with one more job, whose output holds so much."""
        if seen:
            return replace(self, seen=self.seen + 1, seen_bytes=self.seen_bytes + size)
        return replace(self, unseen=self.unseen + 1, unseen_bytes=self.unseen_bytes + size)


class PastJobs:
    """The ended jobs of one store."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        """Made by the store, with a reader that nobody else uses."""
        self._writer = writer
        self._reader = reader

    def sums(self) -> Sums:
        """How many there are, and what they hold."""
        rows = self._reader.rows(QUERIES["past_sums"], {}, same)
        (unseen, unseen_bytes), (seen, seen_bytes) = (
            (sum(row[2] for row in rows if row[1] == mark), sum(row[3] for row in rows if row[1] == mark))
            for mark in (0, 1)
        )
        own = sorted({keep for keep, *_ in rows if keep is not None})
        return Sums(seen, unseen, seen_bytes, unseen_bytes, tuple(timedelta(milliseconds=keep) for keep in own))

    def page(
        self,
        place: Place,
        limit: int,
        *,
        seen: bool,
        own: timedelta | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_output: bool = False,
        owner: str | None = None,
    ) -> list[PastRow]:
        """The next ones after a place, the oldest first: of those with this time of their own, or none, that ended between two times, both included."""
        values: Values = {
            "seen": int(seen),
            "keep": None if own is None else own // timedelta(milliseconds=1),
            "since": -1 if since is None else to_ms(since),
            "until": (1 << 62) if until is None else to_ms(until),
            "least": int(with_output),
            "owner": owner,
            "after_at": place.at,
            "after_bytes": place.bytes,
            "after_seq": place.seq,
            "limit": limit,
        }
        return self._reader.rows(QUERIES["past_jobs"], values, _to_past)

    def forget(self, ids: Sequence[str], at: datetime, why: str, ends: Sequence[tuple[str, Ended]] = ()) -> Future[int]:
        """Replace these ended jobs by tombstones; how many there were. `ends` are of those whose rows may not say yet that they ended."""
        values: Values = {"ids": json.dumps(list(ids)), "at": to_ms(at), "why": why}
        moved = [{"id": job, **phase_values(ended)} for job, ended in ends]

        def act(connection: sqlite3.Connection) -> int:
            for one in moved:
                moves.move(connection, "end_job", one)
            return moves.forget(connection, values)

        return self._writer.submit(act)

    def drop_outputs(self, ids: Sequence[str], at: datetime) -> Future[int]:
        """Say that the outputs of these ended jobs are gone."""
        return self._change("drop_outputs", {"ids": json.dumps(list(ids)), "at": to_ms(at)})

    def mark_seen(self, ids: Sequence[str]) -> Future[int]:
        """Say that somebody was told how these jobs ended. Not synced: what is lost is kept longer."""
        return self._change("mark_seen", {"ids": json.dumps(list(ids))}, lazy=True)

    def prune_events(self, most: int, limit: int) -> Future[int]:
        """Remove events beyond the newest `most`, at most `limit` at a time; how many were removed."""
        return self._change("prune_events", {"most": most, "limit": limit}, lazy=True)

    def prune_tombstones(self, before: datetime, limit: int) -> Future[int]:
        """Remove tombstones made before a time, at most `limit` at a time; how many were removed."""
        return self._change("prune_tombstones", {"at": to_ms(before), "limit": limit}, lazy=True)

    def tombstones_until(self, most: int) -> datetime | None:
        """The time before which tombstones are too many; `None` if there are no more than `most`."""
        rows = self._reader.rows(QUERIES["tombstone_before"], {"most": most}, lambda row: from_ms(row[0]))
        return rows[0] + timedelta(milliseconds=1) if rows else None

    def close(self) -> None:
        """Read no more."""
        self._reader.close()

    def _change(self, query: str, values: Values, *, lazy: bool = False) -> Future[int]:
        return self._writer.submit(lambda connection: connection.execute(QUERIES[query], values).rowcount, lazy=lazy)


def _to_past(row: Row) -> PastRow:
    ended_at, seq, id_, name, held, survivors = row
    found = descendants_from_json(json.loads(survivors)) if survivors else ()
    return PastRow(Place(ended_at, held, seq), id_, name, from_ms(ended_at), held, found)
