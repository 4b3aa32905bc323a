"""Lists: every filter, alone and with another, page by page, and the plan of every query."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import fields, replace

from bide.api import Filter
from bide.model.errors import BadRequest
from bide.model.job import Job, JobId
from bide.model.phase import Ended
from bide.store.pages import Place, page_query
from bide.store.queries import QUERIES
from bide.store.rows import Values
from bide.store.store import Store

START = datetime(2026, 7, 1, 12, tzinfo=UTC)
CONDITIONS: dict[str, Any] = {
    "phase": "ended",
    "reason": "exited",
    "session": "s1",
    "owner": "agent",
    "label": "nightly",
    "kind": "python",
    "name": "build",
    "parent": "j1",
    "since": START + timedelta(seconds=12),
    "until": START + timedelta(seconds=48),
}
ONE = [Filter(**{name: value}) for name, value in CONDITIONS.items()]
TWO = [Filter(**dict(pair)) for pair in combinations(CONDITIONS.items(), 2)]
RARE = [
    Filter(phase="running"),
    Filter(phase="queued", owner="agent"),
    Filter(reason="killed", label=""),
    Filter(label=""),
]


Plan = Callable[[str, Values], list[str]]


class AnyValues(Values):
    def __missing__(self, key: str) -> None:
        return None


def said(value: object) -> str:
    """A filter as the name of a test's case."""
    return ",".join(name for name in CONDITIONS if getattr(value, name) is not None) or "all"


@pytest.fixture(scope="module")
def shelf_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("shelf") / "bide.db")


@pytest.fixture(scope="module")
def shelf(shelf_path: str, jobs: list[Job]) -> Iterator[Store]:
    """A store with all the jobs, to be read only."""
    store = Store(shelf_path)
    store.add(jobs).result()
    yield store
    store.close()


@pytest.fixture(scope="module")
def plan(shelf_path: str, shelf: Store) -> Iterator[Plan]:
    """Says how SQLite would execute a statement."""
    assert shelf.created
    with closing(sqlite3.connect(shelf_path)) as connection:

        def plan(sql: str, values: Values) -> list[str]:
            return [row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + sql, AnyValues(values))]

        yield plan


def passes(job: Job, where: Filter) -> bool:
    """The meaning of a filter, said without SQL."""
    values = {"phase": job.phase_name, "kind": job.spec.kind}
    values["reason"] = str(job.phase.end.reason) if isinstance(job.phase, Ended) else ""
    for field in fields(where):
        wanted = getattr(where, field.name)
        if wanted is None:
            continue
        if field.name == "since":
            holds = job.created_at >= wanted
        elif field.name == "until":
            holds = job.created_at < wanted
        else:
            holds = values.get(field.name, getattr(job, field.name, None)) == wanted
        if not holds:
            return False
    return True


def pages(store: Store, where: Filter, limit: int) -> list[tuple[Job, ...]]:
    page = store.page(where, limit, None)
    found = [page.jobs]
    while page.next is not None:
        page = store.page(where, limit, page.next)
        found.append(page.jobs)
    return found


@pytest.mark.parametrize("where", [Filter(), *ONE, *TWO, *RARE], ids=said)
def test_a_list_is_what_passes_the_filter_newest_first(shelf: Store, jobs: list[Job], where: Filter) -> None:
    expected = [job for job in reversed(jobs) if passes(job, where)]
    assert expected
    found = pages(shelf, where, 7)
    assert [job for page in found for job in page] == expected
    assert [len(page) for page in found[:-1]] == [7] * (len(expected) // 7 - (len(expected) % 7 == 0))


def test_every_condition_is_covered_here() -> None:
    assert [field.name for field in fields(Filter)] == list(CONDITIONS)


def test_all_conditions_hold_at_once(shelf: Store, jobs: list[Job]) -> None:
    where = Filter(**CONDITIONS)
    assert shelf.page(where, 50, None).jobs == tuple(job for job in reversed(jobs) if passes(job, where))


@pytest.mark.parametrize("where", [Filter(), Filter(owner="agent"), Filter(since=START)], ids=said)
def test_jobs_that_come_and_go_between_pages_neither_repeat_nor_hide_others(
    store: Store, jobs: list[Job], make: Callable[..., Job], where: Filter
) -> None:
    store.add(jobs).result()
    expected = [job for job in reversed(jobs) if passes(job, where)]
    page = store.page(where, 10, None)
    last = next(job for job in reversed(page.jobs) if isinstance(job.phase, Ended))
    store.forget(page.jobs[-1].id, START).result()
    store.forget(last.id, START).result()
    store.insert(make(owner="agent", id=JobId("jnew"), created_at=START + timedelta(hours=1))).result()
    following = store.page(where, 10, page.next)
    assert list(page.jobs + following.jobs) == expected[:20]


def test_the_last_page_says_that_it_is_the_last(shelf: Store, jobs: list[Job]) -> None:
    assert shelf.page(Filter(), len(jobs), None).next is None
    assert shelf.page(Filter(), len(jobs) - 1, None).next is not None
    assert shelf.page(Filter(name="nothing"), 1, None).jobs == ()


def test_a_step_of_the_clock_does_not_change_which_job_is_newest(store: Store, make: Callable[..., Job]) -> None:
    store.insert(make()).result()
    stepped = store.insert(make(created_at=START - timedelta(hours=1))).result()
    assert store.page(Filter(), 1, None).jobs == (stepped,)
    assert store.page(Filter(until=START), 10, None).jobs == (stepped,)


def test_jobs_of_one_instant_are_all_listed_by_time(store: Store, make: Callable[..., Job]) -> None:
    jobs = [make() for _ in range(10)]
    store.add([replace(job, created_at=START) for job in jobs]).result()
    found = pages(store, Filter(since=START, until=START + timedelta(milliseconds=1)), 3)
    assert [job.id for page in found for job in page] == [job.id for job in reversed(jobs)]


@pytest.mark.parametrize("limit", [-1, 0, 1001])
def test_a_limit_that_cannot_be_meant_is_refused(shelf: Store, limit: int) -> None:
    with pytest.raises(BadRequest, match="1 to 1000"):
        shelf.page(Filter(), limit, None)
    with pytest.raises(BadRequest, match="1 to 1000"):
        shelf.events(0, limit, None)


@pytest.mark.parametrize(
    "cursor", ["", "1", "1.2.3", "-1.1", "x.y", "1.1\n", "٣.٣", "1." + "9" * 30, "' OR 1=1 --", "\udcff"]
)
def test_a_cursor_that_is_none_of_ours_is_refused(shelf: Store, cursor: str) -> None:
    with pytest.raises(BadRequest, match="'next' of the page before"):
        shelf.page(Filter(), 10, cursor)


def test_a_filter_that_is_not_unicode_passes_nothing(shelf: Store) -> None:
    assert shelf.page(Filter(label="\udcff"), 10, None).jobs == ()


@pytest.mark.parametrize(
    "name", [name for name, where in zip(CONDITIONS, ONE, strict=True) if where.since is where.until]
)
def test_a_list_by_one_condition_walks_its_index_in_order(plan: Plan, name: str) -> None:
    rare: dict[str, Any] = {"phase": "running", "reason": "killed"}
    steps = plan(*page_query(Filter(**{name: rare.get(name, CONDITIONS[name])}), Place(), 10))
    assert steps == [f"SEARCH jobs USING INDEX jobs_{name} ({name}=? AND rowid<?)"]


@pytest.mark.parametrize(
    "where", [Filter(phase="ended"), Filter(reason="exited"), Filter(label=""), Filter(kind="shell")], ids=said
)
def test_a_list_by_what_nearly_every_job_has_walks_from_the_newest(plan: Plan, where: Filter) -> None:
    assert plan(*page_query(where, Place(), 10)) == ["SEARCH jobs USING INTEGER PRIMARY KEY (rowid<?)"]


@pytest.mark.parametrize(
    "where", [Filter(since=START), Filter(until=START), Filter(since=START, until=START)], ids=said
)
def test_a_list_by_time_walks_the_index_of_times(plan: Plan, where: Filter) -> None:
    steps = plan(*page_query(where, Place(), 10))
    assert len(steps) == 1
    assert steps[0].startswith("SEARCH jobs USING INDEX jobs_created_at (")
    assert "created_at<?" in steps[0]
    assert ("created_at>?" in steps[0]) == (where.since is not None)


@pytest.mark.parametrize("where", [*TWO, *RARE, Filter(**CONDITIONS)], ids=said)
def test_a_list_by_several_conditions_walks_one_index_in_order(plan: Plan, where: Filter) -> None:
    steps = plan(*page_query(where, Place(), 10))
    assert len(steps) == 1
    common = Filter(phase="ended", reason="exited"), Filter(label="")
    assert steps[0].startswith("SEARCH jobs USING " + ("INTEGER PRIMARY KEY" if where in common else "INDEX jobs_"))


def test_the_newest_jobs_are_read_without_an_index(plan: Plan) -> None:
    assert plan(*page_query(Filter(), Place(), 10)) == ["SEARCH jobs USING INTEGER PRIMARY KEY (rowid<?)"]


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - {"columns", "list_jobs"}))
def test_no_statement_scans_a_table(plan: Plan, name: str) -> None:
    """What retention counts it counts in an index, by a connection and a thread of its own."""
    harmless = ["CONSTANT ROW", "subquery", "json_each", "sqlite_sequence"]
    if name in ("past_sums", "tombstone_before"):
        harmless.append("COVERING INDEX")
    steps = [step for step in plan(QUERIES[name], {}) if step.startswith("SCAN")]
    assert [step for step in steps if not any(word in step for word in harmless)] == []
