"""What is due to an agent rides on the next tool answer, once."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import TextContent
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support import homes
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.schema import Json
from bide.runtime.local import LocalJobs


async def settled(jobs: Jobs, owner: str) -> None:
    """Return when something is due to this owner."""
    with anyio.fail_after(20):
        while not any(one.consumer == owner and one.due for one in await jobs.outbox.list()):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def started(ai: Agent, gate: Gate, command: str = "true", **more: object) -> str:
    """A job that goes on when the gate opens: what is over sooner is told in the answer to its `run`."""
    return (await ai.data("run", command=f"{gate.wait}; {command}", background=True, **more))["job"]


async def ended(ai: Agent, gate: Gate, jobs: Jobs, command: str = "true", **more: object) -> str:
    """A job whose end is due to ann."""
    job = await started(ai, gate, command, **more)
    gate.open()
    await settled(jobs, "ann")
    return job


async def test_36_an_end_rides_on_the_next_answer_in_text_and_in_data_and_is_not_repeated(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await ended(ai, gate, jobs_here, "echo broken >&2; exit 7", name="check")
        answer = await ai.ask("jobs", name="nothing")
        text = text_of(answer)
        data: Json = answer.structured_content or {}
        assert f"{job} (check) exited with 7" in text
        assert "broken" not in text
        (told,) = data["notices"]
        assert (told["job"], told["what"], told["exit_code"], told["extract"]) == (job, "failed", 7, "broken")
        again = await ai.data("jobs", name="nothing")
        assert "notices" not in again


async def test_what_an_answer_tells_by_itself_does_not_ride_on_it_or_on_the_next(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        assert "notices" not in await ai.data("run", command="true")
        job = await started(ai, gate)
        gate.open()
        assert "notices" not in await ai.data("await", jobs=[job])
        assert "notices" not in await ai.data("jobs")


async def test_39_the_answer_to_a_foreground_run_is_the_last_word_on_its_end_also_for_the_next_client(
    home: Path, tmp_path: Path
) -> None:
    async with homes.local(home) as jobs:
        async with agent(jobs, tmp_path, owner="ann") as ai:
            job = (await ai.data("run", command="exit 3"))["job"]
        assert isinstance(jobs, LocalJobs)
        assert not jobs.core.watches.is_watched(job)
        async with agent(jobs, tmp_path, owner="ann") as ai:
            assert "notices" not in await ai.data("jobs", name="nothing")


async def test_the_end_of_a_job_does_not_ride_on_the_answer_of_the_call_that_began_it(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        with jobs_here.outbox.answering("ann") as told:
            job = (await jobs_here.run("true", owner="ann", background=True)).job.id
            await settled(jobs_here, "ann")
            assert (told.begun, (await jobs_here.outbox.pull("ann")).items) == ([job], ())
        assert [one["job"] for one in (await ai.data("jobs", name="nothing"))["notices"]] == [job]


async def test_a_background_run_that_is_over_when_it_is_answered_tells_all_of_it(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        # Nobody can make it be over by then, but a second request for it comes later than its end.
        first = await ai.data("run", command="echo hi", reuse="recent")
        again = await ai.ask("run", command="echo hi", reuse="recent", background=True)
        data: Json = again.structured_content or {}
        assert (data["job"], data["joined"], data["exit_code"]) == (first["job"], True, 0)
        assert ("next" in data, "notices" in data) == (False, False)
        # The answer to the first showed what it wrote.
        assert data["out"]["text"] == ""
        assert "Nothing new since byte 3 of out" in text_of(again)


async def test_an_answer_that_was_never_followed_by_a_call_is_told_again_to_the_next_client(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await ended(ai, gate, jobs_here)
        assert len((await ai.data("jobs", name="nothing"))["notices"]) == 1
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        (told,) = (await ai.data("jobs", name="nothing"))["notices"]
        assert told["job"] == job


@pytest.mark.parametrize("again", [True, False])
async def test_what_a_dead_daemon_put_on_an_answer_is_told_again_if_the_client_still_waits_for_that_answer(
    jobs_here: Jobs, tmp_path: Path, *, again: bool
) -> None:
    job = (await jobs_here.run("exit 7", owner="ann", background=True)).job.id
    await settled(jobs_here, "ann")
    await jobs_here.outbox.pull("ann", carrier="mcp:c0ffee")
    async with agent(jobs_here, tmp_path, owner="ann", says={"connection": "c0ffee", "again": again}) as ai:
        told = (await ai.data("jobs", name="nothing")).get("notices", [])
        assert [one["job"] for one in told] == ([job] if again else [])
        assert "notices" not in await ai.data("jobs", name="nothing")


async def test_47_two_agents_are_told_of_their_own_jobs_alone(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ann, agent(jobs_here, tmp_path, owner="bob") as bob:
        await ended(ann, gate, jobs_here)
        assert "notices" not in await bob.data("jobs")
        assert len((await ann.data("jobs"))["notices"]) == 1


async def test_38_a_wait_that_gave_up_has_told_nothing(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await started(ai, gate)
        assert (await ai.data("await", jobs=[job], timeout=0))["met"] == "timeout"
        gate.open()
        await settled(jobs_here, "ann")
        assert [one["job"] for one in (await ai.data("jobs", name="nothing"))["notices"]] == [job]


async def test_a_call_that_is_refused_still_brings_what_is_due_later(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        job = await ended(ai, gate, jobs_here)
        await ai.refusal("logs", job="nothing-of-that-name")
        assert [one["job"] for one in (await ai.data("jobs", name="nothing"))["notices"]] == [job]


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "job": ("job", {"list": True}),
    "sessions": ("listSessions", {}),
    "process": ("process.list", {}),
    "llm": ("cli_versions", {"cli": "claude"}),
}
"""A call of each vocabulary that tells of no job's end."""


@pytest.mark.parametrize("client", ["claude-code", "a client nobody knows"])
@pytest.mark.parametrize("tools", OTHERS)
async def test_036_on_other_vocabularies_it_rides_beside_the_text_and_in_the_data_for_every_client(
    jobs_here: Jobs, tmp_path: Path, tools: str, client: str
) -> None:
    """Also checklist 3 and 136: the structured content stays."""
    tool, given = OTHERS[tools]
    async with agent(jobs_here, tmp_path, owner="ann", name=client, tools=(tools,)) as ai:
        job = (await jobs_here.run("seq 30000; exit 7", owner="ann", background=True)).job.id
        await settled(jobs_here, "ann")
        answer = await ai.ask(tool, **given)
        *_, aside = answer.content
        assert isinstance(aside, TextContent)
        assert f"{job} exited with 7" in aside.text
        assert len(answer.content) == (1 if tools == "job" else 2)
        data: Json = answer.structured_content or {}
        assert [one["job"] for one in data["notices"]] == [job]
        again = await ai.ask(tool, **given)
        assert "exited with 7" not in str(again.content)
        assert "notices" not in (again.structured_content or {})


async def test_132_a_run_says_of_what_it_is_to_be_told(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner="ann") as ai:
        await started(ai, gate, notify={"on_success": False})
        loud = await started(ai, gate, notify={"on_success": True})
        gate.open()
        gate.open()
        await jobs_here.outbox.pull("ann", timeout=timedelta(seconds=20))
        assert [one["job"] for one in (await ai.data("jobs", name="nothing"))["notices"]] == [loud]
        code, sentence = await ai.refusal("run", command="true", notify={"on_succes": False})
        assert (code, "on_succes" in sentence) == ("bad_request", True)
