"""How long requests and conversations are kept, and by whom (222, 224, 225, 227, 244, 245)."""

import os
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import Agent, agent
from tests.support import homes, past
from tests.support.databases import edited
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

import bide
from bide.api import Jobs, Upkeep
from bide.model.errors import BadRequest, BadSettings, ConversationNotFound, HomeBusy, JobForgotten
from bide.model.llm.answer import Status
from bide.model.llm.conversation import Conversation
from bide.model.phase import Running
from bide.runtime.core import now
from bide.runtime.local import LocalJobs
from bide.settings import Settings, check

DAY = timedelta(days=1)
VARIABLE = "LLM_GATEWAY_JOB_RETENTION_DAYS"


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
    assert Settings().llm.keep == 30 * DAY
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


async def _answers(home: Path, age: timedelta) -> list[str]:
    """Two requests that ended so long ago: one that says nothing of how long, and one that wants a week."""
    async with homes.local(home) as jobs:
        plain = await jobs.llm.ask("claude", "plain", correlation_id="plain")
        week = await jobs.llm.ask("claude", "a week", env={VARIABLE: "7"})
        shell = (await jobs.run("true")).job.id
    past.make_older(home, age, plain.job.id, week.job.id, shell)
    return [plain.job.id, week.job.id, shell]


async def _left(home: Path, refs: list[str]) -> list[bool]:
    async with homes.local(home) as jobs:
        await cast("Upkeep", jobs).gc()
        return [one in {job.id for job in (await jobs.list()).jobs} for one in refs]


@pytest.mark.parametrize(
    ("config", "days", "left"),
    [
        ("", 6, [True, True, True]),
        ("", 8, [True, False, True]),
        ("", 31, [False, False, False]),
        ("[retention]\nkeep = '1d'\nkeep_unseen = '1d'\n", 6, [True, True, False]),
        ("[retention]\nkeep = '90d'\n", 31, [False, False, True]),
        ("[llm]\nkeep = '5d'\n", 6, [False, True, True]),
        ("[llm]\nkeep = '400d'\n", 399, [True, False, False]),
    ],
)
async def test_224_answers_are_kept_as_long_as_was_asked_whatever_holds_for_other_jobs(
    home: Path, fakes: Fakes, config: str, days: int, left: list[bool]
) -> None:
    refs = await _answers(home, days * DAY)
    (home / "config.toml").write_text(config)
    assert await _left(home, refs) == left
    assert len(fakes.started) == 2


async def test_224_a_request_is_found_by_its_correlation_id_as_long_as_its_answer_is_kept(
    home: Path, fakes: Fakes
) -> None:
    await _answers(home, 20 * DAY)
    with edited(home / "bide.db") as connection:
        connection.execute("UPDATE llm_requests SET asked_at = asked_at - 20 * 86400000, joined = 1")
    (home / "config.toml").write_text("[retention]\nkeep = '1d'\nkeep_unseen = '1d'\n[llm]\nkeep = '25d'\n")
    async with homes.local(home) as jobs:
        assert (await jobs.llm.answer("plain")).text == "you said: plain"
    assert len(fakes.started) == 2


async def test_224_outputs_of_answers_go_last_when_all_hold_too_much(home: Path, fakes: Fakes) -> None:
    refs = await _answers(home, 6 * DAY)
    async with homes.local(home) as jobs:
        refs.append((await jobs.run("head -c 5000 /dev/zero", background=True)).job.id)
        await end_of(jobs, refs[-1])
    past.make_older(home, DAY, refs[-1])
    (home / "config.toml").write_text("[retention]\nbytes = '3K'\n")
    async with homes.local(home) as jobs:
        await cast("Upkeep", jobs).gc()
        dropped = [(await jobs.get(one)).output_dropped_at is not None for one in (refs[0], refs[1], refs[3])]
    assert (dropped, len(fakes.started)) == ([False, False, True], 2)


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "for ever", "36501"])
async def test_224_a_number_of_days_that_cannot_be_meant_is_refused(local: Jobs, fakes: Fakes, days: str) -> None:
    fakes.env(VARIABLE, days)
    with pytest.raises(BadRequest, match=f"a number of days from 1 to 36500, not '{days}'"):
        await local.llm.ask("claude", "hello")
    assert fakes.started == []


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
