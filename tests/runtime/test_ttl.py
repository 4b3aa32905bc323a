"""A time to live: the job is ended that long after it was asked for, whoever dies meanwhile."""

import os
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.clocks import Clock
from tests.support.patience import LONG, end_of, eventually

import bide
from bide import Reason
from bide.api import Jobs
from bide.model.errors import BadRequest

SHORT = timedelta(seconds=0.4)


async def nothing_left(jobs: Jobs, job: str) -> bool:
    facts = (await jobs.get(job)).facts
    return facts is None or not facts.alive


async def test_it_is_ended_when_its_time_is_over(jobs: Jobs) -> None:
    began = anyio.current_time()
    job = (await jobs.run("sleep 1000 & sleep 1000", background=True, ttl=SHORT)).job
    assert job.spec.ttl == SHORT
    end = (await end_of(jobs, job.id)).end
    assert (end.reason, end.by, end.exit_code) == (Reason.KILLED, "ttl", None)
    await eventually(lambda: nothing_left(jobs, job.id))
    assert SHORT.total_seconds() <= anyio.current_time() - began


async def test_one_that_ends_before_is_left_alone(jobs: Jobs) -> None:
    first = (await jobs.run("true", ttl=SHORT)).job
    job = (await jobs.run("sleep 1000", background=True, ttl=SHORT)).job.id
    await end_of(jobs, job)
    assert (await jobs.get(first.id)).phase == first.phase


async def test_a_program_that_takes_no_notice_is_ended_all_the_same(jobs: Jobs) -> None:
    limits = bide.Limits(grace=timedelta(seconds=0.2))
    job = (await jobs.run("trap '' TERM; while :; do sleep 1000; done", background=True, ttl=SHORT, limits=limits)).job
    end = (await end_of(jobs, job.id)).end
    assert (end.reason, end.by) == (Reason.KILLED, "ttl")


async def test_a_foreground_run_answers_with_that_end(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 1000", ttl=SHORT)).job
    assert isinstance(job.phase, bide.Ended)
    assert job.phase.end.by == "ttl"


async def test_the_time_goes_on_while_no_daemon_is_there(home: Path) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run("sleep 1000", background=True, ttl=timedelta(seconds=1))).job.id
        await homes.kill_daemon(home)
        await anyio.sleep(1)
        ended = await end_of(jobs, job)
        assert ended.end.by == "ttl"
        assert ended.ended_at - (await jobs.get(job)).created_at >= timedelta(seconds=1)


async def test_a_restart_does_not_end_it_early(home: Path) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run("sleep 1000", background=True, ttl=timedelta(seconds=2))).job.id
        await homes.kill_daemon(home)
        ended = await end_of(jobs, job)
        lived = ended.ended_at - (await jobs.get(job)).created_at
        assert timedelta(seconds=2) <= lived


@pytest.mark.parametrize("restarts", [False, True], ids=["lives on", "restarts"])
async def test_a_clock_that_jumps_ends_nothing_early(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, *, restarts: bool
) -> None:
    plain = dict(os.environ)
    clock = Clock(tmp_path)
    for name, value in clock.env.items():
        monkeypatch.setenv(name, value)
    async with homes.remote(home) as jobs:
        job = (await jobs.run("sleep 1000", background=True, ttl=timedelta(minutes=5), base_env=plain)).job.id
        clock.jump(10 * 3600)
        if restarts:
            await homes.kill_daemon(home)
        assert (await jobs.wait([job], timeout=timedelta(seconds=0.5))).timed_out
        assert (await jobs.get(job)).phase_name == "running"


async def test_a_time_that_cannot_be_meant_is_refused(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match="a time to live must be above 0"):
        await jobs.run("true", ttl=timedelta(0))
    assert (await jobs.list()).jobs == ()


async def test_without_one_it_lives_on(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 1000", background=True)).job.id
    await end_of(jobs, (await jobs.run("sleep 1000", background=True, ttl=SHORT)).job.id)
    assert (await jobs.get(job)).phase_name == "running"
    assert not (await jobs.kill(job, grace=LONG)).already_ended
