"""Rows of the outbox: one for each notice and consumer, and where it is."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from bide.model.job import JobId
from bide.model.notice import LEASE, Delivery, Level, Notice, Outlook, State
from bide.model.notify import What
from bide.store.future import Future
from bide.store.queries import QUERIES
from bide.store.reader import Reader, first
from bide.store.rows import Row, Values, from_ms, to_ms
from bide.store.writer import Writer

_LEASE_MS = LEASE // timedelta(milliseconds=1)
_WHATS = {str(what): what for what in What}
_LEVELS = {int(level): level for level in Level}
_STATES = {str(state): state for state in State}

COLUMNS = "job, consumer, id, what, level, at, detail, state, tries, next_at, carrier, carried_at"

Announcement = tuple[Notice, Sequence[str]]
"""A notice, and whom it is for."""


def insert(connection: sqlite3.Connection, announcements: Iterable[Announcement]) -> int:
    """Record what is to be told, inside a transaction; how much of it was not known."""
    added = 0
    for notice, consumers in announcements:
        values: Values = {
            "job": notice.job,
            "id": notice.id,
            "what": str(notice.what),
            "level": int(notice.level),
            "at": to_ms(notice.at),
            "detail": notice.detail,
        }
        for consumer in consumers:
            added += connection.execute(QUERIES["insert_delivery"], {**values, "consumer": consumer}).rowcount
    return added


class OutboxRows:
    """The outbox of a store. Writes return futures, as those of the store do.

    They are lazy: what they lose in a power cut is told once more, and never lost.
    """

    def __init__(self, writer: Writer, reader: Reader) -> None:
        """Made by the store."""
        self._writer = writer
        self._rows = reader.rows

    def record(self, announcements: Sequence[Announcement]) -> Future[int]:
        """Record what is to be told; how much of it was not known."""
        return self._writer.submit(lambda connection: insert(connection, announcements))

    def due(self, consumer: str, now: datetime, limit: int) -> list[Delivery]:
        """What may be handed to a consumer now, the most severe first."""
        at = to_ms(now)
        values: Values = {"consumer": consumer, "now": at, "lapsed": at - _LEASE_MS, "limit": limit}
        return self._rows(QUERIES["due_deliveries"], values, to_delivery)

    def carried(self, consumer: str) -> list[Delivery]:
        """What was being handed to a consumer."""
        return self._rows(QUERIES["carried_deliveries"], {"consumer": consumer}, to_delivery)

    def next_retry(self, consumer: str) -> datetime | None:
        """When something is to be tried again."""
        return self._rows(QUERIES["next_retry"], {"consumer": consumer}, _to_instant)[0]

    def state(self, consumer: str, notice: str) -> State | None:
        """Where one delivery is."""
        values: Values = {"consumer": consumer, "id": notice, "job": _job_of(notice)}
        found = self._rows(QUERIES["delivery_state"], values, lambda row: State(row[0]))
        return found[0] if found else None

    def settle(self, consumer: str, notices: Iterable[str], state: State = State.DONE) -> Future[int]:
        """Say that these arrived, or are not to; how many were open."""
        return self._change("settle_deliveries", {"consumer": consumer, "state": str(state), "pairs": _pairs(notices)})

    def carry(self, consumer: str, notices: Iterable[str], carrier: str, now: datetime) -> Future[int]:
        """Say who has these in hand."""
        values: Values = {"consumer": consumer, "carrier": carrier, "now": to_ms(now), "pairs": _pairs(notices)}
        return self._change("carry_deliveries", values)

    def fail(self, consumer: str, notices: Iterable[str], next_at: datetime) -> Future[int]:
        """Say that these were not accepted, and when to try again."""
        return self._change(
            "fail_deliveries", {"consumer": consumer, "next_at": to_ms(next_at), "pairs": _pairs(notices)}
        )

    def tell(self, consumer: str, jobs: dict[str, bool], carrier: str, now: datetime) -> Future[int]:
        """A consumer was told of these jobs, which are over (True) or not; with a carrier, that is not certain yet."""
        state = State.CARRIED if carrier else State.DONE
        values: Values = {"consumer": consumer, "state": str(state), "carrier": carrier}
        values["carried_at"] = to_ms(now) if carrier else None
        ended = json.dumps([job for job, over in jobs.items() if over])
        active = json.dumps([job for job, over in jobs.items() if not over])

        def act(connection: sqlite3.Connection) -> int:
            told = connection.execute(QUERIES["tell_ended"], {**values, "jobs": ended}).rowcount
            return told + connection.execute(QUERIES["tell_active"], {**values, "jobs": active}).rowcount

        return self._writer.submit(act, lazy=True)

    def settle_carrier(self, carrier: str) -> Future[int]:
        """What somebody carried has arrived."""
        return self._change("settle_carrier", {"carrier": carrier})

    def release_carrier(self, carrier: str) -> Future[int]:
        """What somebody carried is due again."""
        return self._change("release_carrier", {"carrier": carrier})

    def outlooks(self) -> dict[str, Outlook]:
        """What is open, by consumer."""
        found: dict[str, Outlook] = {}
        for consumer, state, count, next_at in self._rows(QUERIES["outbox_counts"], {}, _to_count):
            known = found.get(consumer) or self._outlook(consumer)
            retry = known.next_retry_at if next_at is None else next_at
            due, carried = (count, known.carried) if state == "due" else (known.due, count)
            found[consumer] = replace(known, due=due, carried=carried, next_retry_at=retry)
        return found

    def _outlook(self, consumer: str) -> Outlook:
        return Outlook(consumer, jobs=tuple(self._rows(QUERIES["outbox_jobs"], {"consumer": consumer}, first)))

    def consumers(self) -> dict[str, str | None]:
        """Who asked to be told of others' jobs, and of whose (`None`: everybody's)."""
        return dict(self._rows(QUERIES["list_consumers"], {}, _to_consumer))

    def subscribe(self, name: str, owner: str | None, now: datetime) -> Future[None]:
        """Keep who is to be told of whose jobs."""

        def act(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES["put_consumer"], {"name": name, "owner": owner, "at": to_ms(now)})

        return self._writer.submit(act)

    def unsubscribe(self, name: str) -> Future[bool]:
        """Tell somebody no more, and forget what there was to tell."""

        def act(connection: sqlite3.Connection) -> bool:
            connection.execute(QUERIES["drop_deliveries"], {"name": name})
            return connection.execute(QUERIES["drop_consumer"], {"name": name}).rowcount > 0

        return self._writer.submit(act)

    def _change(self, query: str, values: Values) -> Future[int]:
        return self._writer.submit(lambda connection: connection.execute(QUERIES[query], values).rowcount, lazy=True)


def _job_of(notice: str) -> str:
    return notice.partition(":")[0]


def _pairs(notices: Iterable[str]) -> str:
    return json.dumps([[_job_of(notice), notice] for notice in notices])


def _to_instant(row: Row) -> datetime | None:
    return None if row[0] is None else from_ms(row[0])


def _to_count(row: Row) -> tuple[str, str, int, datetime | None]:
    consumer, state, count, next_at = row
    return consumer, state, count, None if next_at is None else from_ms(next_at)


def _to_consumer(row: Row) -> tuple[str, str | None]:
    name, owner = row
    return name, owner


def to_delivery(row: Row) -> Delivery:
    """Read a row of the table `outbox`."""
    job, consumer, id_, what, level, at, detail, state, tries, next_at, carrier, carried_at = row
    return Delivery(
        notice=Notice(id_, JobId(job), _WHATS[what], _LEVELS[level], from_ms(at), detail),
        consumer=consumer,
        state=_STATES[state],
        tries=tries,
        next_at=None if next_at is None else from_ms(next_at),
        carrier=carrier,
        carried_at=None if carried_at is None else from_ms(carried_at),
    )
