"""bide asks the real command lines: a request, a deferred one, one that goes on, one that is canceled, one that outlives the daemon."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.acceptance.conftest import PATIENCE
from tests.acceptance.dialects import Reply, Say, Seen
from tests.acceptance.models import Model
from tests.mcpserver.clients import Agent, agent
from tests.support import homes, processes
from tests.support.patience import eventually

import bide
from bide.api import Jobs
from bide.model.schema import Json

CLIS = ("claude", "codex", "gemini")
VERSIONS = Path(__file__).parent / "versions"
LOGIN = {"claude": "authenticated", "codex": "not_authenticated", "gemini": "authenticated"}
"""Codex is logged in at a provider of its configuration, of which its status knows nothing."""
pytestmark = pytest.mark.parametrize("cli", CLIS)


@pytest.fixture
async def ai(local: Jobs, env: dict[str, str], work: Path) -> AsyncIterator[Agent]:
    """An agent with the toolset `llm`, whose environment this is."""
    async with agent(local, work, tools=("llm",), env={**env, "SYNC_DEADLINE_MS": "0"}) as one:
        yield one


@pytest.fixture
async def hasty(local: Jobs, env: dict[str, str], work: Path) -> AsyncIterator[Agent]:
    """The same with little patience."""
    async with agent(local, work, tools=("llm",), env={**env, "SYNC_DEADLINE_MS": "200"}) as one:
        yield one


def remembers(seen: Seen) -> Reply:
    """A model that knows a word exactly if it was told in the same conversation."""
    return Say("it was heron" if any("the word is heron" in text for text in seen.said) else "nobody told me")


async def over(ai: Agent, job: str) -> Json:
    """The result of a request, when it is over."""
    seen = 0
    while True:
        watched = await ai.data("llm_job_watch", jobId=job, afterProgressSeq=seen, waitMs=30_000)
        if watched["job"]["exited"]:
            return (await ai.data("llm_job_result", jobId=job))["result"]
        seen = watched["progress"]["nextAfterSeq"]


async def test_a_request_is_answered_with_what_the_model_said_and_used(ai: Agent, cli: str) -> None:
    data = await ai.data(f"{cli}_request", prompt="hello there")
    assert (data["status"], data["exitCode"], data["response"]) == ("completed", 0, "you said: hello there")
    assert data["sessionId"]
    assert "warnings" not in data
    used = data["parsed"]["usage"]
    assert (used["inputTokens"], used["outputTokens"], used["cacheReadTokens"]) == (10, 5, 3)


@pytest.mark.parametrize("prompt", ["--version is what I mean", "help"])
async def test_a_prompt_that_looks_like_a_flag_or_a_command_is_a_prompt(ai: Agent, cli: str, prompt: str) -> None:
    data = await ai.data(f"{cli}_request", prompt=prompt)
    assert data["response"] == f"you said: {prompt}"


async def test_a_long_prompt_arrives_whole(ai: Agent, model: Model, cli: str) -> None:
    prompt = "häppy " * 16_000  # more bytes than a word of a command line may have
    await ai.data(f"{cli}_request", prompt=prompt)
    assert any(prompt.strip() in text for text in model.seen[0].said)


async def test_a_deferred_request_is_answered_later(hasty: Agent, model: Model, cli: str) -> None:
    model.hold.clear()
    deferred = await hasty.data(f"{cli}_request", prompt="take your time")
    assert deferred["status"] == "deferred"
    await eventually(lambda: bool(model.seen), PATIENCE)
    again = await hasty.data(f"{cli}_request", prompt="take your time")
    assert again["jobId"] == deferred["jobId"]
    model.hold.set()
    result = await over(hasty, deferred["jobId"])
    assert (result["status"], result["parsed"]["text"]) == ("completed", "you said: take your time")
    assert len(model.seen) == 1


async def test_a_conversation_goes_on(ai: Agent, model: Model, cli: str) -> None:
    model.script = remembers
    first = await ai.data(f"{cli}_request", prompt="the word is heron")
    other = await ai.data(f"{cli}_request", prompt="which word was it?")
    assert other["response"] == "nobody told me"
    resumed = await ai.data(f"{cli}_request", prompt="which word was it?", sessionId=first["sessionId"])
    assert resumed["response"] == "it was heron"
    assert resumed["sessionId"] == first["sessionId"]


async def test_a_canceled_request_ends_with_all_its_processes(ai: Agent, model: Model, home: Path, cli: str) -> None:
    model.hold.clear()
    started = await ai.data(f"{cli}_request_async", prompt="never mind")
    await eventually(lambda: bool(model.seen), PATIENCE)
    job = started["job"]["id"]
    canceled = await ai.data("llm_job_cancel", jobId=job)
    assert (canceled["success"], canceled["status"]) == (True, "canceled")
    result = (await ai.data("llm_job_result", jobId=job))["result"]
    assert (result["status"], result["exitCode"], result["parsed"]["text"]) == ("canceled", None, "")
    assert [words for words in processes.of_folder(home).values() if cli in words] == []


async def test_a_request_outlives_the_daemon_and_is_answered_once(
    env: dict[str, str], model: Model, home: Path, work: Path, cli: str
) -> None:
    model.hold.clear()
    async with homes.remote(home) as jobs:
        asked = await jobs.llm.ask(cli, "stay alive", background=True, base_env=env, cwd=str(work))
        await eventually(lambda: bool(model.seen), PATIENCE)
        await homes.kill_daemon(home)
        model.hold.set()
        async with bide.connect(home) as later:
            await later.wait([asked.job.id], timeout=timedelta(seconds=PATIENCE))
            answer = await later.llm.answer(asked.job.id)
        assert (answer.text, answer.exit_code) == ("you said: stay alive", 0)
        assert len(model.seen) == 1


async def test_it_is_the_version_that_is_named_here_and_its_login_is_known(ai: Agent, cli: str) -> None:
    wanted = next(line.rpartition("@")[2] for line in VERSIONS.read_text().splitlines() if cli in line)
    rows: list[Json] = []

    async def said() -> bool:
        rows[:] = (await ai.data("cli_versions", cli=cli))["versions"]
        return rows[0]["version"] is not None and rows[0]["loginStatus"] != "unknown"

    await eventually(said, within=PATIENCE)
    assert wanted in rows[0]["version"].split()
    assert rows[0]["loginStatus"] == LOGIN[cli]
