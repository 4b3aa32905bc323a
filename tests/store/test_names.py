"""Ids, names, keys and tombstones: what is unique, and what a reference means."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from bide.model.errors import NameInUse
from bide.model.job import Job
from bide.model.phase import Ended
from bide.store.faults import IdTaken
from bide.store.store import Store

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)


def test_a_name_belongs_to_one_active_job_of_an_owner(store: Store, make: Callable[..., Job]) -> None:
    first = store.insert(make(name="build")).result()
    other = store.insert(make(name="build", owner="other")).result()
    with pytest.raises(NameInUse) as refused:
        store.insert(make(name="build")).result()
    assert refused.value.facts == {"name": "build", "job": first.id}
    assert store.active() == [first, other]


def test_a_name_can_be_chosen_again_after_the_end(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    first = store.insert(make(name="build")).result()
    store.start(first.id, NOW, 77).result()
    with pytest.raises(NameInUse):
        store.insert(make(name="build")).result()
    store.end(first.id, over()).result()
    second = store.insert(make(name="build")).result()
    assert store.resolve("build", "user") == second.id


def test_any_number_of_active_jobs_have_no_name(store: Store, make: Callable[..., Job]) -> None:
    jobs = [store.insert(make()).result() for _ in range(3)]
    assert store.active() == jobs


def test_an_id_is_given_once(store: Store, make: Callable[..., Job], over: Callable[..., Ended]) -> None:
    job = store.insert(make()).result()
    with pytest.raises(IdTaken):
        store.insert(make(id=job.id)).result()
    store.end(job.id, over()).result()
    store.forget(job.id, NOW).result()
    with pytest.raises(IdTaken):
        store.insert(make(id=job.id)).result()
    assert store.add([make(id=job.id)]).result() == 0


def test_the_same_key_gives_the_same_job(store: Store, make: Callable[..., Job], over: Callable[..., Ended]) -> None:
    first = store.insert(make(key="k", name="build")).result()
    assert store.insert(make(key="k", name="build")).result() == first
    store.end(first.id, over()).result()
    assert store.insert(make(key="k")).result() == first.at(over())
    assert store.by_key("user", "k") == first.at(over())
    assert [event.what for event in store.events(0, 10, None)] == ["queued", "ended"]


def test_the_same_key_of_another_owner_is_another_key(store: Store, make: Callable[..., Job]) -> None:
    mine = store.insert(make(key="k")).result()
    theirs = store.insert(make(key="k", owner="other")).result()
    assert mine.id != theirs.id
    assert store.by_key("other", "k") == theirs
    assert store.by_key("nobody", "k") is None


def test_a_reference_is_an_id_before_it_is_a_name(store: Store, make: Callable[..., Job]) -> None:
    job = store.insert(make()).result()
    store.insert(make(name=job.id)).result()
    assert store.resolve(job.id, None) == job.id


def test_a_name_means_the_active_job_and_else_the_newest(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    active = store.insert(make(name="build")).result()
    newest = make(name="build", owner="other", phase=over())
    store.add([newest]).result()
    assert store.resolve("build", None) == active.id
    store.end(active.id, over()).result()
    assert store.resolve("build", None) == newest.id


def test_a_name_with_an_owner_means_a_job_of_that_owner(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    mine = make(name="build", phase=over())
    store.add([mine]).result()
    store.insert(make(name="build", owner="other")).result()
    assert store.resolve("build", "user") == mine.id
    assert store.resolve("build", "nobody") is None
    assert store.resolve("test", None) is None


def test_the_newest_is_the_last_accepted_whatever_the_clock_said(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    jobs = [make(name="build", phase=over()), make(name="build", phase=over(), created_at=NOW - timedelta(days=1))]
    store.add(jobs).result()
    assert store.resolve("build", "user") == jobs[1].id


def test_text_that_is_not_unicode_names_nothing(store: Store) -> None:
    assert store.resolve("\udcff", None) is None
    assert store.tombstone("\udcff") is None


def test_only_an_ended_job_is_forgotten_and_leaves_a_tombstone(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    job = store.insert(make(name="build", key="k")).result()
    assert not store.forget(job.id, NOW).result()
    store.start(job.id, NOW, 77).result()
    assert not store.forget(job.id, NOW).result()
    assert store.tombstone(job.id) is None
    store.end(job.id, over()).result()
    assert store.forget(job.id, NOW).result()
    assert store.get(job.id) is None
    assert store.resolve(job.id, None) is None
    assert store.resolve("build", None) is None
    assert store.tombstone(job.id) == (NOW, "")
    assert store.tombstone("build") == (NOW, "")
    assert not store.forget(job.id, NOW + timedelta(days=1)).result()
    assert store.tombstone(job.id) == (NOW, "")


def test_the_id_of_a_forgotten_job_is_never_given_again(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    job = store.insert(make()).result()
    store.end(job.id, over()).result()
    store.forget(job.id, NOW).result()
    with pytest.raises(IdTaken):
        store.insert(job).result()
    assert store.add([job]).result() == 0
    assert store.get(job.id) is None


def test_a_forgotten_name_says_when_the_last_one_was_forgotten(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    jobs = [make(name="build", phase=over()) for _ in range(2)]
    store.add(jobs).result()
    for day, job in enumerate(jobs):
        store.forget(job.id, NOW + timedelta(days=day)).result()
    assert store.tombstone("build") == (NOW + timedelta(days=1), "")
    assert store.tombstone(jobs[0].id) == (NOW, "")
    assert store.tombstone("test") is None


def test_260_a_tombstone_may_be_asked_for_as_one_owner(
    store: Store, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    jobs = [make(name="build", owner=owner, phase=over()) for owner in ("ann", "bob")]
    store.add(jobs).result()
    for day, job in enumerate(jobs):
        store.forget(job.id, NOW + timedelta(days=day)).result()
    assert store.tombstone("build", "ann") == (NOW, "")
    assert store.tombstone("build", "bob") == (NOW + timedelta(days=1), "")
    assert store.tombstone("build", "eve") is None
    assert store.tombstone(jobs[0].id, "ann") == (NOW, "")
    assert store.tombstone(jobs[0].id, "bob") is None
