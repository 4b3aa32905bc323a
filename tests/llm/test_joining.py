"""Equal requests are one job (229 to 234), found again by correlation id; what is recorded of them (251)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from tests.llm.conftest import Fakes
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import end_of, eventually

from bide.api import Jobs
from bide.model.llm.answer import Status
from bide.model.llm.prompt import Parts
from bide.runtime.local import LocalJobs


async def test_229_232_an_equal_request_gets_the_same_job_and_starts_nothing(jobs: Jobs, fakes: Fakes) -> None:
    first = await jobs.llm.ask("codex", "hello", correlation_id="one")
    second = await jobs.llm.ask("codex", "hello", correlation_id="two", background=True)
    assert (second.job.id, second.joined, second.answer.correlation_id) == (first.job.id, True, "two")
    assert len(fakes.started) == 1
    for known in ("one", "two"):
        assert (await jobs.llm.answer(known)).job.id == first.job.id


async def test_234_of_equal_requests_at_once_one_starts(local: Jobs, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    found: list[str] = []

    async def ask() -> None:
        found.append((await local.llm.ask("claude", "hello")).job.id)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask)
        await eventually(lambda: len(fakes.started) == 1)
        gate.open()
    assert (len(found), len(set(found)), len(fakes.started)) == (5, 1, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "haiku"},
        {"conversation": "c-9"},
        {"cwd": "/"},
        {"env": {"A": "1"}},
        {"fresh": True},
        {"format": "text"},
    ],
)
async def test_232_a_request_that_differs_is_another_job(local: Jobs, fakes: Fakes, other: dict[str, object]) -> None:
    first = await local.llm.ask("claude", "hello")
    second = await local.llm.ask("claude", "hello", **other)  # type: ignore[arg-type]
    assert second.job.id != first.job.id
    assert len(fakes.started) == 2


async def test_232_prompts_that_come_by_stdin_are_compared_as_well(local: Jobs, fakes: Fakes) -> None:
    parts = [Parts(task, context="x" * 200_000) for task in ("one", "two", "one")]
    found = [(await local.llm.ask("claude", parts=one)).job.id for one in parts]
    assert (found[0] == found[2], found[0] == found[1], len(fakes.started)) == (True, False, 2)


async def test_230_what_failed_is_not_given_again(local: Jobs, fakes: Fakes) -> None:
    fakes.set(mode="crash")
    first = await local.llm.ask("claude", "hello")
    fakes.set(mode="ok")
    second = await local.llm.ask("claude", "hello")
    assert (second.joined, second.answer.status) == (False, Status.COMPLETED)
    assert first.job.id != second.job.id


async def test_231_a_window_of_0_joins_nothing(local: Jobs, fakes: Fakes) -> None:
    fakes.env("LLM_GATEWAY_DEDUP_WINDOW_MS", "0")
    found = {(await local.llm.ask("claude", "hello")).job.id for _ in range(2)}
    assert (len(found), len(fakes.started)) == (2, 2)


async def test_233_an_answer_is_found_after_a_restart_and_joined(home: Path, fakes: Fakes) -> None:
    async with homes.local(home) as jobs:
        first = await jobs.llm.ask("claude", "hello", correlation_id="mine")
    async with homes.local(home) as jobs:
        assert (await jobs.llm.answer("mine")).text == "you said: hello"
        second = await jobs.llm.ask("claude", "hello")
        assert (second.joined, second.job.id) == (True, first.job.id)
    assert len(fakes.started) == 1


async def test_226_a_request_survives_the_daemon_with_its_true_result(home: Path, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.remote(home) as jobs:
        asked = await jobs.llm.ask("codex", "hello", background=True, correlation_id="mine")
        await eventually(lambda: len(fakes.started) == 1)
        await homes.kill_daemon(home)
        gate.open()
        await end_of(jobs, asked.job.id)
        answer = await jobs.llm.answer("mine")
        assert (answer.status, answer.exit_code, answer.text) == (Status.COMPLETED, 0, "you said: hello")
    assert len(fakes.started) == 1


async def test_a_daemon_that_dies_while_somebody_waits_is_asked_for_the_same_job(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.remote(home) as jobs, anyio.create_task_group() as group:
        texts: list[str] = []

        async def ask() -> None:
            texts.append((await jobs.llm.ask("claude", "hello", fresh=True)).answer.text)

        group.start_soon(ask)
        await eventually(lambda: len(fakes.started) == 1)
        await homes.kill_daemon(home)
        gate.open()
        await eventually(lambda: texts == ["you said: hello"])
    assert len(fakes.started) == 1


async def test_251_each_request_is_on_record_once_and_finished_once(home: Path, fakes: Fakes) -> None:
    async with homes.local(home) as jobs:
        parts = Parts("one", system="s" * 400)
        asked = await jobs.llm.ask("claude", parts=parts, correlation_id="a")
        await jobs.llm.ask("claude", parts=parts, correlation_id="b")
        await eventually(lambda: _unfinished(jobs) == [])
        assert asked.job.spec.ask is not None
        state = await jobs.llm.cache(prefix=asked.job.spec.ask.prefix_hash)
    assert (state["requestCount"], state["hitCount"], state["totalCacheReadTokens"]) == (1, 1, 100)
    assert state["cliBreakdown"] == [{"cli": "claude", "model": "claude-sonnet-fake", "count": 1}]
    assert len(fakes.started) == 1


def _unfinished(jobs: Jobs) -> list[str]:
    assert isinstance(jobs, LocalJobs)
    return jobs.core.store.llm.unfinished()


async def test_a_database_that_was_lost_loses_no_request(home: Path, fakes: Fakes) -> None:
    async with homes.local(home) as jobs:
        await jobs.llm.ask("claude", "hello", correlation_id="mine")
    for path in home.glob("bide.db*"):
        path.unlink()
    async with homes.local(home) as jobs:
        assert (await jobs.llm.answer("mine")).text == "you said: hello"
        await eventually(lambda: _unfinished(jobs) == [])
        assert (await jobs.llm.cache())["totalRequests"] == 1
    assert len(fakes.started) == 1


async def test_what_ended_while_nobody_was_there_is_recorded_by_the_next(home: Path, fakes: Fakes, gate: Gate) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    async with homes.remote(home) as jobs:
        asked = await jobs.llm.ask("claude", "hello", background=True)
        await eventually(lambda: len(fakes.started) == 1)
        await homes.kill_daemon(home)
        gate.open()
        await end_of(jobs, asked.job.id)

        async def counted() -> bool:
            return (await jobs.llm.cache())["totalRequests"] == 1

        await eventually(counted)
        assert (await jobs.llm.cache(conversation="c-1"))["requestCount"] == 1


async def test_223_a_variable_that_names_a_database_only_warns(local: Jobs, fakes: Fakes) -> None:
    for name, value, notes in (
        ("LLM_GATEWAY_JOBS_DB", "/tmp/other.db", 1),
        ("LLM_GATEWAY_LOGS_DB", "/tmp/another.db", 2),
        ("LLM_GATEWAY_JOBS_DB", "", 1),
    ):
        fakes.env(name, value)
        asked = await local.llm.ask("claude", "hello")
        assert [note.code for note in asked.answer.notes] == ["setting_ignored"] * notes

    async def counted() -> bool:
        return (await local.llm.cache())["totalRequests"] == 1

    await eventually(counted)
    assert len(fakes.started) == 1


async def test_236_245_an_answer_is_given_when_its_conversation_and_figures_can_be_read(
    home: Path, fakes: Fakes, gate: Gate
) -> None:
    fakes.set(mode="slow", gate=str(gate.path))
    listed: list[str] = []
    counted: list[int] = []

    async def ask(jobs: Jobs) -> None:
        asked = await jobs.llm.ask("claude", parts=Parts("one", system="s" * 400))
        listed.extend(one.id for one in await jobs.llm.conversations.list())
        assert asked.job.spec.ask is not None
        counted.append((await jobs.llm.cache(prefix=asked.job.spec.ask.prefix_hash))["hitCount"])

    async with homes.local(home) as jobs, anyio.create_task_group() as group:
        group.start_soon(ask, jobs)
        await eventually(lambda: len(_unfinished(jobs)) == 1 and len(fakes.started) == 1)
        with closing(sqlite3.connect(home / "bide.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # nothing else is written now
            gate.open()
            await eventually(lambda: bool([*home.glob("jobs/*/end")]))
            await anyio.sleep(0.2)
            assert listed == []
            other.execute("ROLLBACK")
    assert (listed, counted) == (["c-1"], [1])


@pytest.mark.usefixtures("fakes")
async def test_a_request_that_is_over_before_its_row_is_on_disk_is_recorded_whole(home: Path) -> None:
    async with homes.local(home) as jobs, anyio.create_task_group() as group:
        await jobs.llm.ask("claude", "first")  # its program is known from now on
        await eventually(lambda: _unfinished(jobs) == [])
        await jobs.llm.conversations.drop()
        with closing(sqlite3.connect(home / "bide.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # nothing else is written now
            group.start_soon(jobs.llm.ask, "claude", "hello")
            await eventually(
                lambda: any(b"hello" in end.with_name("spec").read_bytes() for end in home.glob("new/*/end"))
            )
            await anyio.sleep(0.1)
            other.execute("ROLLBACK")

        async def named() -> bool:
            return [one.id for one in await jobs.llm.conversations.list()] == ["c-1"]

        await eventually(named)
