"""Ended jobs in the order in which they go, what they hold, and what bounds the rest."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bide.model.askfacts import AskFacts
from bide.model.errors import InternalError
from bide.model.job import Job, Spec
from bide.model.phase import Descendant, End, Ended, Kept, Reason
from bide.store.migrate import MIGRATIONS
from bide.store.past import Place, Sums
from bide.store.queries import QUERIES
from bide.store.store import Store

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)
Make = Callable[..., Job]


def over(at: datetime, out: Kept = Kept(), *survivors: Descendant) -> Ended:
    return Ended(at, End(Reason.EXITED, exit_code=0, out=out, survivors=survivors), started_at=at, pid=7)


@pytest.fixture
def five(store: Store, make: Make) -> list[Job]:
    """Ended a minute apart; the second and third were seen, the third has no output, the fifth dropped some."""
    kept = [Kept(0, 10), Kept(0, 20), Kept(), Kept(0, 40), Kept(50, 100)]
    jobs = [
        make(phase=over(NOW + timedelta(minutes=n), one), seen=n in (1, 2), owner="a" if n else "b")
        for n, one in enumerate(kept)
    ]
    store.add(jobs).result()
    return jobs


def ids(store: Store, **options: Any) -> list[str]:
    """What pages of two give, one after the other."""
    found: list[str] = []
    place = Place()
    while rows := store.past.page(place, 2, **options):
        found += [row.id for row in rows]
        place = rows[-1].place
    return found


def test_they_come_in_the_order_in_which_they_ended(store: Store, five: list[Job]) -> None:
    assert ids(store, seen=True) == [five[1].id, five[2].id]
    assert ids(store, seen=False) == [five[0].id, five[3].id, five[4].id]


def test_they_can_be_had_by_time_output_and_owner(store: Store, five: list[Job]) -> None:
    assert ids(store, seen=True, with_output=True) == [five[1].id]
    assert ids(store, seen=False, until=NOW) == [five[0].id]
    assert ids(store, seen=False, since=NOW + timedelta(milliseconds=1)) == [five[3].id, five[4].id]
    assert ids(store, seen=False, owner="b") == [five[0].id]


def test_224_answers_stand_apart_by_how_long_they_are_kept(store: Store, make: Make) -> None:
    week = timedelta(days=7)
    plain, answer, short = (
        make(phase=over(NOW, Kept(0, 10)), spec=Spec(("claude",), "claude hello", "/", ask=facts))
        for facts in (None, AskFacts("claude", "text", "c"), AskFacts("claude", "text", "c", keep_days=7))
    )
    store.add([plain, answer, short]).result()
    assert store.past.sums() == Sums(unseen=3, unseen_bytes=30, own=(timedelta(0), week))
    assert [ids(store, seen=False, own=own) for own in (None, timedelta(0), week)] == [
        [plain.id],
        [answer.id],
        [short.id],
    ]


@pytest.mark.parametrize("own", [None, timedelta(days=7)])
def test_none_is_read_before_its_time(path: str, store: Store, own: timedelta | None) -> None:
    """Every look begins and ends within one part of the index, however many there are beside it."""
    assert ids(store, seen=True, own=own) == []
    with closing(sqlite3.connect(path)) as connection:
        names = ("seen", "since", "until", "least", "owner", "after_at", "after_bytes", "after_seq", "limit")
        values = dict.fromkeys(names, 1) | {"keep": None if own is None else 1}
        ((*_, search),) = connection.execute("EXPLAIN QUERY PLAN " + QUERIES["past_jobs"], values)
    assert "jobs_past (keep=? AND seen=? AND ended_at>? AND ended_at<?)" in search


def test_jobs_of_the_same_moment_are_not_passed_over(store: Store, make: Make) -> None:
    jobs = [make(phase=over(NOW, Kept(0, n % 3))) for n in range(9)]
    store.add(jobs).result()
    assert sorted(ids(store, seen=False)) == [job.id for job in jobs]


def test_active_jobs_are_not_of_the_past(store: Store, make: Make) -> None:
    store.add([make()]).result()
    assert ids(store, seen=False) == []
    assert store.past.sums() == Sums()


def test_what_they_hold_is_known(store: Store, five: list[Job]) -> None:
    assert store.past.sums() == Sums(seen=2, unseen=3, seen_bytes=20, unseen_bytes=100)
    store.past.drop_outputs([five[0].id, five[1].id], NOW).result()
    assert store.past.sums() == Sums(seen=2, unseen=3, seen_bytes=0, unseen_bytes=90)


def test_a_dropped_output_is_still_counted_and_no_longer_kept(store: Store, five: list[Job]) -> None:
    store.past.drop_outputs([five[4].id], NOW).result()
    store.past.drop_outputs([five[4].id], NOW + timedelta(days=1)).result()
    job = store.get(five[4].id)
    assert job is not None
    assert job.output_dropped_at == NOW
    assert isinstance(job.phase, Ended)
    assert job.phase.end.out == Kept(100, 100)


def test_an_end_that_was_seen_is_written_with_it(store: Store, make: Make) -> None:
    job = make()
    store.insert(job).result()
    store.end(job.id, over(NOW), seen=True).result()
    assert store.get(job.id) == replace(job.at(over(NOW)), seen=True)


def test_only_what_is_over_is_marked_as_seen(store: Store, five: list[Job], make: Make) -> None:
    running = make()
    store.add([running]).result()
    assert store.past.mark_seen([five[0].id, five[1].id, running.id, "nobody"]).result() == 1
    assert store.past.sums().seen == 3


def test_survivors_are_told(store: Store, make: Make) -> None:
    left = Descendant(5, 6, "sleep")
    store.add([make(phase=over(NOW, Kept(), left))]).result()
    assert store.past.page(Place(), 1, seen=False)[0].survivors == (left,)


def test_many_are_forgotten_at_once_and_say_why(store: Store, five: list[Job], make: Make) -> None:
    running = make()
    store.add([running]).result()
    assert store.past.forget([*(job.id for job in five[:3]), running.id], NOW, "too old").result() == 3
    assert store.tombstone(five[0].id) == (NOW, "too old")
    assert store.tombstone(running.id) is None
    assert [event.what for event in store.events(0, 100, five[0].id)] == ["ended", "forgotten"]


def test_tombstones_are_bounded_by_number_and_age(store: Store, make: Make) -> None:
    """Checklist 51, 260."""
    jobs = [make(phase=over(NOW)) for _ in range(10)]
    store.add(jobs).result()
    for n, job in enumerate(jobs):
        store.forget(job.id, NOW + timedelta(days=n)).result()
    assert store.past.tombstones_until(10) is None
    before = store.past.tombstones_until(4)
    assert before is not None
    assert before == NOW + timedelta(days=5, milliseconds=1)
    assert [store.past.prune_tombstones(before, 4).result() for _ in range(3)] == [4, 2, 0]
    assert store.tombstone(jobs[5].id) is None
    assert store.tombstone(jobs[6].id) is not None


def test_events_are_bounded(store: Store, five: list[Job]) -> None:
    last = store.last_event()
    assert [store.past.prune_events(2, 2).result() for _ in range(3)] == [2, 1, 0]
    assert [event.seq for event in store.events(0, 100, None)] == [last - 1, last]
    assert [job.id for job in five if store.get(job.id) is None] == []


def test_nothing_can_be_read_once_it_is_closed(store: Store) -> None:
    store.close()
    with pytest.raises(InternalError, match="closed"):
        store.past.sums()


def test_a_home_from_before_knows_what_its_jobs_hold(path: str, make: Make) -> None:
    job = make(phase=over(NOW, Kept(5, 20)))
    spec = Spec(("claude",), "claude hello", "/", kind="claude", ask=AskFacts("claude", "text", "c"))
    asked = make(phase=over(NOW, Kept(5, 20)), spec=spec)
    with closing(sqlite3.connect(path)) as connection:
        for number, migration in enumerate(MIGRATIONS[:2], start=1):
            connection.executescript(f"{migration.read_text()}; PRAGMA user_version = {number};")
    other = Store(str(Path(path).with_name("other.db")))
    other.add([job, asked]).result()
    other.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ATTACH ? AS other", (str(Path(path).with_name("other.db")),))
        columns = ", ".join(row[1] for row in connection.execute("PRAGMA main.table_info(jobs)"))
        connection.execute(f"INSERT INTO main.jobs ({columns}) SELECT {columns} FROM other.jobs")
    store = Store(path)
    assert store.past.sums() == Sums(unseen=2, unseen_bytes=30, own=(timedelta(0),))
    assert store.get(job.id) == job
    assert ids(store, seen=False, own=timedelta(0)) == [asked.id]
    store.close()
