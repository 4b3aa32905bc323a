"""With LLM_GATEWAY_JOBS_DB=none what is known of a request beside its job is in memory alone (204, 223)."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.llm.conftest import Fakes
from tests.mcpserver.clients import agent
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

import bide
from bide.api import Jobs
from bide.keeper import folder
from bide.model.errors import JobNotFound
from bide.model.llm.answer import Status
from bide.model.llm.prompt import Parts
from bide.runtime.llm import records
from bide.runtime.local import LocalJobs
from bide.store.files import open_reader

OFF, ON = "none", ""


def on_disk(home: Path) -> list[str]:
    """How many requests there ever was a row of, and the conversations."""
    with closing(open_reader(home / "bide.db")) as base:
        ever = base.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'llm_requests'")
        names = base.execute("SELECT id FROM conversations ORDER BY id")
        return [str(ever.fetchone()[0]), *(name for (name,) in names)]


def record(fakes: Fakes, value: str) -> None:
    fakes.env("LLM_GATEWAY_JOBS_DB", value)


async def counted(jobs: Jobs, requests: int, conversation: str | None = None) -> None:
    async def are() -> bool:
        state = await jobs.llm.cache(conversation=conversation)
        return state["totalRequests" if conversation is None else "requestCount"] == requests

    await eventually(are)


async def conversations(jobs: Jobs) -> dict[str, bool]:
    """Whether each is the active one."""
    return {one.id: one.active for one in await jobs.llm.conversations.list()}


async def named(jobs: Jobs, *ids: str) -> None:
    async def are() -> bool:
        return {one.id for one in await jobs.llm.conversations.list()} == set(ids)

    await eventually(are)


async def test_204_223_all_is_known_while_the_runtime_is_there_and_the_job_alone_after(
    home: Path, fakes: Fakes
) -> None:
    record(fakes, OFF)
    parts = Parts("hello", system="s" * 400)
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", parts=parts, correlation_id="mine")
        joined = await jobs.llm.ask("claude", parts=parts, correlation_id="yours")
        assert (joined.joined, len(fakes.started)) == (True, 1)
        for ref in (asked.job.id, "mine", "yours"):
            assert (await jobs.llm.answer(ref)).job.id == joined.job.id
        with pytest.raises(JobNotFound):
            await jobs.llm.answer("mine", owner="another")
        await counted(jobs, 1)
        await named(jobs, "c-1")
        assert (await jobs.llm.conversations.get("c-1")).active
        assert asked.job.spec.ask is not None
        of_prefix = await jobs.llm.cache(prefix=asked.job.spec.ask.prefix_hash)
        of_conversation = await jobs.llm.cache(conversation="c-1")
        assert (of_prefix["requestCount"], of_prefix["totalCacheReadTokens"]) == (1, 100)
        assert (of_conversation["distinctPrefixCount"], of_conversation["cli"]) == (1, "claude")
        assert on_disk(home) == ["0"]
    async with homes.local(home) as jobs:
        assert (await jobs.llm.answer(asked.job.id)).text.startswith("you said: ")
        with pytest.raises(JobNotFound):
            await jobs.llm.answer("mine")
        assert await conversations(jobs) == {}
        assert (await jobs.llm.cache())["totalRequests"] == 0
    assert on_disk(home) == ["0"]


async def test_204_a_deferred_reply_can_be_polled(local: Jobs, fakes: Fakes, gate: Gate, home: Path) -> None:
    record(fakes, OFF)
    fakes.env("SYNC_DEADLINE_MS", "1")
    fakes.set(mode="slow", gate=str(gate.path))
    asked = await local.llm.ask("claude", "slow", correlation_id="mine")
    assert (asked.deferred, (await local.llm.answer("mine")).status) == (True, Status.RUNNING)
    gate.open()
    await end_of(local, asked.job.id)
    assert (await local.llm.answer("mine")).text == "you said: slow"
    await counted(local, 1)
    assert on_disk(home) == ["0"]


@pytest.mark.parametrize("how", ["over", "lost", "running"])
async def test_204_the_next_runtime_makes_no_row_of_what_it_finds(
    home: Path, fakes: Fakes, gate: Gate, how: str
) -> None:
    record(fakes, OFF)
    fakes.set(mode="slow", gate=str(gate.path))
    async with bide.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await eventually(lambda: len(fakes.started) == 1)
    if how != "running":
        gate.open()
        await eventually(lambda: folder.read_end(str(home / "jobs" / asked.job.id)) is not None)
    for path in home.glob("bide.db*") if how == "lost" else ():
        path.unlink()
    async with homes.local(home) as jobs:
        if how == "running":
            gate.open()
        await end_of(jobs, asked.job.id)
        assert (await jobs.llm.answer(asked.job.id)).text == "you said: hello"
        record(fakes, ON)
        fakes.set(mode="ok")
        await jobs.llm.ask("codex", "recorded", conversation="c-2")
        await counted(jobs, 1)
        await named(jobs, "c-2")
        assert (await jobs.llm.cache())["perCli"][0]["cli"] == "codex"
    assert on_disk(home) == ["1", "c-2"]


async def test_204_223_what_is_on_disk_and_what_is_not_add_up(home: Path, fakes: Fakes) -> None:
    async with homes.local(home) as jobs:
        for number, how in enumerate((ON, OFF)):
            record(fakes, how)
            parts = Parts(how or "kept", system="s" * 400)
            asked = await jobs.llm.ask("claude", parts=parts, conversation="c-7", correlation_id="word")
            assert (await jobs.llm.answer("word")).job.id == asked.job.id
            await counted(jobs, number + 1, "c-7")
        state = await jobs.llm.cache(conversation="c-7")
        assert (state["totalCacheReadTokens"], state["distinctPrefixCount"]) == (200, 1)
        state = await jobs.llm.cache()
        assert [(one["cli"], one["requestCount"]) for one in state["perCli"]] == [("claude", 2)]
        assert state["stablePrefixReuseCount"] == 1
        assert await conversations(jobs) == {"c-7": True}
        assert on_disk(home) == ["1", "c-7"]
        assert await jobs.llm.conversations.drop() == 1
        assert await conversations(jobs) == {}
    async with homes.local(home) as jobs:
        assert (await jobs.llm.cache(conversation="c-7"))["requestCount"] == 1


async def test_204_a_recorded_request_that_joins_one_that_is_not_is_on_record(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.local(home) as jobs:
        for how in (OFF, ON):
            record(fakes, how)
            asked = await jobs.llm.ask("claude", "hello", correlation_id=f"word{how}", background=True)
        gate.open()
        await end_of(jobs, asked.job.id)
        await counted(jobs, 1)
        await eventually(lambda: on_disk(home) == ["1", "c-1"])
    async with homes.local(home) as jobs:
        assert (await jobs.llm.answer("word")).job.id == asked.job.id
        assert await conversations(jobs) == {"c-1": True}
        assert (await jobs.llm.cache())["totalRequests"] == 0
    assert len(fakes.started) == 1


async def test_204_the_next_attempt_of_such_a_request_is_not_recorded_either(home: Path, fakes: Fakes) -> None:
    home.mkdir()
    (home / "config.toml").write_text("[llm]\nretry_pause = '0.01s'\n", encoding="utf-8")
    record(fakes, OFF)
    fakes.set(mode="flaky")
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", correlation_id="mine")
        assert (asked.answer.status, len(fakes.started)) == (Status.COMPLETED, 2)
        assert (await jobs.llm.answer("mine")).job.id == asked.answer.job.id
        await counted(jobs, 1, "c-1")
    assert on_disk(home) == ["0"]


async def test_204_the_newest_of_such_requests_are_known(
    local: Jobs, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "REMEMBERED", 1)
    record(fakes, OFF)
    for word in ("one", "two"):
        await local.llm.ask("claude", word, correlation_id=word)
    assert (await local.llm.answer("two")).text == "you said: two"
    with pytest.raises(JobNotFound):
        await local.llm.answer("one")


async def test_245_of_a_cli_one_conversation_is_active_on_disk_or_in_memory(jobs: Jobs) -> None:
    kept = (await jobs.llm.conversations.start("claude", title="kept")).id
    passing = (await jobs.llm.conversations.start("claude", title="passing", recorded=False)).id
    assert await conversations(jobs) == {passing: True, kept: False}
    await jobs.llm.conversations.activate("claude", kept)
    assert await conversations(jobs) == {passing: False, kept: True}
    other = (await jobs.llm.conversations.start("claude", active=False, recorded=False)).id
    assert await conversations(jobs) == {other: False, passing: False, kept: True}
    await jobs.llm.conversations.activate("claude", passing)
    more = (await jobs.llm.conversations.start("claude", active=False)).id
    assert await conversations(jobs) == {more: False, other: False, passing: True, kept: False}
    await jobs.llm.conversations.activate("claude", None)
    assert not any((await conversations(jobs)).values())
    assert await jobs.llm.conversations.drop(passing) == 1
    assert await jobs.llm.conversations.drop(cli="claude") == 3


async def test_245_if_both_have_an_active_one_it_is_the_one_on_disk(local: Jobs) -> None:
    assert isinstance(local, LocalJobs)
    passing = await local.llm.conversations.start("claude", recorded=False)
    await local.core.hub.settled(local.core.store.llm.use(replace(passing, id="kept")))
    assert await conversations(local) == {"kept": True, passing.id: False}
    assert not (await local.llm.conversations.get(passing.id)).active


async def test_204_it_is_known_as_well_when_the_database_was_made_anew(home: Path, fakes: Fakes) -> None:
    record(fakes, OFF)
    async with homes.local(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", correlation_id="mine")
        await named(jobs, "c-1")
        for path in home.glob("bide.db*"):
            path.unlink()

        async def anew() -> bool:
            await jobs.list()
            return (home / "bide.db").exists()

        await eventually(anew)
        assert (await jobs.llm.answer("mine")).job.id == asked.job.id
        await counted(jobs, 1, "c-1")
        assert on_disk(home) == ["0"]


async def test_204_240_sessions_and_caches_over_mcp_know_such_a_request(
    local: Jobs, fakes: Fakes, tmp_path: Path, home: Path
) -> None:
    record(fakes, OFF)
    async with agent(local, tmp_path, tools=("llm",), env=dict(os.environ)) as ai:
        made = (await ai.data("session_create", cli="codex", description="to come"))["session"]["id"]
        await ai.data("claude_request", prompt="hello", correlationId="mine")

        async def listed() -> bool:
            return {one["id"] for one in (await ai.data("session_list"))["sessions"]} == {"c-1", made}

        await eventually(listed)
        state = (await ai.data("session_get", sessionId="c-1"))["cacheState"]
        assert (state["requestCount"], state["totalCacheReadTokens"]) == (1, 100)
        (content,) = (await ai.client.read_resource("cache_state://global")).contents
        assert '"totalRequests": 1' in getattr(content, "text", "").replace('":1', '": 1')
        assert (await ai.data("llm_request_result", correlationId="mine"))["result"]["status"] == "completed"
        assert on_disk(home) == ["0"]
