"""A daemon that dies while it removes what is over: row and folder agree afterwards, whatever the instant."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import anyio
import pytest
from tests.crash.size import rounds
from tests.support import homes, past
from tests.support.http import Http
from tests.support.patience import LONG

import bide
from bide.api import Jobs, Upkeep
from bide.keeper import folder
from bide.model.errors import JobForgotten
from bide.store.store import Store

NOW = datetime(2026, 11, 1, tzinfo=UTC)
TEXT = b"hello\n"


async def past_of(home: Path, count: int) -> list[str]:
    """Jobs that are over, a day old."""
    async with bide.local(home) as jobs:
        limiter = anyio.CapacityLimiter(8)
        found: list[str] = []

        async def one() -> None:
            async with limiter:
                found.append((await jobs.run("echo hello")).job.id)

        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(one)
    past.make_older(home, timedelta(days=1))
    return found


def begin_forgetting(home: Path, job: str, store: Store) -> None:
    (home / "new" / "forget-1").write_text(json.dumps([job]))
    assert store.get(job) is not None


def forget_row(home: Path, job: str, store: Store) -> None:
    begin_forgetting(home, job, store)
    store.forget(job, NOW, "too old").result()


def remove_half(home: Path, job: str, store: Store) -> None:
    forget_row(home, job, store)
    (home / "jobs" / job / "spec").unlink()


def remove_all(home: Path, job: str, store: Store) -> None:
    forget_row(home, job, store)
    shutil.rmtree(home / "jobs" / job)


def write_half(home: Path, job: str, store: Store) -> None:
    begin_forgetting(home, job, store)
    (home / "new" / "forget-1").write_text(json.dumps([job])[:-3])


Step = Callable[[Path, str, Store], None]


@pytest.mark.parametrize(
    ("step", "stays"),
    [
        (write_half, True),
        (begin_forgetting, True),
        (forget_row, False),
        (remove_half, False),
        (remove_all, False),
    ],
)
async def test_forgetting_is_finished_or_taken_back(home: Path, step: Step, *, stays: bool) -> None:
    (job,) = await past_of(home, 1)
    store = Store(str(home / "bide.db"))
    step(home, job, store)
    store.close()
    async with homes.local(home) as jobs:
        if stays:
            assert (await jobs.read(job)).data == TEXT
        else:
            with pytest.raises(JobForgotten, match="too old"):
                await jobs.read(job)
        assert past.folders(home) == ({job} if stays else set())


def begin_dropping(home: Path, job: str, store: Store) -> None:
    (home / "new" / "drop-1").write_text(json.dumps([job]))
    assert store.get(job) is not None


def mark_folder(home: Path, job: str, store: Store) -> None:
    begin_dropping(home, job, store)
    folder.write_dropped(str(home / "jobs" / job), NOW)


def drop_row(home: Path, job: str, store: Store) -> None:
    mark_folder(home, job, store)
    store.past.drop_outputs([job], NOW).result()


def drop_file(home: Path, job: str, store: Store) -> None:
    drop_row(home, job, store)
    (home / "jobs" / job / "out").unlink()


@pytest.mark.parametrize(
    ("step", "stays"), [(begin_dropping, True), (mark_folder, False), (drop_row, False), (drop_file, False)]
)
@pytest.mark.parametrize("rebuilt", [False, True], ids=["database kept", "database lost"])
async def test_dropping_an_output_is_finished_or_taken_back(
    home: Path, step: Step, *, stays: bool, rebuilt: bool
) -> None:
    (job,) = await past_of(home, 1)
    store = Store(str(home / "bide.db"))
    step(home, job, store)
    store.close()
    if rebuilt:
        (home / "bide.db").unlink()
    async with homes.local(home) as jobs:
        found = await jobs.read(job)
        assert (found.data, found.head, found.size) == ((TEXT, 0, 6) if stays else (b"", 6, 6))
        assert (await jobs.get(job)).output_dropped_at == (None if stays else NOW)
        assert (home / "jobs" / job / "out").exists() == stays
        assert past.folders(home) == {job}


async def agree(jobs: Jobs, home: Path, ids: list[str]) -> int:
    """Every job is whole or forgotten, and has a folder or has none; how many are left."""
    left = past.folders(home)
    for job in ids:
        if job in left:
            assert (await jobs.read(job)).data == TEXT
        else:
            with pytest.raises(JobForgotten):
                await jobs.get(job)
    return len(left)


async def test_a_daemon_killed_while_it_removes_a_past_leaves_nothing_half(home: Path, torture: int) -> None:
    for _ in rounds():
        ids = await past_of(home, torture * 4)
        left = len(ids)
        async with homes.remote(home) as jobs:
            while left == len(ids):
                await jobs.list()
                with closing(Http(home)) as http:
                    http.request("POST", "/v1/gc", '{"older_than_ms": 0}')
                    await anyio.sleep(random.uniform(0, 0.3))
                    await homes.kill_daemon(home)
                await jobs.list()
                left = await agree(jobs, home, ids)
            with anyio.fail_after(LONG.total_seconds() * max(1, torture / 50)):
                await cast("Upkeep", jobs).gc(older_than=timedelta(0))
            assert await agree(jobs, home, ids) == 0
