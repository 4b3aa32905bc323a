"""The daemon dies while services come and go: each end has exactly one successor, and what is ready stays so."""

import random
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, eventually

import bide
from bide import Filter, Job, Reason, Restart, Service, Until
from bide.api import Jobs


async def runs(jobs: Jobs) -> list[Job]:
    """Every run of the service, the first one first."""
    return list(reversed((await jobs.list(Filter(name="web"), limit=500)).jobs))


def numbers(found: list[Job]) -> list[int]:
    return [job.spec.service.run for job in found if job.spec.service is not None]


async def until_runs(jobs: Jobs, count: int) -> None:
    async def enough() -> bool:
        return len(await runs(jobs)) >= count

    await eventually(enough)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "gate")
    yield found
    found.close()


@pytest.fixture
def seed() -> int:
    return random.randrange(1 << 30)


async def test_a_daemon_that_dies_at_any_instant_leaves_exactly_one_successor(
    remote: Jobs, home: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    service = Service(restart=Restart.ALWAYS, restarts=1000)
    await remote.run(f"echo . >> '{tmp_path}/starts'; exit 1", name="web", service=service, background=True)
    for count in range(2, 5):
        await until_runs(remote, count)
        await anyio.sleep(chance.random() * 0.6)
        await homes.kill_daemon(home)
    await until_runs(remote, 6)
    await remote.kill("web")

    found = await runs(remote)

    assert numbers(found) == list(range(len(found)))
    started = [job for job in found if isinstance(job.phase, bide.Ended) and job.phase.started_at is not None]
    assert len((tmp_path / "starts").read_text().splitlines()) == len(started)


async def test_a_successor_that_was_not_yet_put_on_record_is_found_again(remote: Jobs, home: Path) -> None:
    """As if the daemon had died between the commit of the successor and the note in the folder of who ended."""
    await remote.run("test $BIDE_JOB = x || exit 1", name="web", service=Service(restart=Restart.ALWAYS))
    await until_runs(remote, 2)
    first, *_ = await runs(remote)
    await homes.kill_daemon(home)
    (home / "jobs" / first.id / "next").unlink(missing_ok=True)
    await until_runs(remote, 3)
    await remote.kill("web")
    found = await runs(remote)
    assert numbers(found) == list(range(len(found)))


async def test_a_service_that_ended_while_no_daemon_was_there_comes_back(remote: Jobs, home: Path, gate: Gate) -> None:
    script = f"{gate.wait}; exit $line"
    first = (await remote.run(script, name="web", service=Service(restart=Restart.ON_FAILURE), background=True)).job
    await homes.kill_daemon(home)
    gate.open("3")
    await eventually((home / "jobs" / first.id / "end").exists)
    async with bide.connect(home) as again:
        await until_runs(again, 2)
        second = (await runs(again))[1]
        assert (await end_of(again, first.id)).end.exit_code == 3
        gate.open("0")
        assert (await end_of(again, second.id)).end.exit_code == 0
        assert len(await runs(again)) == 2


async def test_a_restart_that_waits_goes_on_waiting_and_can_still_be_ended(remote: Jobs, home: Path) -> None:
    service = Service(restart=Restart.ALWAYS, ready=Until(log="never"), tries=6)  # so the pause is 30 s
    await remote.run("exit 1", name="web", service=service)
    await homes.kill_daemon(home)
    assert [job.phase_name for job in await runs(remote)] == ["ended", "queued"]
    killed = await remote.kill("web")
    assert isinstance(killed.job.phase, bide.Ended)
    assert killed.job.phase.end.reason is Reason.KILLED
    await homes.kill_daemon(home)
    assert [job.phase_name for job in await runs(remote)] == ["ended", "ended"]


async def test_who_was_stopped_stays_down_after_a_restart_of_the_daemon_and_when_forgotten(
    remote: Jobs, home: Path
) -> None:
    await remote.run("exit 1", name="web", service=Service(restart=Restart.ALWAYS, ready=Until(log="never")))
    second = (await remote.kill("web")).job
    await remote.forget(second.id)
    await homes.kill_daemon(home)
    assert [job.phase_name for job in await runs(remote)] == ["ended"]


@pytest.mark.parametrize("how", ["log", "command"])
async def test_that_a_service_is_ready_survives_the_daemon_or_is_found_again(
    remote: Jobs, home: Path, gate: Gate, tmp_path: Path, how: str
) -> None:
    service = Service(ready=Until(log="^up")) if how == "log" else Service(ready_command=f"test -e '{tmp_path}/up'")
    script = f"{gate.wait}; touch '{tmp_path}/up'; echo up; exec sleep 100"
    job = (await remote.run(script, name="web", service=service, background=True)).job
    await homes.kill_daemon(home)
    gate.open()
    waited = await remote.wait([job.id], until=Until(ready=True), timeout=LONG)
    assert waited.met == "ready"
    before = waited.jobs[0].facts
    await homes.kill_daemon(home)
    after = (await remote.get(job.id)).facts
    assert before is not None
    assert after is not None
    assert (after.ready, after.ready_at) == (True, before.ready_at)


async def test_what_was_decided_survives_the_loss_of_the_database(remote: Jobs, home: Path) -> None:
    service = Service(restart=Restart.ALWAYS, restarts=1, ready=Until(log="never"))
    await remote.run("exit 1", name="web", service=service)
    await until_runs(remote, 2)
    await end_of(remote, "web")
    await homes.kill_daemon(home)
    for file in home.glob("bide.db*"):
        file.unlink()
    found = [await remote.get(job.id) for job in await runs(remote)]
    assert numbers(found) == [0, 1]
    assert found[0].facts is not None
    assert found[0].facts.successor == found[1].id
    assert found[1].facts is not None
    assert "1 times in a row" in found[1].facts.gave_up
