"""The sessions that are open: their folders, which are the truth, and what is known of each in memory.

A session is open exactly while its folder is there. What it holds is written by one thread, in the order asked for.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import Any, cast

from msgspec.structs import replace

from bide.keeper.folder import read_small, sync_folder
from bide.kinds import wrapping
from bide.model.errors import SessionNotFound
from bide.model.job import Job
from bide.model.session import SESSION_PATTERN, seq_of
from bide.model.times import from_stamp, stamp
from bide.runtime.home import Home
from bide.runtime.place import Place, read_place, write_place, write_whole
from bide.runtime.reserve import is_full
from bide.store.sessions import SessionRow
from bide.store.store import Store

log = logging.getLogger(__name__)

HELPER = ".shell"
ENDED = ".ended"
"""One line for each session that ended: what its row says, for when the database is made anew."""
_GONE = ".gone-"
RESERVE = 100
"""So many numbers are put down in the file at once; after the loss of the database the others of them are not given."""


class Places:
    """All open sessions of a home."""

    def __init__(self, home: Home) -> None:
        """None is known yet."""
        self.home: Home = home
        self.open: dict[str, Place] = {}
        """In order of activity, the most recent last: the wall clock may step, and is too coarse to tell them apart."""
        self.over: Callable[[Place, Job], None] = lambda _place, _job: None
        """Told of each job of an open session that is over."""
        self.helper: str = os.path.join(home.sessions, HELPER)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bide-sessions")

    def folder(self, session: str) -> str:
        """The folder of a session."""
        return os.path.join(self.home.sessions, session)

    def file(self, session: str, what: str, job: str) -> str:
        """A file of one run in a session."""
        return os.path.join(self.folder(session), f"{what}.{job}")

    def get(self, session: str, store: Store) -> Place:
        """An open session. Raises SessionNotFound, which says when it ended, if that is known."""
        place = self.open.get(session)
        if place is not None and not place.ending:
            return place
        if place is not None:
            raise SessionNotFound(session=session, since=" any more (it is being ended)")
        row = store.sessions.get(session)
        if row is None or row.ended_at is None:
            raise SessionNotFound(session=session)
        how = "was evicted" if row.why == "evicted" else "ended"
        raise SessionNotFound(session=session, since=f" (it {how} at {stamp(row.ended_at)})")

    def load(self, store: Store) -> None:
        """Take up what is there; a row that says otherwise is put right."""
        self._write_helper()
        rows = {row.id: row for row in store.sessions.open()}
        prepared = numbers(os.listdir(self.home.new))
        for name in sorted(os.listdir(self.home.sessions)):
            if name.startswith(_GONE):
                shutil.rmtree(os.path.join(self.home.sessions, name), ignore_errors=True)
            if not SESSION_PATTERN.match(name) or (place := self._read(name)) is None:
                continue
            self.open[name] = place
            place.seq = max(newest_number(store, name), prepared.get(name, 0))
            if (row := rows.pop(name, None)) is not None:
                place.last_active_at = row.last_active_at
            else:
                store.sessions.put(place.row())
            self._reserve(place)
        self.open = dict(sorted(self.open.items(), key=lambda item: item[1].last_active_at))
        for row in rows.values():
            store.sessions.end(row.id, row.last_active_at, "ended")

    def _write_helper(self) -> None:
        """Write the shell code that all sessions source. On a full disk those that are open keep what they have."""
        text = wrapping.helper_text().encode()
        if read_small(self.helper) == text:
            return
        try:
            self.home.reserve.with_room(lambda: write_whole(self.helper, text, sync=False))
        except OSError as error:
            if not is_full(error):
                raise
            log.warning("%s could not be written: the disk is full", self.helper)

    def _read(self, name: str) -> Place | None:
        place = read_place(self.folder(name), name)
        if place is None:
            os.makedirs(self.home.quarantine, mode=0o700, exist_ok=True)
            aside = os.path.join(self.home.quarantine, f"session-{name}-{os.urandom(4).hex()}")
            shutil.move(self.folder(name), aside)
            log.error("the file of session %s cannot be read; its folder was moved to %s", name, aside)
        return place

    def touch(self, place: Place, at: datetime) -> None:
        """Record that a session is in use."""
        place.last_active_at = at
        self.open[place.id] = self.open.pop(place.id)

    def take_number(self, place: Place) -> int:
        """The number of the next job; no number is given twice."""
        place.seq += 1
        self._reserve(place)
        if place.seq > place.durable:
            # The file lags far behind. This waits for the disk, once in fifty runs at most.
            self._thread.submit(lambda: None).result()
        return place.seq

    def _reserve(self, place: Place) -> None:
        if place.seq + RESERVE // 2 > place.reserved:
            place.reserved = place.seq + RESERVE
            self.write(place)

    def write(self, place: Place, *, new: bool = False) -> Future[None]:
        """Put down what a session holds now; done when it is on disk."""
        data, reserved = place.encoded(), place.reserved

        def write() -> None:
            folder = self.folder(place.id)
            if new:
                write_place(folder, data, new=True)
            else:
                self.home.reserve.with_room(lambda: write_place(folder, data, new=False))
            place.durable = reserved

        return self._thread.submit(write)

    def close_folder(self, place: Place, row: SessionRow) -> Future[None]:
        """The session is over: first that is on record, then its folder goes."""
        self.open.pop(place.id, None)
        return self._thread.submit(self._close_folder, row)

    def _close_folder(self, row: SessionRow) -> None:
        line = {"id": row.id, "owner": row.owner, "seq": row.seq, "why": row.why}
        line |= {key: stamp(getattr(row, key)) for key in ("created_at", "last_active_at", "ended_at")}
        fd = os.open(
            os.path.join(self.home.sessions, ENDED), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(fd, json.dumps(line).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        gone = os.path.join(self.home.sessions, f"{_GONE}{row.id}-{os.urandom(4).hex()}")
        os.rename(self.folder(row.id), gone)
        sync_folder(self.home.sessions)
        shutil.rmtree(gone, ignore_errors=True)

    def close(self) -> None:
        """Finish what is being written."""
        self._thread.shutdown(wait=True)


def newest_number(store: Store, session: str) -> int:
    """The greatest number given in sessions of this id so far."""
    row = store.sessions.get(session)
    return store.sessions.newest_number(session) if row is None else row.seq


def rebuild(home: Home, store: Store) -> None:
    """Fill an empty table of sessions: from the record of those that ended, and the folders of those that did not."""
    known = numbers([*os.listdir(home.jobs), *os.listdir(home.new)])
    for row in _read_ended(os.path.join(home.sessions, ENDED)):
        store.sessions.put(replace(row, seq=max(row.seq, known.get(row.id, 0))))
    for name in os.listdir(home.sessions):
        place = read_place(os.path.join(home.sessions, name), name) if SESSION_PATTERN.match(name) else None
        if place is not None:
            place.seq = max(place.reserved, known.get(name, 0))
            place.last_active_at = store.sessions.last_job_at(name) or place.created_at
            store.sessions.put(place.row())
    store.barrier().result()


def _read_ended(path: str) -> list[SessionRow]:
    try:
        with open(path, "rb") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return []
    found: list[SessionRow] = []
    for line in lines:
        try:
            body: dict[str, Any] = json.loads(line)
            times = {key: from_stamp(body[key]) for key in ("created_at", "last_active_at", "ended_at")}
            found.append(SessionRow(body["id"], body["owner"], seq=body["seq"], why=body["why"], **cast("Any", times)))
        except (ValueError, KeyError, TypeError):
            log.warning("%s has a line that cannot be read", path)
    return found


def numbers(names: list[str]) -> dict[str, int]:
    """The greatest number of each session among these ids of jobs."""
    found: dict[str, int] = {}
    for name in names:
        job = name.removeprefix("gone-")
        session = job.removeprefix("job-").rpartition("-")[0]
        if job.startswith("job-") and session:
            found[session] = max(found.get(session, 0), seq_of(job, session))
    return found
