"""Jobs that live with their owner: when its last client is gone they have a time of grace, and are then ended.

Checklist 56 and 268.
"""

import signal
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
import pytest
from tests.support import homes, past
from tests.support.http import Http
from tests.support.patience import end_of

import bide
from bide import Reason
from bide.api import Jobs, Upkeep
from bide.model.errors import BadRequest
from bide.model.lifetime import Lifetime

GRACE = timedelta(seconds=0.3)
MOMENT = timedelta(seconds=0.6)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return past.settle(tmp_path / "home", owner_grace="0.3s")


@pytest.fixture
def upkeep(jobs: Jobs) -> Upkeep:
    return cast("Upkeep", jobs)


async def start(jobs: Jobs, owner: str, lifetime: Lifetime = Lifetime.OWNER) -> str:
    return (await jobs.run("sleep 1000", background=True, owner=owner, lifetime=lifetime)).job.id


async def runs(jobs: Jobs, job: str) -> bool:
    return (await jobs.wait([job], timeout=MOMENT)).timed_out


async def test_it_goes_on_while_its_owner_is_there_and_ends_after(jobs: Jobs, upkeep: Upkeep) -> None:
    async with upkeep.attend("agent-1"):
        job = await start(jobs, "agent-1")
        assert await runs(jobs, job)
        left = anyio.current_time()
    end = (await end_of(jobs, job)).end
    assert (end.reason, end.by) == (Reason.KILLED, "owner gone")
    assert anyio.current_time() - left >= GRACE.total_seconds()


async def test_only_what_lives_with_that_owner_ends(jobs: Jobs, upkeep: Upkeep) -> None:
    """Checklist 56."""
    async with upkeep.attend("agent-2"):
        async with upkeep.attend("agent-1"):
            mine, free = await start(jobs, "agent-1"), await start(jobs, "agent-1", Lifetime.FREE)
            other = await start(jobs, "agent-2")
        await end_of(jobs, mine)
        assert await runs(jobs, other)
        assert (await jobs.get(free)).phase_name == "running"


async def test_the_last_client_counts(jobs: Jobs, upkeep: Upkeep) -> None:
    async with upkeep.attend("agent-1"):
        async with upkeep.attend("agent-1"):
            job = await start(jobs, "agent-1")
        assert await runs(jobs, job)


async def test_coming_back_in_time_is_enough(jobs: Jobs, upkeep: Upkeep) -> None:
    async with upkeep.attend("agent-1"):
        job = await start(jobs, "agent-1")
    async with upkeep.attend("agent-1"):
        assert await runs(jobs, job)


async def test_of_an_owner_who_never_comes_it_has_the_time_of_grace(jobs: Jobs) -> None:
    end = (await end_of(jobs, await start(jobs, "agent-1"))).end
    assert end.by == "owner gone"


async def test_whoever_runs_it_in_the_foreground_is_there(jobs: Jobs) -> None:
    ran = await jobs.run("sleep 0.8; echo done", owner="agent-1", lifetime=Lifetime.OWNER)
    assert ran.out is not None
    assert ran.out.data == b"done\n"


async def test_whoever_follows_it_is_there(remote: Jobs, home: Path) -> None:
    job = (await remote.run("sleep 0.8; echo done", background=True, lifetime=Lifetime.OWNER)).job.id
    with Http(home).raw("GET", f"/v1/jobs/{job}/follow") as answer:
        assert b"done" in await anyio.to_thread.run_sync(answer.read)


async def test_a_name_that_no_owner_has_is_refused(upkeep: Upkeep) -> None:
    with pytest.raises(BadRequest, match="cannot be an owner"):
        async with upkeep.attend("no such owner"):
            pass


async def test_what_is_raised_inside_comes_out_as_it_is(upkeep: Upkeep) -> None:
    with pytest.raises(ZeroDivisionError):
        async with upkeep.attend("agent-1"):
            raise ZeroDivisionError


CLIENT = """
import sys, anyio, bide
async def main():
    async with bide.connect(sys.argv[1]) as jobs, jobs.attend("agent-1"):
        ran = await jobs.run("sleep 1000", background=True, owner="agent-1", lifetime="owner", name="server")
        print("there", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


async def test_a_client_that_is_killed_is_gone(remote: Jobs, home: Path) -> None:
    words = [sys.executable, "-c", CLIENT, str(home)]
    with subprocess.Popen(  # noqa: ASYNC220 - it is a program of its own
        words, stdout=subprocess.PIPE
    ) as client:
        assert client.stdout is not None
        assert await anyio.to_thread.run_sync(client.stdout.readline) == b"there\n"
        assert await runs(remote, "server")
        client.send_signal(signal.SIGKILL)
    assert (await end_of(remote, "server")).end.by == "owner gone"


async def test_another_owner_cannot_end_it(remote: Jobs, home: Path) -> None:
    """Checklist 268: there is no request that ends somebody else's presence."""
    async with cast("Upkeep", remote).attend("agent-1"):
        job = await start(remote, "agent-1")
        for method in ("DELETE", "POST", "PUT"):
            with closing(Http(home)) as http:
                status, said = http.ask(method, "/v1/owners/agent-1/attend")
            assert (status, said["error"]["code"]) == (400, "bad_request")
        with closing(Http(home)) as http:
            http.raw("GET", "/v1/owners/agent-1/attend").close()
        assert await runs(remote, job)


async def test_a_client_is_there_again_when_the_daemon_was_replaced(remote: Jobs, home: Path) -> None:
    async with cast("Upkeep", remote).attend("agent-1"):
        job = await start(remote, "agent-1")
        await homes.kill_daemon(home)
        assert await runs(remote, job)
        assert await runs(remote, job)


async def test_after_a_restart_the_time_of_grace_begins_anew(home: Path) -> None:
    async with bide.local(home) as jobs, jobs.attend("agent-1"):
        job = await start(jobs, "agent-1")
    async with homes.local(home) as jobs:
        end = (await end_of(jobs, job)).end
        assert (end.by, end.reason) == ("owner gone", Reason.KILLED)


async def test_what_lives_with_a_session_ends_with_it(jobs: Jobs) -> None:
    session = (await jobs.sessions.start()).session.id
    job = (await jobs.run("sleep 1000", session=session, lifetime=Lifetime.SESSION, background=True)).job.id
    await jobs.sessions.end(session)
    assert (await end_of(jobs, job)).end.reason is Reason.KILLED


async def test_a_lifetime_can_be_said_in_a_word(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 1000", background=True, lifetime=cast("Lifetime", "owner"))).job
    assert job.spec.lifetime == Lifetime.OWNER
    assert (await end_of(jobs, job.id)).end.by == "owner gone"
    with pytest.raises(BadRequest, match="there is no lifetime 'week'; use free, session, owner"):
        await jobs.run("true", lifetime=cast("Lifetime", "week"))


async def test_only_a_job_in_a_session_can_live_with_it(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match="only a job in a session can end with it"):
        await jobs.run("true", lifetime=Lifetime.SESSION)
