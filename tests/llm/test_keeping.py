"""How long requests and conversations are kept, and by whom (222, 224, 225, 227, 244, 245)."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import Agent, agent
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

import bide
from bide.api import Jobs
from bide.model.errors import BadSettings, ConversationNotFound, HomeBusy, JobForgotten
from bide.model.llm.answer import Status
from bide.model.llm.conversation import Conversation
from bide.model.phase import Running
from bide.runtime.core import now
from bide.runtime.local import LocalJobs
from bide.settings import Settings, check

DAY = timedelta(days=1)


async def _result(ai: Agent, job: str) -> dict[str, object]:
    return (await ai.data("llm_job_result", jobId=job))["result"]


async def test_222_225_what_a_request_wrote_is_read_from_the_disk_by_whoever_comes_next(
    home: Path, fakes: Fakes, tmp_path: Path
) -> None:
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        job = (await ai.data("claude_request", prompt="hello", correlationId="mine"))["jobId"]
        before = await _result(ai, job)
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        assert await _result(ai, job) == before
        assert (await ai.data("llm_request_result", correlationId="mine"))["result"] == before
    assert len(fakes.started) == 1


async def test_224_answers_are_kept_for_30_days_and_what_runs_does_not_expire(
    local: Jobs, fakes: Fakes, gate: Gate
) -> None:
    assert (Settings().retention.keep, Settings().retention.keep_unseen >= 30 * DAY) == (30 * DAY, True)
    over = await local.llm.ask("claude", "hello", correlation_id="over")
    fakes.set(mode="slow", gate=str(gate.path))
    running = await local.llm.ask("claude", "on", background=True)
    assert isinstance(local, LocalJobs)
    assert (await local.gc(older_than=timedelta(0))).forgotten == 1
    with pytest.raises(JobForgotten):
        await local.llm.answer(over.job.id)
    with pytest.raises(JobForgotten):
        await local.llm.answer("over")
    assert (await local.llm.answer(running.job.id)).status is Status.RUNNING
    gate.open()
    assert (await end_of(local, running.job.id)).end.success


async def test_224_the_variable_for_it_is_answered_with_where_that_is_set(local: Jobs, fakes: Fakes) -> None:
    fakes.env("LLM_GATEWAY_JOB_RETENTION_DAYS", "7")
    (note,) = (await local.llm.ask("claude", "hello")).answer.notes
    assert (note.code, "retention.keep" in note.message) == ("setting_ignored", True)


async def test_227_a_second_instance_leaves_the_requests_of_the_first_alone(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await eventually(lambda: len(fakes.started) == 1)
        with pytest.raises(HomeBusy):
            async with bide.local(home):
                pass
        assert isinstance((await jobs.get(asked.job.id)).phase, Running)
        gate.open()
        await end_of(jobs, asked.job.id)
        assert (await jobs.llm.answer(asked.job.id)).status is Status.COMPLETED


async def test_245_a_conversation_that_was_not_used_for_30_days_is_not_listed(local: Jobs) -> None:
    assert isinstance(local, LocalJobs)
    for name, age in (("old", 31 * DAY), ("new", 29 * DAY)):
        at = now() - age
        await local.core.hub.settled(local.core.store.llm.use(Conversation(name, "claude", "me", "", "", at, at)))
    assert [one.id for one in await local.llm.conversations.list(owner="me")] == ["new"]
    with pytest.raises(ConversationNotFound):
        await local.llm.conversations.get("old", owner="me")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ({"llm": {"dead_line": "3s"}}, "deadline"),
        ({"llm": {"cache": {"warn_on_ttl": True}}}, "warn_on_ttl_expiry"),
        ({"llm": {"policy": "lax"}}, "balanced"),
    ],
)
def test_244_an_unknown_key_is_refused_with_the_nearest_known(text: dict[str, object], said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        check(text, "config.toml")
