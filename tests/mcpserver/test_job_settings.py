"""What can be set for the toolset `job`, by the numbers of the checklist."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver.toolsets.job import JobTools
from bide.settings import JobToolSettings, McpSettings, Settings

DISABLED = "Async execution is disabled; no background jobs are available."


async def together(*calls: Callable[[], Awaitable[Any]]) -> list[Any]:
    """Make all calls at the same time and return their answers."""
    answers: list[Any] = []

    async def make(call: Callable[[], Awaitable[Any]]) -> None:
        answers.append(await call())

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(make, call)
    return answers


def set_to(job: JobToolSettings) -> Settings:
    return Settings(mcp=McpSettings(job=job))


async def tools(ai: Agent) -> dict[str, set[str]]:
    """The tools that are listed, with their fields."""
    return {tool.name: set(tool.input_schema["properties"]) for tool in (await ai.client.list_tools()).tools}


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        (JobToolSettings(), {"job", "bash"}),
        (JobToolSettings(auto_background=True), {"job", "bash"}),
        (JobToolSettings(async_enabled=False, auto_background=True), {"job", "bash"}),
        (JobToolSettings(async_enabled=False), {"bash"}),
    ],
)
async def test_9_job_is_listed_only_where_something_can_become_one(
    jobs_here: Jobs, tmp_path: Path, settings: JobToolSettings, listed: set[str]
) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(settings)) as ai:
        found = await tools(ai)
        assert set(found) == listed
        assert ("async" in found["bash"]) is settings.async_enabled


async def test_10_where_nothing_can_job_says_so_and_bash_runs(jobs_here: Jobs, tmp_path: Path) -> None:
    settings = set_to(JobToolSettings(async_enabled=False))
    async with agent(jobs_here, tmp_path, tools=("job",), settings=settings) as ai:
        for arguments in ({}, {"list": True}, {"poll": ["bg_1"]}):
            assert await ai.text("job", **arguments) == DISABLED
        assert await ai.text("bash", command="echo here") == "here"
        _, sentence = await ai.refusal("bash", command="true", **{"async": True})
        assert "no field 'async'" in sentence


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("5s", 5), ("10s", 10), ("30s", 30), ("1m", 60), ("5m", 300), ("", 30), ("7s", 30), ("forever", 30)],
)
def test_26_a_poll_waits_as_long_as_is_set_and_30_s_if_that_is_no_choice(said: str, seconds: float) -> None:
    job = JobTools(JobToolSettings(poll_wait=said))
    assert [job.window("a", 0), job.window("a", 1)] == [seconds, seconds]


def test_35_with_smart_it_waits_longer_with_every_poll() -> None:
    job = JobTools(JobToolSettings(poll_wait="smart"))
    assert [job.window("a", 0), job.window("a", 1), job.window("b", 1)] == [5, 10, 5]


@pytest.mark.parametrize(("most", "limit"), [(2, 2), (0, 1)])
async def test_49_past_the_most_that_may_run_another_is_refused(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, most: int, limit: int
) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(JobToolSettings(most=most))) as ai:
        for _ in range(limit):
            await ai.data("bash", command=gate.wait, **{"async": True})
        _, sentence = await ai.refusal("bash", command="true", **{"async": True})
        assert sentence == (f"Background job limit reached ({limit}). Wait for running jobs to finish or cancel one.")
        assert await ai.text("bash", command="echo inline") == "inline"


async def test_049_of_ten_started_at_once_as_many_run_as_may(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(JobToolSettings(most=2))) as ai:
        answers = await together(*(partial(ai.ask, "bash", command=gate.wait, **{"async": True}) for _ in range(10)))
        assert [answer.is_error for answer in answers].count(False) == 2


async def test_049_a_cancelled_job_makes_room_at_once(jobs_here: Jobs, tmp_path: Path) -> None:
    deaf = "trap '' TERM; while :; do sleep 1; done"
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(JobToolSettings(most=1))) as ai:
        await ai.data("bash", command=deaf, **{"async": True})
        await ai.data("job", cancel=["bg_1"])
        assert (await ai.data("bash", command="sleep 60", **{"async": True}))["async"]["state"] == "running"


async def test_049_of_ten_that_outlast_the_threshold_as_many_go_into_the_background_as_may(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    settings = set_to(JobToolSettings(most=2, auto_background=True, auto_background_after=timedelta(seconds=0.3)))
    async with agent(jobs_here, tmp_path, tools=("job",), settings=settings) as ai:
        answers = await together(*(partial(ai.data, "bash", command="sleep 3; echo end") for _ in range(6)))
        assert sum("async" in data for data in answers) == 2
        assert [data["output"] for data in answers if "async" not in data] == ["end"] * 4


def test_049_without_settings_15_may_run() -> None:
    assert JobTools().settings.most == 15
    assert JobTools(JobToolSettings()).settings.most == 100


async def test_58_what_takes_longer_than_the_threshold_goes_into_the_background(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    after = JobToolSettings(auto_background=True, auto_background_after=timedelta(seconds=0.3))
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(after)) as ai:
        assert await ai.text("bash", command="echo quick") == "quick"
        data = await ai.data("bash", command=gate.wait)
        assert data["async"]["state"] == "running"
    at_once = JobToolSettings(auto_background=True, auto_background_after=timedelta(0))
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(at_once)) as ai:
        assert (await ai.text("bash", command=gate.wait)).startswith("Background job bg_")


async def test_60_at_the_limit_nothing_goes_into_the_background_by_itself(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    settings = JobToolSettings(most=1, auto_background=True, auto_background_after=timedelta(0))
    async with agent(jobs_here, tmp_path, tools=("job",), settings=set_to(settings)) as ai:
        await ai.data("bash", command=gate.wait)
        assert await ai.text("bash", command="echo inline") == "inline"
