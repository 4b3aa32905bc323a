"""Turns a filter into one query that walks one index in order, so that a page costs the same at any size."""

import re

from msgspec import Struct

from bide.api import Filter
from bide.model.errors import BadRequest
from bide.model.phase import Reason
from bide.store.queries import QUERIES
from bide.store.rows import Row, Values, to_ms

LIMIT = 1000

_END_OF_TIME = (1 << 63) - 1
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})", re.ASCII)
_PARTIAL = {
    "jobs_phase": ("phase <> 'ended'",),
    "jobs_reason": ("reason <> 'exited'",),
    "jobs_label": ("label <> ''",),
    "jobs_kind": ("kind <> 'shell'",),
}
"""What SQLite must read in a query to see that a partial index serves it."""
_COLUMNS = ("phase", "reason", "session", "owner", "label", "kind", "name", "parent")


class Place(Struct, frozen=True, order=True):
    """Where in a list to go on: before the job of this time and number."""

    created_at: int = _END_OF_TIME
    seq: int = _END_OF_TIME

    @staticmethod
    def read(cursor: str | None) -> "Place":
        """The place that a cursor means; the beginning if there is none."""
        if cursor is None:
            return Place()
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise BadRequest(detail=f"{cursor!r} is no place in a list; give the 'next' of the page before, unchanged")
        return Place(int(found[1]), int(found[2]))

    @staticmethod
    def of(row: Row) -> "Place":
        """The place of a job, from its row."""
        return Place(row[1], row[0])

    def __str__(self) -> str:
        """The cursor for this place."""
        return f"{self.created_at}.{self.seq}"


def check_limit(limit: int) -> None:
    """Refuse a page size that cannot be meant."""
    if not 1 <= limit <= LIMIT:
        raise BadRequest(detail=f"a limit is a number from 1 to {LIMIT}, not {limit}")


def page_query(where: Filter, before: Place, limit: int) -> tuple[str, Values]:
    """The query for the jobs of a filter before a place, and its parameters.

    Newest first is the order of acceptance; where the times of a filter choose the index, it is the order of creation.
    """
    values: Values = {column: value for column in _COLUMNS if (value := getattr(where, column)) is not None}
    conditions = [f"{column} = :{column}" for column in values]
    index = choose_index(where)
    conditions += _PARTIAL.get(index or "", ())
    if where.since is not None:
        conditions.append("created_at >= :since")
        values["since"] = to_ms(where.since)
    if index == "jobs_created_at":
        order = "created_at DESC, seq DESC"
        if where.until is not None:
            before = min(before, Place(to_ms(where.until), 0))
        conditions.append("(created_at, seq) < (:created_at, :seq)")
        values["created_at"] = before.created_at
    else:
        order = "seq DESC"
        conditions.append("seq < :seq")
        if where.until is not None:
            conditions.append("created_at < :until")
            values["until"] = to_ms(where.until)
    values |= {"seq": before.seq, "limit": limit}
    walk = f"INDEXED BY {index}" if index else "NOT INDEXED"
    sql = QUERIES["list_jobs"].format(index=walk, conditions=" AND ".join(conditions), order=order)
    return sql, values


def choose_index(where: Filter) -> str | None:
    """The index that is likely to leave the fewest jobs to look at; `None` walks all jobs.

    It depends on the filter alone, never on statistics: the same request always has the same plan.
    """
    preferences = (
        ("jobs_name", where.name is not None),
        ("jobs_phase", where.phase not in (None, "ended")),
        ("jobs_parent", where.parent is not None),
        ("jobs_session", where.session is not None),
        ("jobs_reason", where.reason not in (None, Reason.EXITED)),
        ("jobs_label", where.label not in (None, "")),
        ("jobs_created_at", where.since is not None or where.until is not None),
        ("jobs_owner", where.owner is not None),
        ("jobs_kind", where.kind not in (None, "shell")),
    )
    return next((index for index, holds in preferences if holds), None)
