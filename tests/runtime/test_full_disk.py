"""A full disk: the job waits, nothing is invented, and the end is recorded all the same."""

import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.support import disks, homes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually

from bide import Limits, Reason, Turn
from bide.api import Jobs
from bide.mcpserver.text import job_data, job_line
from bide.model.errors import DiskFull, JobForgotten
from bide.model.schedule import Rules
from bide.model.until import Until
from bide.runtime import forgetting
from bide.runtime.local import LocalJobs

pytestmark = pytest.mark.root

KB = 1024
MOMENT = timedelta(seconds=0.6)


def fill(folder: Path) -> Path:
    """Take every free byte."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (64 * KB, 4 * KB):
            while True:
                try:
                    file.write(bytes(size))
                except OSError:
                    break
    return filler


async def stalled(jobs: Jobs, job: str) -> bool:
    facts = (await jobs.get(job)).facts
    return facts is not None and facts.stalled


@pytest.mark.parametrize("door", ["local", "remote"])
async def test_output_waits_for_room_and_then_goes_on_byte_for_byte(small_disk: Path, gate: Gate, door: str) -> None:
    async with (homes.local if door == "local" else homes.remote)(small_disk / "home") as jobs:
        script = f"echo begun; {gate.wait}; seq -f %09.0f 20000; exit 3"
        job = (await jobs.run(script, limits=Limits(idle=MOMENT), background=True)).job.id
        await jobs.read(job, follow=LONG)
        filler = fill(small_disk)
        gate.open()
        assert (await jobs.wait([job], until=Until(stalled=True))).met == "stalled"
        assert "is stalled: the disk is full" in job_line(await jobs.get(job))
        assert job_data(await jobs.get(job))["stalled"] is True
        assert (await jobs.wait([job], timeout=2 * MOMENT)).timed_out, "the idle limit is suspended meanwhile"
        filler.unlink()
        assert (await jobs.wait([job], until=Until(stalled=False))).met in ("stalled", "ended")
        end = (await end_of(jobs, job)).end
        assert (end.reason, end.exit_code, end.missing_bytes) == (Reason.EXITED, 3, 0)
        whole = b"begun\n" + b"".join(b"%09d\n" % number for number in range(1, 20_001))
        assert (await jobs.read(job)).data == whole
        assert not await stalled(jobs, job)


async def test_an_end_on_a_full_disk_is_recorded_and_says_what_is_missing(small_disk: Path, gate: Gate) -> None:
    async with homes.local(small_disk / "home") as jobs:
        job = (await jobs.run(f"echo begun; {gate.wait}; head -c 60000 /dev/zero; exit 5", background=True)).job.id
        await jobs.read(job, follow=LONG)
        filler = fill(small_disk)
        gate.open()
        end = (await end_of(jobs, job)).end
        assert (end.reason, end.exit_code) == (Reason.EXITED, 5)
        assert end.missing_bytes == len("begun\n") + 60_000 - end.out.size
        assert end.missing_bytes is not None
        assert end.missing_bytes > 50_000
        assert (await jobs.read(job)).data.startswith(b"begun\n")
        filler.unlink()
    async with homes.local(small_disk / "home") as jobs:
        assert (await end_of(jobs, job)).end == end


async def test_a_job_that_is_killed_on_a_full_disk_is_over(small_disk: Path, gate: Gate) -> None:
    async with homes.local(small_disk / "home") as jobs:
        job = (await jobs.run(f"echo begun; {gate.wait}; cat /dev/zero", background=True)).job.id
        await jobs.read(job, follow=LONG)
        filler = fill(small_disk)
        gate.open()

        async def is_stalled() -> bool:
            return await stalled(jobs, job)

        await eventually(is_stalled)
        killed = await jobs.kill(job)
        assert killed.verified_empty
        end = ended(killed.job).end
        assert end.reason is Reason.KILLED
        assert end.missing_bytes is not None
        assert end.missing_bytes > 0
        filler.unlink()


@pytest.mark.parametrize("door", ["local", "remote"])
async def test_input_that_finds_no_room_is_refused_whole(small_disk: Path, door: str) -> None:
    async with (homes.local if door == "local" else homes.remote)(small_disk / "home") as jobs:
        job = (await jobs.run("cat", stdin=True, background=True)).job.id
        await jobs.send(job, data=b"one\n")
        filler = fill(small_disk)
        os.truncate(filler, filler.stat().st_size - 8 * KB)
        with pytest.raises(DiskFull):
            await jobs.send(job, data=b"never\n" * 10 * KB)
        filler.unlink()
        await jobs.send(job, data=b"two\n" * 30 * KB, eof=True)
        assert (await end_of(jobs, job)).end.success
        assert (await jobs.read(job)).data == b"one\n" + b"two\n" * 30 * KB


async def test_nothing_is_started_when_there_is_no_room_for_it(small_disk: Path, tmp_path: Path) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        await jobs.run("true")
        filler = fill(small_disk)
        sentence = (
            f"no space left to record a job in '{home}'; free some .bide forget removes ended jobs. and try again"
        )
        with pytest.raises(DiskFull, match=sentence) as refused:
            await jobs.run(f"touch '{tmp_path}/ran'")
        assert refused.value.code == "disk_full"
        filler.unlink()
        assert not (tmp_path / "ran").exists()
        assert len((await jobs.list()).jobs) == 1
        assert [name for name in os.listdir(home / "new") if not name.startswith("spare-")] == []
        assert ended((await jobs.run("exit 4")).job).end.exit_code == 4


@pytest.mark.parametrize("its_row_says", ["ended", "running"])
async def test_a_job_can_be_forgotten_on_a_full_disk_and_that_makes_room(small_disk: Path, its_row_says: str) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        job = (await jobs.run("head -c 600K /dev/zero", deadline=LONG)).job.id
        if its_row_says == "ended":
            await jobs.list()
        fill(small_disk)
        with pytest.raises(DiskFull):
            await jobs.run("true")
        await jobs.forget(job)
        with pytest.raises(JobForgotten):
            await jobs.get(job)
        assert not (home / "jobs" / job).exists()
        assert [name for name in os.listdir(home / "new") if not name.startswith("spare-")] == []
        assert ended((await jobs.run("exit 4")).job).end.exit_code == 4


async def test_what_was_forgotten_before_its_row_said_that_it_ended_does_not_come_back(small_disk: Path) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        job = (await jobs.run("exec sleep 1000", background=True)).job.id
        core = cast("LocalJobs", jobs).core
        filler = fill(small_disk)
        await jobs.kill(job)
        with suppress(DiskFull):
            await core.settled()
        assert job in core.keeping.table.live, "its row could not be moved"
        filler.unlink()
        await jobs.forget(job)
        core.keeping.store_again()
        await core.settled()
        with pytest.raises(JobForgotten):
            await jobs.get(job)
        assert (await jobs.list()).jobs == ()
    async with homes.local(home) as jobs:
        assert (await jobs.list()).jobs == ()


async def test_a_row_that_waits_for_room_is_logged_once(small_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with homes.local(small_disk / "home") as jobs:
        job = (await jobs.run("exec sleep 1000", background=True)).job.id
        core = cast("LocalJobs", jobs).core
        fill(small_disk)
        await jobs.kill(job)
        for _ in range(3):
            core.keeping.store_again()
            with suppress(DiskFull):
                await core.settled()
        assert job in core.keeping.table.live, "its row could not be moved"
        assert [one.message for one in caplog.records if job in one.message and "database" in one.message] == [
            f"the end of {job} could not be written to the database yet: {DiskFull(home=str(small_disk / 'home'))}"
        ]


async def test_gc_counts_the_ended_jobs_whose_rows_wait_for_room(small_disk: Path) -> None:
    async with homes.local(small_disk / "home") as jobs:
        ids = [(await jobs.run("exec sleep 1000", background=True)).job.id for _ in range(3)]
        core = cast("LocalJobs", jobs).core
        fill(small_disk)
        for job in ids[:2]:
            await jobs.kill(job)
        found = await cast("LocalJobs", jobs).gc()
        assert [core.keeping.table.live[job].ended for job in ids] == [True, True, False], "no row could be moved"
        assert (found.kept, found.unseen) == (2, 2)


async def test_what_was_begun_to_be_forgotten_before_its_row_said_that_it_ended_is_forgotten_after_a_crash(
    small_disk: Path,
) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        job = (await jobs.run("exec sleep 1000", background=True)).job.id
        core = cast("LocalJobs", jobs).core
        filler = fill(small_disk)
        await jobs.kill(job)
        with suppress(DiskFull):
            await core.settled()
        forgetting.make_room(core.home, [job])
    filler.unlink()
    async with homes.local(home) as jobs:
        with pytest.raises(JobForgotten):
            await jobs.get(job)
        assert (await jobs.list()).jobs == ()
        assert os.listdir(home / "jobs") == []


async def test_what_cannot_be_written_for_a_verb_is_said_and_leaves_nothing(small_disk: Path) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        job = (await jobs.run("cat", stdin=True, background=True)).job.id
        filler = fill(small_disk)
        with pytest.raises(DiskFull):
            await jobs.send(job, data=b"x")
        with pytest.raises(DiskFull):
            await jobs.sessions.start("work")
        assert not (home / "sessions" / "work").exists()
        filler.unlink()
        await jobs.send(job, data=b"y", eof=True)
        await end_of(jobs, job)
        assert (await jobs.read(job)).data == b"y"


async def test_what_was_begun_to_be_forgotten_for_room_is_forgotten_after_a_crash(small_disk: Path) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        job = (await jobs.run("echo x")).job.id
        forgetting.make_room(cast("LocalJobs", jobs).core.home, [job])
    async with homes.local(home) as jobs:
        with pytest.raises(JobForgotten):
            await jobs.get(job)
        assert os.listdir(home / "jobs") == []
        assert [name for name in os.listdir(home / "new") if not name.startswith("spare-")] == []


async def test_many_starts_around_the_last_byte_each_run_or_say_that_they_did_not(small_disk: Path) -> None:
    home = small_disk / "home"
    async with homes.local(home) as jobs:
        await jobs.run("true")
        filler = fill(small_disk)
        with filler.open("ab") as file:
            file.truncate(filler.stat().st_size - 24 * KB)
        outcomes: list[str] = []
        for _ in range(8):
            try:
                outcomes.append(str(ended((await jobs.run("echo x", deadline=LONG)).job).end.reason))
            except DiskFull:
                outcomes.append("refused")
        assert set(outcomes) <= {"exited", "refused"}
        assert "refused" in outcomes
        filler.unlink()
        assert ended((await jobs.run("exit 4")).job).end.exit_code == 4


@pytest.mark.parametrize("inodes", range(0, 22, 3))
async def test_a_job_runs_or_is_refused_around_the_last_inode(tmp_path: Path, inodes: int) -> None:
    with disks.mounted(tmp_path / "disk", megabytes=16, inodes=300) as disk:
        home = disk / "home"
        async with homes.local(home) as jobs:
            await jobs.run("true")
            fillers = disks.fill_inodes(disk)
            for name in os.listdir(fillers)[:inodes]:
                (fillers / name).unlink()
            before = set(os.listdir(home / "jobs"))
            try:
                end = ended((await jobs.run("echo x", deadline=LONG)).job).end
                assert (end.reason, end.exit_code, end.missing_bytes) == (Reason.EXITED, 0, 0)
            except DiskFull:
                assert set(os.listdir(home / "jobs")) == before
                assert len((await jobs.list()).jobs) == 1
            assert [name for name in os.listdir(home / "new") if not name.startswith("spare-")] == []


async def test_a_job_whose_keeper_finds_no_room_waits_for_it(tmp_path: Path) -> None:
    with disks.mounted(tmp_path / "disk", megabytes=8) as disk:
        async with homes.local(disk / "home") as jobs:
            await jobs.groups.pause("g")
            ids = [(await jobs.run("echo hi", turn=Turn(group="g"), background=True)).job.id for _ in range(2)]
            await jobs.run("true")
            core = cast("LocalJobs", jobs).core
            # A keeper that is only being made ahead would take what is left below.
            new = disk / "home" / "new"
            await eventually(lambda: any(one.startswith("spare-") and one[-1].isdigit() for one in os.listdir(new)))
            await eventually(lambda: core.home.reserve.is_whole)
            filler = fill(disk)
            with filler.open("ab") as file:
                file.truncate(filler.stat().st_size - 12 * KB)
            core.queue.change(Rules())

            async def lacks_room() -> bool:
                found = [(await jobs.get(job)).facts for job in ids]
                return any(one is not None and one.queue is not None and "room" in one.queue.why for one in found)

            await eventually(lacks_room)
            lives = core.keeping.table.live
            waits = next(job for job in ids if lives[job].lacks_room or lives[job].held)
            await jobs.kill(waits, by="me")
            assert (await end_of(jobs, waits)).end.by == "me"
            filler.unlink()
            (other,) = {*ids} - {waits}
            assert (await end_of(jobs, other)).end.success


async def test_a_queued_job_waits_for_room_to_be_let_go_and_can_be_killed_meanwhile(small_disk: Path) -> None:
    async with homes.local(small_disk / "home") as jobs:
        await jobs.groups.pause("g")
        ids = [(await jobs.run("echo hi", turn=Turn(group="g"), background=True)).job.id for _ in range(2)]
        core = cast("LocalJobs", jobs).core
        filler = fill(small_disk)
        core.queue.change(Rules())

        async def put_back() -> bool:
            found = [(await jobs.get(job)).facts for job in ids]
            return all(facts is not None and facts.queue is not None for facts in found)

        await eventually(put_back)
        assert core.queue.busy == {}
        filler.unlink()
        await jobs.kill(ids[0], by="me")
        assert (await end_of(jobs, ids[0])).end.by == "me"
        assert (await end_of(jobs, ids[1])).end.success
