"""Don't run it twice. The checklist's numbers are in the comments."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, eventually

import bide
from bide import Queued, Request
from bide.api import Jobs, Ran
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest
from bide.model.turn import Turn
from bide.model.until import Until
from bide.runtime.dedup import print_of

RUNNING, RECENT = Dedup(Policy.REUSE_RUNNING), Dedup(Policy.REUSE_RECENT)


async def start(jobs: Jobs, command: str, dedup: Dedup = RUNNING) -> Ran:
    return await jobs.run(command, dedup=dedup, background=True)


# 229, 230
@pytest.mark.parametrize("policy", [RUNNING, RECENT])
async def test_an_equal_request_joins_the_job_while_it_runs(jobs: Jobs, gate: Gate, policy: Dedup) -> None:
    command = f"echo once; {gate.wait}"
    first = await start(jobs, command, policy)
    await jobs.wait([first.job.id], until=Until(log="once"), timeout=LONG)
    second = await start(jobs, command, policy)
    third = await jobs.run(command, dedup=policy, deadline=timedelta(milliseconds=1))
    assert (first.joined, second.joined, third.joined, third.deferred) == (False, True, True, True)
    assert first.job.id == second.job.id == third.job.id
    assert third.out is not None
    assert third.out.data == b"once\n"
    gate.open()
    await end_of(jobs, first.job.id)
    assert len((await jobs.list()).jobs) == 1


async def test_a_queued_job_is_joined_as_well(jobs: Jobs) -> None:
    await jobs.groups.pause(None)
    first, second = await start(jobs, "true"), await start(jobs, "true")
    assert isinstance(second.job.phase, Queued)
    assert (second.joined, second.job.id) == (True, first.job.id)


# 229
async def test_one_that_ended_with_success_is_joined_within_the_window_only(jobs: Jobs) -> None:
    first = await jobs.run("echo built", dedup=RECENT)
    again = await jobs.run("echo built", dedup=RECENT)
    assert (first.joined, again.joined, again.job.id) == (False, True, first.job.id)
    assert again.out is not None
    assert again.out.data == b"built\n"
    assert not (await jobs.run("echo built", dedup=RUNNING)).joined


# 231
async def test_a_window_of_0_joins_none_that_ended_and_a_fresh_one_joins_nothing(jobs: Jobs) -> None:
    first = await jobs.run("true", dedup=RECENT)
    shut = await jobs.run("true", dedup=replace(RECENT, window=timedelta(0)))
    assert not shut.joined
    fresh = await jobs.run("true", dedup=replace(RECENT, fresh=True))
    assert not fresh.joined
    assert len({first.job.id, shut.job.id, fresh.job.id}) == 3
    assert (await jobs.run("true", dedup=RECENT)).job.id == fresh.job.id


# 230
@pytest.mark.parametrize("command", ["exit 1", "kill -9 $$", "/no/such/program"])
async def test_one_that_failed_is_never_joined(jobs: Jobs, command: str) -> None:
    first = await jobs.run(command, dedup=RECENT)
    assert not (await jobs.run(command, dedup=RECENT)).joined
    assert not (await jobs.run(command, dedup=RECENT)).joined
    assert first.job.fingerprint is not None


async def test_one_that_was_killed_is_never_joined(jobs: Jobs, gate: Gate) -> None:
    first = await start(jobs, f"trap 'exit 0' TERM; {gate.wait}", RECENT)
    await jobs.kill(first.job.id)
    assert not (await start(jobs, f"trap 'exit 0' TERM; {gate.wait}", RECENT)).joined


async def test_a_success_is_found_behind_later_failures(jobs: Jobs, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    first = await jobs.run(f"test ! -e {flag}", dedup=RECENT)
    flag.touch()
    failed = await jobs.run(f"test ! -e {flag}", dedup=replace(RECENT, fresh=True))
    assert failed.job.id != first.job.id
    assert (await jobs.run(f"test ! -e {flag}", dedup=RECENT)).job.id == first.job.id


# 232
@pytest.mark.parametrize(
    ("change", "joined"),
    [
        ({"command": ("true", "x")}, False),
        ({"cwd": "/"}, False),
        ({"env": {"A": "1", "B": "3"}}, False),
        ({"stdin": True}, False),
        ({"owner": "somebody-else"}, False),
        ({"env": {"B": "2", "A": "1"}}, True),
        ({"base_env": {"PATH": "/bin:/usr/bin", "TERM_SESSION": "9"}}, True),
        ({"key": "another", "label": "another", "name": "another"}, True),
    ],
    ids=["command", "cwd", "env", "stdin", "owner", "order of env", "surroundings", "key, label, name"],
)
async def test_what_makes_requests_equal(jobs: Jobs, change: dict[str, Any], *, joined: bool) -> None:
    request = Request(("true",), env={"A": "1", "B": "2"}, dedup=RECENT, background=True)
    first = await jobs.run(request)
    await end_of(jobs, first.job.id)
    second = await jobs.run(replace(request, **change))
    assert second.joined is joined
    assert (second.job.id == first.job.id) is joined


# 230: policy new neither joins nor is joined
async def test_a_new_one_neither_joins_nor_is_joined(jobs: Jobs, gate: Gate) -> None:
    ids = {(await start(jobs, gate.wait, dedup)).job.id for dedup in (Dedup(), RUNNING, Dedup(), RUNNING)}
    assert len(ids) == 3
    assert (await jobs.run("true")).job.fingerprint is None


def test_the_same_in_another_session_is_another_job() -> None:
    one, two = (Request("true", session=session, dedup=RECENT) for session in ("s1", "s2"))
    assert print_of(one) != print_of(two)


# 233
async def test_it_works_over_a_restart_of_the_daemon(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        done = await jobs.run("echo built", dedup=RECENT)
        running = await start(jobs, gate.wait)
        await homes.kill_daemon(home)
        assert (await jobs.run("echo built", dedup=RECENT)).job.id == done.job.id
        assert (await start(jobs, gate.wait)).job.id == running.job.id
        await homes.kill_daemon(home)
        for file in home.glob("bide.db*"):
            file.unlink()
        assert (await jobs.run("echo built", dedup=RECENT)).job.id == done.job.id
        assert (await start(jobs, gate.wait)).job.id == running.job.id


# 234
async def test_of_many_simultaneous_calls_by_two_clients_one_starts_the_job(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs, bide.connect(home) as others:
        answers: list[Ran] = []

        async def ask(door: Jobs) -> None:
            answers.append(await start(door, gate.wait))

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, others if number % 2 else jobs)
        assert len({ran.job.id for ran in answers}) == 1
        assert sum(not ran.joined for ran in answers) == 1
        assert len((await jobs.list()).jobs) == 1


async def test_of_several_equal_ones_the_newest_that_can_be_joined_is(jobs: Jobs, gate: Gate, tmp_path: Path) -> None:
    once = f"mkdir {tmp_path / 'once'} && {gate.wait}"
    running = await start(jobs, once)
    await eventually((tmp_path / "once").exists)
    failed = await jobs.run(once, dedup=replace(RUNNING, fresh=True))
    assert failed.job.id != running.job.id
    for policy in (RUNNING, RECENT):
        joined = await start(jobs, once, policy)
        assert (joined.joined, joined.job.id) == (True, running.job.id)


# 259
async def test_a_client_that_gave_up_finds_its_job_by_asking_again(jobs: Jobs, gate: Gate) -> None:
    first = await jobs.run(gate.wait, dedup=RECENT, deadline=timedelta(milliseconds=20))
    assert first.deferred
    gate.open()
    again = await jobs.run(gate.wait, dedup=RECENT, deadline=LONG)
    assert (again.joined, again.deferred, again.job.id) == (True, False, first.job.id)


async def test_turns_are_no_part_of_what_makes_requests_equal(jobs: Jobs, gate: Gate) -> None:
    first = await start(jobs, gate.wait)
    second = await jobs.run(gate.wait, dedup=RUNNING, turn=Turn(priority=5), background=True)
    assert second.job.id == first.job.id


@pytest.mark.parametrize(
    "dedup", [Dedup(Policy.REUSE_RECENT, timedelta(seconds=-1)), Dedup(Policy.NEW, fresh=True)], ids=["window", "fresh"]
)
async def test_what_cannot_be_meant_is_refused(jobs: Jobs, dedup: Dedup) -> None:
    with pytest.raises(BadRequest):
        await jobs.run("true", dedup=dedup)
