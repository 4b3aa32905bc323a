"""What changes the database: each runs inside a transaction of the writer, and leaves one event per move."""

import sqlite3
from collections.abc import Sequence

from bide.model.errors import NameInUse
from bide.model.job import Job
from bide.model.session import seq_of
from bide.store import outbox
from bide.store.faults import IdTaken
from bide.store.queries import QUERIES
from bide.store.reader import parsed
from bide.store.rows import Values, event_values, to_job

_A_MILLISECOND = 1000
"""So many jobs that were created in one millisecond keep their order when the index is rebuilt."""
REFUSALS = (NameInUse, IdTaken, sqlite3.IntegrityError, OSError)
"""What stands in the way of an insert, or of what must be on disk before it; nothing was changed then."""


def insert(connection: sqlite3.Connection, job: Job, values: Values) -> Job:
    """Record a queued job; if its owner has used its key before, the job of that time."""
    if job.key is not None:
        earlier = connection.execute(QUERIES["keyed_job"], values).fetchone()
        if earlier is not None:
            return parsed(to_job, earlier)
    try:
        inserted = connection.execute(QUERIES["insert_job"], values).rowcount
    except sqlite3.IntegrityError as error:
        raise _conflict(connection, values) or error from None
    if not inserted:
        raise IdTaken(job.id)
    connection.execute(QUERIES["insert_event"], event_values(job.id, values))
    _move_session(connection, values)
    return job


def _conflict(connection: sqlite3.Connection, values: Values) -> Exception | None:
    """What stands in the way of an insert, if it is another job."""
    if connection.execute(QUERIES["id_known"], values).fetchone() is not None:
        return IdTaken(values["id"])
    holder = connection.execute(QUERIES["active_named"], values).fetchone()
    return None if holder is None else NameInUse(name=str(values["name"]), job=holder[0])


def add(connection: sqlite3.Connection, rows: Sequence[Values]) -> int:
    """Record jobs that are not known yet, in any phase; return how many there were."""
    added = 0
    for values in rows:
        if connection.execute(QUERIES["add_job"], {**values, "place": None}).rowcount:
            connection.execute(QUERIES["insert_event"], event_values(str(values["id"]), values))
            _move_session(connection, values)
            added += 1
    return added


def fill(connection: sqlite3.Connection, rows: Sequence[Values]) -> int:
    """Record jobs in a new index, in the order of their creation; return how many there were. Events come later."""
    added = 0
    for values in rows:
        place = int(values["created_at"] or 0) * _A_MILLISECOND
        added += connection.execute(QUERIES["add_job"], {**values, "place": place}).rowcount
    return added


def _move_session(connection: sqlite3.Connection, values: Values) -> None:
    """The number of a job in a session is taken in the transaction that records the job."""
    session = values["session"]
    if session is not None:
        number = seq_of(str(values["id"]), str(session))
        connection.execute(QUERIES["move_session"], {**values, "number": number})


def move(connection: sqlite3.Connection, query: str, values: Values, told: Sequence[outbox.Announcement] = ()) -> bool:
    """Do a guarded update, and record what is to be told of it; False if the job is not where the guard wants it."""
    if not connection.execute(QUERIES[query], values).rowcount:
        return False
    connection.execute(QUERIES["insert_event"], event_values(str(values["id"]), values))
    outbox.insert(connection, told)
    return True


def forget(connection: sqlite3.Connection, values: Values) -> int:
    """Replace ended jobs by tombstones; how many there were."""
    if not connection.execute(QUERIES["bury_jobs"], values).rowcount:
        return 0
    connection.execute(QUERIES["forget_events"], values)
    connection.execute(QUERIES["forget_deliveries"], values)
    connection.execute(QUERIES["forget_questions"], values)
    return connection.execute(QUERIES["delete_jobs"], values).rowcount
