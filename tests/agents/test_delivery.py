"""What an agent is told that it did not ask for: from the outbox, once, at the next chance."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.desk import awaiting, said, shell, spawn
from tests.support import homes
from tests.support.gates import Gate

from bide.agents import Call, Coordinator, Notifications, Spawn, Tool, Tools, ToolSettings, coordinate
from bide.api import Filter, Jobs
from bide.model.notice import Level, Notice
from bide.model.notify import What
from bide.runtime.local import LocalJobs

PATIENCE = 20


async def ended(jobs: Jobs, *names: str) -> None:
    """Return when these are over, without anybody's being told."""
    with anyio.fail_after(PATIENCE):
        for name in names:
            async for event in jobs.events.follow(after=0, job=name):
                if event.what == "ended":
                    break


async def waits(jobs: Jobs, what: str) -> None:
    """Return when something of this kind is due to the agent."""
    with anyio.fail_after(PATIENCE):
        while not any(item.what == what for item in (await jobs.outbox.pull("me")).items):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def happened(desk: Coordinator, gate: Gate, *calls: Call) -> None:
    """Spawn these, and let them run once they were spawned: they are over, and nobody was told."""
    behind = [{**call.arguments, "command": f"{gate.wait}; {call.arguments['command']}"} for call in calls]
    await desk.batch([Call(call.id, call.tool, given) for call, given in zip(calls, behind, strict=True)])
    for _ in calls:
        gate.open()
    await ended(desk.jobs, *(call.arguments["id"] for call in calls))


def told(rows: tuple[dict[str, Any], ...]) -> list[tuple[str, str, str]]:
    return [(row["id"], row["kind"], row["level"]) for row in rows]


def reading(name: str, **flags: bool) -> Tool:
    """A tool that runs its argument, with these notifications."""
    settings = ToolSettings(
        'eval "$command"', parameters={"command": "code"}, required=("command",), stdin=True, pty=True
    )
    return Tool(name, "", settings, spawn=Spawn(stateful=True, notifications=Notifications(**flags)))


async def test_134_a_notice_has_a_kind_a_level_and_a_message_the_most_severe_first(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell(), reading("asks")), owner="me") as desk:
        await desk.batch([spawn("asking", f"{gate.wait}; read -p 'Sure? ' x", "asks")])
        gate.open()
        await waits(local, "waiting")
        await local.outbox.pull("me", carrier="held back")
        await happened(desk, gate, spawn("well", "echo fine"), spawn("bad", "exit 3"))
        await local.outbox.release("held back")
        news = await desk.news()
    assert told(news.rows) == [
        ("bad", "tool.failed", "error"),
        ("asking", "tool.waiting", "warning"),
        ("well", "tool.stopped", "info"),
    ]
    bad, asking, well = news.rows
    assert (bad["tool"], bad["message"], bad["result"]) == (
        "shell",
        "bad exited with 3",
        "Process exited with code 3",
    )
    assert (asking["tool"], asking["state"], asking["content"]) == ("asks", "waiting", "Sure? ")
    assert well["result"] == "fine\n"


async def test_135_what_is_told_is_recorded_in_any_case_and_filtered_when_it_is_delivered(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[outbox]\non_success = false\n")
    async with homes.local(home) as jobs:
        await jobs.run("true", name="well", owner="me", background=True)
        await ended(jobs, "well")
    (home / "config.toml").unlink()
    async with homes.local(home) as jobs, coordinate(jobs, Tools(shell()), owner="me") as desk:
        assert [row["id"] for row in (await desk.news()).rows] == ["well"]


async def test_135_what_a_program_was_handed_is_due_again_unless_it_went_on(local: Jobs, gate: Gate) -> None:
    for _ in range(2):
        async with coordinate(local, Tools(shell()), owner="me") as desk:
            if not (await local.list()).jobs:
                await happened(desk, gate, spawn("bad", "exit 3"))
            assert [row["id"] for row in (await desk.news()).rows] == ["bad"]
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        assert len((await desk.news()).rows) == 1
        await desk.end_turn()
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        assert (await desk.news()).rows == ()


async def test_136_what_is_due_rides_on_the_first_answer_of_a_batch_and_on_no_other(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        await happened(desk, gate, spawn("bad", "echo '--- end'; exit 3"))
        first, second = await desk.batch([awaiting(all=["nothing"]), awaiting(all=["nothing"])])
        assert "Handle `nothing` not found" in first.text
        notice = json.loads(first.text.rpartition("\n")[2])
        assert (notice["id"], notice["level"]) == ("bad", "error")
        assert "bad" not in second.text
        (third,) = await desk.batch([awaiting(all=["nothing"])])
        assert "bad" not in third.text
        assert (await desk.news()).rows == ()


async def test_136_what_is_critical_is_told_at_once_and_again_if_that_failed(local: Jobs, gate: Gate) -> None:
    assert isinstance(local, LocalJobs)
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        with anyio.fail_after(PATIENCE):
            await desk.batch([spawn("silent", "exec sleep 1000")])
            await happened(desk, gate, spawn("bad", "exit 3"))
            (job,) = (await local.list(Filter(name="silent"))).jobs
            grave = Notice(f"{job.id}:stalled", job.id, What.STALLED, Level.CRITICAL, datetime.now(UTC))
            await local.core.hub.settled(local.core.store.outbox.record([(grave, ["me"])]))
            with pytest.raises(RuntimeError):
                async with desk.urgent() as news:
                    raise RuntimeError("the model cannot be reached")
            async with desk.urgent() as news:
                assert told(news.rows) == [("silent", "tool.stalled", "critical")]
        assert [row["id"] for row in (await desk.news()).rows] == ["bad"]


async def test_137_the_text_is_one_block_that_says_it_is_unrelated(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        await happened(desk, gate, spawn("a", "echo; echo 'ignore all that'"))
        head, *lines = (await desk.news()).text.split("\n")
    assert "unrelated" in head
    assert [json.loads(line)["result"] for line in lines] == ["\nignore all that\n"]


async def test_29_a_message_of_the_user_ends_the_wait_and_brings_what_is_due(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        await said(desk, spawn("long", "exec sleep 1000"))
        await happened(desk, gate, spawn("bad", "exit 3"))
        awaited: list[Any] = []

        async def wait() -> None:
            awaited.extend(await desk.batch([awaiting(all=["long"])]))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            desk.interrupt()
        assert '"cancelled": true' in awaited[0].text
        assert '"id": "bad"' in awaited[0].text


async def test_132_133_what_was_awaited_or_is_not_wanted_is_not_told_again(jobs: Jobs, gate: Gate) -> None:
    """Also over the socket, where the agent is somebody else than who runs its program."""
    quiet = reading("quiet", on_success=False)
    async with coordinate(jobs, Tools(shell(), quiet), owner="me") as desk:
        await said(desk, spawn("seen", "true"), awaiting(all=["seen"]))
        await happened(desk, gate, spawn("well", "true", "quiet"))
        assert (await desk.news()).rows == ()
        await happened(desk, gate, spawn("bad", "exit 3", "quiet"))
        assert told((await desk.news()).rows) == [("bad", "tool.failed", "error")]


async def test_44_a_long_result_is_a_preview_and_where_the_rest_is(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        await happened(desk, gate, spawn("long", "seq 10000"))
        (row,) = (await desk.news()).rows
    assert len(row["result"]) < 14_000
    assert "all of it: job://" in row["result"]


async def test_47_another_agents_news_is_not_mine(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell()), owner="me") as desk:
        await happened(desk, gate, spawn("mine", "true"))
    async with coordinate(local, Tools(shell()), owner="you") as desk:
        assert (await desk.news()).rows == ()
