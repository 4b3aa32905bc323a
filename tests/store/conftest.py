"""A store in a temporary folder, and jobs and ends to put in it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bide.model.job import Job, Spec, make_id
from bide.model.phase import End, Ended, Queued, Reason, Running
from bide.store.store import Store

START = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "bide.db")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    store = Store(path)
    yield store
    store.close()


def make_jobs() -> Callable[..., Job]:
    numbers = count()

    def make(kind: str = "shell", **fields: Any) -> Job:
        created_at = START + timedelta(seconds=next(numbers))
        spec = Spec(argv=("/bin/sh", "-c", "true"), command="true", cwd="/", kind=kind)
        id_ = make_id(round(created_at.timestamp() * 1000), 0)
        return replace(Job(id_, spec, created_at), **fields)

    return make


def make_end(reason: Reason = Reason.EXITED, exit_code: int | None = 0) -> Ended:
    started_at = START + timedelta(hours=1)
    end = End(reason, exit_code=exit_code, duration=timedelta(seconds=2))
    return Ended(started_at + timedelta(seconds=2), end, started_at=started_at, pid=77)


@pytest.fixture
def make() -> Callable[..., Job]:
    """Makes queued jobs, one second apart; `kind` and the fields of a job can be given."""
    return make_jobs()


@pytest.fixture(scope="session")
def over() -> Callable[..., Ended]:
    """Makes ends of jobs that ran."""
    return make_end


@pytest.fixture(scope="session")
def jobs() -> list[Job]:
    """Sixty jobs, among which every condition of a filter holds for some, and every two conditions do."""
    make = make_jobs()
    phases = [make_end(), make_end(Reason.KILLED, None), make_end(), Running(START, 7), Queued()]
    jobs = [
        make(
            kind="python" if number % 2 else "shell",
            owner="agent" if number % 3 else "user",
            session="s1" if number % 4 else None,
            parent="j1" if number % 5 < 3 else None,
            label="nightly" if number % 5 else "",
            phase=phases[number % 7 % 5],
        )
        for number in range(60)
    ]
    return [replace(job, name="build") if isinstance(job.phase, Ended) and n % 6 else job for n, job in enumerate(jobs)]
