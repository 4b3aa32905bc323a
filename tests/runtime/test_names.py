"""A name that several owners use means, to each, its own job."""

import pytest
from tests.support.gates import Gate
from tests.support.patience import end_of

from bide.api import Jobs


async def test_a_name_means_the_askers_own_job_before_anybody_elses(jobs: Jobs, gate: Gate) -> None:
    mine = (await jobs.run("exit 3", name="build")).job.id
    theirs = (await jobs.run(f"{gate.wait}; exit 4", name="build", owner="them", background=True)).job.id
    assert (await jobs.wait(["build"])).jobs[0].id == mine

    await jobs.forget("build")
    assert (await jobs.get("build")).id == theirs, "who has none of that name means the other one"
    gate.open()
    await end_of(jobs, theirs)


async def test_who_asks_is_the_owner_of_the_client(remote: Jobs, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = (await remote.run("exit 4", name="build", owner="them")).job.id
    mine = (await remote.run(gate.wait, name="build", background=True)).job.id
    monkeypatch.setenv("BIDE_OWNER", "them")
    assert (await remote.get("build")).id == theirs
    monkeypatch.delenv("BIDE_OWNER")
    assert (await remote.get("build")).id == mine
    gate.open()
    await end_of(remote, mine)
