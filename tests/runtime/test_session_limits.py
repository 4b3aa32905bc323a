"""What sessions may hold, and how many there may be (checklist 92-95)."""

import json
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.homes import Door
from tests.support.patience import end_of, ended, eventually

from bide.api import Filter, Jobs
from bide.model.errors import JobForgotten, SessionNotFound

DOORS = pytest.mark.parametrize("door", [homes.local, homes.remote], ids=["local", "remote"])


def settle(home: Path, **settings: object) -> None:
    home.mkdir(mode=0o700)
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    (home / "config.toml").write_text("\n".join(["[sessions]", *lines, ""]))


async def open_ids(jobs: Jobs) -> list[str]:
    return sorted(one.id for one in await jobs.sessions.list())


async def test_the_eleventh_session_evicts_the_least_recently_active(jobs: Jobs) -> None:
    """Checklist 95."""
    for number in range(10):
        assert (await jobs.sessions.start(f"s{number}")).evicted == ()
    await jobs.run("true", session="s0")
    assert (await jobs.sessions.start("s10")).evicted == ("s1",)
    assert (await jobs.sessions.start("s11")).evicted == ("s2",)
    assert "s0" in await open_ids(jobs)
    assert len(await open_ids(jobs)) == 10
    with pytest.raises(SessionNotFound, match=r"no session 's1' is open \(it was evicted at 20"):
        await jobs.run("true", session="s1")


async def test_nobody_evicts_the_session_of_another(jobs: Jobs) -> None:
    await jobs.sessions.start("anns", owner="ann")
    for number in range(10):
        assert (await jobs.sessions.start(f"s{number}", owner="ben")).evicted == ()
    assert (await jobs.sessions.start("s10", owner="ben")).evicted == ("s0",)
    assert "anns" in await open_ids(jobs)


@DOORS
async def test_095_a_busy_session_is_evicted_before_one_that_was_active_later_and_its_jobs_go_on(
    door: Door, home: Path, gate: Gate
) -> None:
    """Checklist 95, without its kill: no job is ended to make room."""
    settle(home, most=3)
    async with door(home) as jobs:
        for session in ("a", "b", "c"):
            await jobs.sessions.start(session, owner="ann")
        going = [
            (await jobs.run(f"{gate.wait}; echo on", session=session, background=True)).job.id
            for session in ("a", "c", "b")
        ]
        await jobs.sessions.end("c")
        await jobs.sessions.start("idle", owner="ann")
        assert (await jobs.sessions.start("d", owner="ann")).evicted == ("a",)
        job = (await jobs.run(gate.wait, session="d", background=True)).job.id
        assert (await jobs.sessions.start("e", owner="ann")).evicted == ("b",)
        assert await open_ids(jobs) == ["d", "e", "idle"]
        kept = await jobs.get(going[0])
        assert (kept.phase_name, kept.owner, kept.session) == ("running", "ann", "a")
        for _ in range(3):
            gate.open()
        assert (await end_of(jobs, going[0])).end.exit_code == 0
        assert (await jobs.read(going[0])).data == b"on\n"
        await end_of(jobs, job)


async def test_a_foreground_run_of_an_evicted_session_ends_as_any_other(home: Path, gate: Gate) -> None:
    settle(home, most=1)
    async with homes.local(home) as jobs:
        await jobs.sessions.start("a")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                ran = await jobs.run(f"set -e; trap 'echo err' ERR; export A=1; {gate.wait}; echo done", session="a")
                assert (ended(ran.job).end.exit_code, ran.out and ran.out.data) == (0, b"done\n")

            group.start_soon(run)
            await eventually((home / "jobs" / "job-a-1" / "started").exists)
            assert (await jobs.sessions.start("b")).evicted == ("a",)
            assert (await jobs.sessions.start("a")).evicted == ("b",)
            gate.open()
        assert (await jobs.sessions.get("a")).env == {}
        assert (await jobs.run("true", session="a")).job.id == "job-a-2"


async def test_answers_show_the_last_mebibyte_of_each_stream(jobs: Jobs) -> None:
    """Checklist 92: what is not shown is still there, at its own offset."""
    await jobs.sessions.start("s")
    ran = await jobs.run("head -c 1500000 /dev/zero | tr '\\0' x; printf end; printf e >&2", session="s")
    assert ran.out is not None
    assert ran.err is not None
    assert (ran.out.offset, ran.out.next, len(ran.out.data)) == (1500003 - 1024 * 1024, 1500003, 1024 * 1024)
    assert ran.out.data.endswith(b"xend")
    assert (ran.err.offset, ran.err.data) == (0, b"e")
    assert (await jobs.read(ran.job.id, limit=5)).data == b"xxxxx"


@DOORS
async def test_over_its_bytes_a_session_forgets_its_oldest_ended_jobs(door: Door, home: Path, gate: Gate) -> None:
    """Checklist 93: running ones never."""
    settle(home, bytes=5000, keep="0s")
    async with door(home) as jobs:
        await jobs.sessions.start("s")
        running = (await jobs.run(f"head -c 9000 /dev/zero; {gate.wait}", session="s", background=True)).job.id
        ids = [(await jobs.run("head -c 1000 /dev/zero", session="s")).job.id for _ in range(6)]

        async def trimmed() -> bool:
            return [job.id for job in (await jobs.sessions.get("s")).jobs] == [*reversed(ids[2:]), running]

        await eventually(trimmed)
        for job in ids[:2]:
            with pytest.raises(JobForgotten):
                await jobs.get(job)
        assert (await jobs.get(running)).phase_name == "running"
        await jobs.sessions.update("s", vars={"big": "x" * 3000})
        job = (await jobs.run("true", session="s")).job.id

        async def smaller() -> bool:
            return [job.id for job in (await jobs.sessions.get("s")).jobs] == [job, ids[-1], running]

        await eventually(smaller)


async def test_ended_jobs_are_kept_for_a_while_although_they_are_too_much(home: Path) -> None:
    """Checklist 94: five minutes unless set otherwise."""
    settle(home, bytes=1000, keep="2s")
    async with homes.local(home) as jobs:
        await jobs.sessions.start("s")
        ids = [(await jobs.run("head -c 3000 /dev/zero", session="s")).job.id for _ in range(2)]
        assert len((await jobs.sessions.get("s")).jobs) == 2

        async def gone() -> bool:
            return (await jobs.sessions.get("s")).jobs == ()

        await eventually(gone)
        ended_at = ended((await jobs.run("true", session="s")).job).ended_at
        for job in ids:
            with pytest.raises(JobForgotten) as forgotten:
                await jobs.get(job)
            assert forgotten.value.facts["at"] <= ended_at.isoformat()


async def test_what_is_too_much_is_counted_anew_after_a_restart(home: Path) -> None:
    settle(home, bytes=4500, keep="0s")
    async with homes.local(home) as jobs:
        await jobs.sessions.start("s")
        first = (await jobs.run("head -c 4000 /dev/zero", session="s")).job.id
    async with homes.local(home) as jobs:
        await jobs.run("head -c 4000 /dev/zero", session="s")

        async def trimmed() -> bool:
            return [job.id for job in (await jobs.sessions.get("s")).jobs] == ["job-s-2"]

        await eventually(trimmed)
        with pytest.raises(JobForgotten):
            await jobs.get(first)


async def test_ending_leaves_the_jobs_of_an_earlier_session_of_the_same_id(home: Path, gate: Gate) -> None:
    """They went on when that one was evicted."""
    settle(home, most=1)
    async with homes.local(home) as jobs:
        await jobs.sessions.start("s")
        earlier = (await jobs.run(gate.wait, session="s", background=True)).job.id
        await jobs.sessions.start("t")
        await jobs.sessions.start("s")
        own = (await jobs.run(gate.wait, session="s", background=True)).job.id
        found = await jobs.sessions.get("s")
        assert ([job.id for job in found.jobs], found.running) == ([own], 1)
        assert (await jobs.sessions.end("s")).killed == (own,)
        assert (await jobs.get(earlier)).phase_name == "running"


async def test_093_vars_that_grow_trim_the_jobs_beside_them(home: Path) -> None:
    settle(home, bytes=4500, keep="0s")
    async with homes.local(home) as jobs:
        await jobs.sessions.start("s")
        for _ in range(2):
            await jobs.run("head -c 1000 /dev/zero", session="s")
        await jobs.run("session.vars['n'] = 'x' * 2000", session="s", language="python")

        async def one_is_left() -> bool:
            return [job.id for job in (await jobs.list(Filter(session="s"))).jobs] == ["job-s-3", "job-s-2"]

        await eventually(one_is_left)
        await jobs.sessions.update("s", vars={"m": "x" * 3000})

        async def none_is_left() -> bool:
            return (await jobs.list(Filter(session="s"))).jobs == ()

        await eventually(none_is_left)
