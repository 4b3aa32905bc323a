"""Somebody has had enough."""

from datetime import timedelta

import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG, ended

from bide import Limits, Reason, Until
from bide.api import Jobs
from bide.model.errors import JobForgotten


async def test_a_killed_job_is_over_with_its_whole_tree_and_says_who_asked(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"sleep 1000 & sleep 1000 & echo up; {gate.wait}", background=True)).job.id
    await jobs.wait([job], until=Until(log="up"), timeout=LONG)

    killed = await jobs.kill(job, by="a reviewer")

    assert killed.signalled == 3
    assert killed.verified_empty
    assert killed.survivors == ()
    assert ended(killed.job).end.reason is Reason.KILLED
    assert ended(killed.job).end.by == "a reviewer"
    assert ended(killed.job).end.signal == 15


async def test_a_job_past_its_time_limit_is_ended_and_says_so(jobs: Jobs) -> None:
    ran = await jobs.run("sleep 1000", limits=Limits(timeout=timedelta(seconds=0.2)), deadline=LONG)

    assert ended(ran.job).end.reason is Reason.TIMED_OUT
    assert ended(ran.job).end.exit_code is None
    assert ended(ran.job).end.error == "it ran longer than 0.2 s"


async def test_a_forgotten_job_is_gone_and_its_id_says_so(jobs: Jobs) -> None:
    job = (await jobs.run("echo secret")).job.id

    await jobs.forget(job)

    with pytest.raises(JobForgotten, match=f"job '{job}' was forgotten at 20"):
        await jobs.get(job)
    assert (await jobs.list()).jobs == ()
