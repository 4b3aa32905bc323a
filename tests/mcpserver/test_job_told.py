"""The toolset `job`: what its answers acknowledge, and what it reports while it waits."""

from pathlib import Path

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent
from tests.mcpserver.test_riding import settled
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.notice import Level

OWNER = "ann"


async def started(ai: Agent, command: str) -> None:
    await ai.data("bash", command=command, **{"async": True})


async def due(jobs: Jobs) -> int:
    return sum(one.due for one in await jobs.outbox.list() if one.consumer == OWNER)


async def test_39_a_poll_reply_acknowledges_each_job_that_is_over_in_it(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("job",)) as ai:
        await started(ai, "seq 30000")
        await settled(jobs_here, OWNER)
        await ai.data("job", poll=["bg_1"])
        await ai.data("job", list=True)
        assert await due(jobs_here) == 0


async def test_40_a_list_acknowledges_what_it_showed_whole_and_nothing_else(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("job",)) as ai:
        await started(ai, f"{gate.wait}; seq 30000")
        await started(ai, f"{gate.wait}; echo short")
        gate.open()
        gate.open()
        while await due(jobs_here) < 2:  # noqa: ASYNC110 - the row follows the end
            await anyio.sleep(0.01)
        # What was cut off is told all the same: here on the same answer.
        assert [one["name"] for one in (await ai.data("job", list=True))["notices"]] == ["bg_1"]
        assert "notices" not in await ai.data("job", list=True)
        assert await due(jobs_here) == 0


@pytest.mark.parametrize("progress", ["wake", "ambient"])
async def test_066_new_output_of_a_background_job_rides_on_the_next_answer(
    jobs_here: Jobs, tmp_path: Path, progress: str
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("job",)) as ai:
        command = "echo one; sleep 0.6; echo two; sleep 60"
        await ai.data("bash", command=command, id="p", progress=progress, **{"async": True})
        while await due(jobs_here) < 2:  # noqa: ASYNC110 - the rows follow the lines
            await anyio.sleep(0.02)
        woken = (await jobs_here.outbox.pull(OWNER, least=Level.INFO)).items
        assert len(woken) == (2 if progress == "wake" else 0)
        notices = (await ai.data("bash", command="true"))["notices"]
        assert [(one["name"], one["what"], one["extract"]) for one in notices] == [
            ("p", "output", "one"),
            ("p", "output", "two"),
        ]


async def test_066_progress_is_one_of_two_words(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("job",)) as ai:
        _, sentence = await ai.refusal("bash", command="true", progress="loud", **{"async": True})
    assert "progress" in sentence
    assert "wake" in sentence
    assert "ambient" in sentence


async def test_30_a_poll_reports_at_once_and_every_half_second(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    heard: list[float] = []
    said: list[str | None] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        heard.append(progress)
        said.append(message)
        if len(heard) == 3:
            gate.open()

    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("job",)) as ai:
        await started(ai, gate.wait)
        await ai.client.call_tool("job", {"poll": ["bg_1"]}, progress_callback=report)
    assert heard[0] < 0.4
    assert 0.4 < heard[1] < 0.9
    assert len(heard) <= 4
    assert said[0] == "waiting for bg_1; 0 s so far"
    assert [round(passed, 1) for passed in heard] == heard


async def test_059_a_client_that_comes_again_is_not_told_of_what_a_foreground_command_ended_with(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    for tool, tools, given in (("bash", "job", {"command": "exit 7"}), ("exec", "sessions", {"code": "1/0"})):
        async with agent(jobs_here, tmp_path, owner=OWNER, tools=(tools,)) as ai:
            assert (await ai.ask(tool, **given)).is_error
        async with agent(jobs_here, tmp_path, owner=OWNER, tools=("core",)) as ai:
            assert "notices" not in await ai.data("jobs", name="nothing")
