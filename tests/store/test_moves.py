"""The life of a job in the store: who may move it where, and what that leaves behind."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from bide.model.job import Job, JobId
from bide.model.limits import Limits
from bide.model.phase import MOVES, Descendant, End, Ended, Kept, Phase, Queued, Reason, Running, Usage
from bide.store.faults import IdTaken
from bide.store.rows import Event
from bide.store.store import Store

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)
RUNNING = Running(NOW, pid=77)
PHASES: dict[type[Phase], Phase] = {
    Queued: Queued(),
    Running: RUNNING,
    Ended: Ended(NOW, End(Reason.EXITED, exit_code=0), started_at=NOW, pid=77),
}


def moves_to(store: Store, job: Job, phase: Phase) -> bool:
    """Whether the store moves a job to this phase; becoming queued is being inserted."""
    match phase:
        case Queued():
            with pytest.raises(IdTaken):
                store.insert(job.at(phase)).result()
            return False
        case Running():
            return store.start(job.id, phase.started_at, phase.pid).result()
        case Ended():
            return store.end(job.id, phase).result()


@pytest.mark.parametrize(("before", "after"), list(product(PHASES, PHASES)))
def test_the_store_allows_exactly_the_moves_of_the_model(
    store: Store, make: Callable[..., Job], before: type[Phase], after: type[Phase]
) -> None:
    job = make(phase=PHASES[before])
    store.add([job]).result()
    moved = moves_to(store, job, PHASES[after])
    assert moved == (after in MOVES[before])
    assert store.get(job.id) == job.at(PHASES[after] if moved else PHASES[before])
    assert len(store.events(0, 10, job.id)) == 1 + moved


def test_a_job_is_read_as_it_was_written(store: Store, make: Callable[..., Job]) -> None:
    job = make(name="build", owner="agent:7", label="a label", session="s1", key="k")
    limits = Limits(timeout=timedelta(minutes=5), memory_bytes=1 << 40, cpus=0.5)
    spec = replace(
        job.spec, argv=("printf", "\udcff\u2603\0"), pty=True, limits=limits, enforced=(("memory", "cgroup v2"),)
    )
    job = replace(job, spec=spec)
    assert store.insert(job).result() == job
    assert store.get(job.id) == job


def test_an_end_is_read_as_it_was_written(store: Store, make: Callable[..., Job]) -> None:
    job = store.insert(make()).result()
    end = End(
        Reason.OOM, signal=9, by="memory", error="out of memory: \udcff", duration=timedelta(milliseconds=1234),
        usage=Usage(cpu_ms=5, memory_source="cgroup"), out=Kept(3, 9), missing_bytes=4, taken_over=1,
        survivors=(Descendant(pid=5, start_ticks=6, command="sleep"),),
    )  # fmt: skip
    ended = Ended(NOW, end, started_at=NOW - timedelta(seconds=1), pid=12)
    assert store.end(job.id, ended).result()
    assert store.get(job.id) == job.at(ended)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_can_be_stored(store: Store, make: Callable[..., Job], reason: Reason) -> None:
    job = store.insert(make()).result()
    ended = Ended(NOW, End(reason))
    assert store.end(job.id, ended).result()
    assert store.get(job.id) == job.at(ended)


def test_the_first_end_stays(store: Store, make: Callable[..., Job], over: Callable[..., Ended]) -> None:
    job = store.insert(make()).result()
    assert store.end(job.id, over(Reason.KILLED, None)).result()
    assert not store.end(job.id, over(Reason.EXITED, 0)).result()
    found = store.get(job.id)
    assert found is not None
    assert found.phase == over(Reason.KILLED, None)


def test_an_end_that_does_not_know_the_start_keeps_the_one_on_record(store: Store, make: Callable[..., Job]) -> None:
    job = store.insert(make()).result()
    store.start(job.id, NOW, 77).result()
    end = End(Reason.LOST)
    store.end(job.id, Ended(NOW, end)).result()
    assert store.get(job.id) == job.at(Ended(NOW, end, started_at=NOW, pid=77))


def test_times_are_kept_to_the_millisecond(store: Store, make: Callable[..., Job]) -> None:
    job = store.insert(make(created_at=NOW.replace(microsecond=123_999))).result()
    found = store.get(job.id)
    assert found is not None
    assert found.created_at == NOW.replace(microsecond=123_000)


def test_nothing_is_known_of_an_id_that_never_was(store: Store, over: Callable[..., Ended]) -> None:
    assert store.get("j0000000000") is None
    assert not store.start("j0000000000", NOW, 1).result()
    assert not store.end("j0000000000", over()).result()
    assert not store.forget("j0000000000", NOW).result()
    assert store.last_event() == 0


def test_every_move_leaves_an_event(store: Store, make: Callable[..., Job], over: Callable[..., Ended]) -> None:
    job = store.insert(make()).result()
    other = store.insert(make()).result()
    ended = over(Reason.TIMED_OUT, None)
    store.start(job.id, NOW, 77).result()
    store.end(job.id, ended).result()
    store.forget(job.id, NOW + timedelta(days=1)).result()
    mine = [
        Event(1, job.created_at, job.id, "queued", ""),
        Event(3, NOW, job.id, "running", "77"),
        Event(4, ended.ended_at, job.id, "ended", "timed_out"),
        Event(5, NOW + timedelta(days=1), job.id, "forgotten", ""),
    ]
    assert store.events(0, 10, job.id) == mine
    assert store.events(3, 1, job.id) == [mine[2]]
    assert store.events(1, 2, None) == [Event(2, other.created_at, other.id, "queued", ""), mine[1]]
    assert store.last_event() == 5
    assert store.events(1 << 70, 10, None) == []


def test_active_jobs_are_counted_and_listed_oldest_first(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    assert store.counts() == {"queued": 0, "running": 0}
    jobs = [make() for _ in range(4)]
    for job in jobs:
        store.insert(job)
    store.start(jobs[1].id, NOW, 77).result()
    store.start(jobs[3].id, NOW, 77).result()
    store.end(jobs[2].id, over()).result()
    assert store.counts() == {"queued": 1, "running": 2}
    assert store.active() == [jobs[0], jobs[1].at(RUNNING), jobs[3].at(RUNNING)]


def test_jobs_are_added_in_any_phase_and_known_ids_are_passed_over(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    known = store.insert(make()).result()
    jobs = [make(), make(phase=RUNNING), make(phase=over())]
    assert store.add([known.at(over()), *jobs]).result() == 3
    assert store.add(jobs).result() == 0
    assert [store.get(job.id) for job in (known, *jobs)] == [known, *jobs]
    assert [event.what for event in store.events(0, 10, None)] == ["queued", "queued", "running", "ended"]


def test_added_jobs_give_way_to_the_names_and_keys_of_others(store: Store, make: Callable[..., Job]) -> None:
    first = store.insert(make(name="build", key="k")).result()
    second, third = make(name="build", key="k"), make(name="build", owner="other", key="k")
    assert store.add([second, third]).result() == 2
    assert store.get(second.id) == replace(second, name=None, key=None)
    assert store.get(third.id) == third
    assert store.by_key("user", "k") == first


@pytest.mark.parametrize(
    "change",
    [
        "phase = 'waiting'",
        "phase = 'running'",
        "phase = 'running', started_at = 1",
        "phase = 'ended'",
        "phase = 'ended', ended_at = 1, reason = 'exited'",
        "phase = 'ended', ended_at = 1, end = '{}'",
        "phase = 'ended', reason = 'exited', end = '{}'",
        "phase = 'ended', ended_at = 1, reason = 'bored', end = '{}'",
        "ended_at = 1",
        "reason = 'exited'",
        "pid = 1",
        "started_at = 1",
        "created_at = 'yesterday'",
    ],
)
def test_the_database_refuses_what_cannot_be(path: str, store: Store, make: Callable[..., Job], change: str) -> None:
    store.insert(make(id=JobId("j0000000000"))).result()
    store.close()
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE jobs SET " + change)
