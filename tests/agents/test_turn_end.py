"""The end of a turn: inquire, await, abort."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.agents.desk import awaiting, said, shell, spawn
from tests.support.gates import Gate

import bide
from bide.agents import Call, Coordinator, Spawn, Tool, Tools, ToolSettings, TurnEnd, coordinate
from bide.api import Jobs


class Assistant:
    """Answers inquiries as it was told to, and keeps what it was asked."""

    def __init__(self, **choices: str) -> None:
        self.choices = choices
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, question: dict[str, Any], _: dict[str, Any]) -> object:
        self.asked += question["handles"]
        return {"handles": [{"id": one, "action": action} for one, action in self.choices.items()]}


@asynccontextmanager
async def at_work(jobs: Jobs, tool: Tool, assistant: Assistant | None = None) -> AsyncGenerator[Coordinator]:
    async with coordinate(jobs, Tools(tool), owner="me", inquire=assistant) as desk:
        yield desk


async def test_138_139_an_inquiry_says_what_is_active_and_takes_a_choice_for_each(local: Jobs, gate: Gate) -> None:
    assistant = Assistant(go="wait", stop="abort")
    async with at_work(local, shell(), assistant) as desk:
        await said(desk, spawn("go", f"echo compiling; {gate.wait}; echo done"), spawn("stop", "exec sleep 1000"))
        await local.wait(["go"], until=bide.Until(log="compiling"))
        done: list[TurnEnd] = []

        async def end() -> None:
            done.append(await desk.end_turn())

        async with anyio.create_task_group() as group:
            group.start_soon(end)
            await local.wait(["stop"])
            gate.open()
    shown = {one["id"]: one for one in assistant.asked}
    assert set(shown) == {"go", "stop"}
    go = shown["go"]
    assert (go["tool"], go["state"], go["output_preview"]) == ("shell", "running", "compiling")
    assert isinstance(go["elapsed_secs"], float)
    (result,) = done[0].results
    assert (result.id, result.tool, result.is_error) == ("call-go", "shell", False)
    assert json.loads(result.text) == {"id": "go", "state": "stopped", "result": "compiling\ndone\n"}
    assert (done[0].aborted, done[0].left) == (["stop"], [])
    job = await local.get("stop")
    assert isinstance(job.phase, bide.Ended)
    assert job.phase.end.reason is bide.Reason.KILLED


async def test_140_a_wait_has_a_timeout_and_aborts_nothing(local: Jobs, gate: Gate) -> None:
    tool = shell(wait_timeout=timedelta(milliseconds=50))
    async with at_work(local, tool, Assistant(long="wait")) as desk:
        await said(desk, spawn("long", gate.wait))
        done = await desk.end_turn()
        assert [json.loads(one.text) for one in done.results] == [{"id": "long", "state": "running", "timed_out": True}]
        assert done.left == ["long"]
        gate.open()
        await said(desk, awaiting(all=["long"]))


@pytest.mark.parametrize(
    "answer",
    [
        '{"handles": [{"id": "long", "action": "abort"}]}',
        '{"long": "abort"}',
        'I end it.\n```json\n{"long": "abort"}\n```',
    ],
)
async def test_139_140_the_answer_may_be_json_as_text(local: Jobs, answer: str) -> None:
    async def inquire(_: dict[str, Any], __: dict[str, Any]) -> object:
        return answer

    async with coordinate(local, Tools(shell()), owner="me", inquire=inquire) as desk:
        await said(desk, spawn("long", "exec sleep 1000"))
        assert (await desk.end_turn()).aborted == ["long"]


async def test_139_140_an_answer_that_decides_nothing_is_logged(
    local: Jobs, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    async def inquire(_: dict[str, Any], __: dict[str, Any]) -> object:
        return "let me think"

    async with coordinate(local, Tools(shell()), owner="me", inquire=inquire) as desk:
        await said(desk, spawn("long", gate.wait))
        assert (await desk.end_turn()).left == ["long"]
        gate.open()
    assert "not answered for every handle: 'let me think'" in caplog.text


async def test_141_the_tool_says_who_is_asked_and_each_is_asked_once(local: Jobs, gate: Gate) -> None:
    cheap, main = Assistant(), Assistant()
    settings = ToolSettings("exec sleep 1000")
    asked_apart = Tool("nap", "Sleeps.", settings, spawn=Spawn(stateful=True), inquire=cheap)
    async with coordinate(local, Tools(shell(), asked_apart), inquire=main) as desk:
        nap = Call("1", "nap", {"action": "spawn", "id": "nap"})
        await said(desk, spawn("a", gate.wait), spawn("b", gate.wait), nap)
        done = await desk.end_turn()
    assert sorted(done.left) == ["a", "b", "nap"]
    assert [one["id"] for one in cheap.asked] == ["nap"]
    assert sorted(one["id"] for one in main.asked) == ["a", "b"]
    gate.open()
    gate.open()


async def test_an_assistant_that_fails_or_is_not_there_loses_nothing(local: Jobs, gate: Gate) -> None:
    async def fails(_: dict[str, Any], __: dict[str, Any]) -> object:
        raise RuntimeError("overloaded")

    async with coordinate(local, Tools(shell()), owner="me", inquire=fails) as desk:
        await said(desk, spawn("long", f"{gate.wait}; echo late"))
        assert (await desk.end_turn()).left == ["long"]
        gate.open()
        async for event in local.events.follow(after=0, job="long"):
            if event.what == "ended":
                break
        (row,) = (await desk.news()).rows
        assert (row["id"], row["result"], row["level"]) == ("long", "late\n", "info")
        assert (await desk.news()).rows == ()


async def test_142_await_waits_without_a_model_and_the_result_is_due_in_the_next_turn(local: Jobs) -> None:
    assistant = Assistant()
    async with at_work(local, shell(on_turn_end="await"), assistant) as desk:
        await said(desk, spawn("quick", "sleep 0.1; echo result"))
        done = await desk.end_turn()
        assert (done.results, done.left, assistant.asked) == ([], ["quick"], [])
        news = await desk.news()
        assert [(row["id"], row["result"]) for row in news.rows] == [("quick", "result\n")]
        assert "unrelated" in news.text


async def test_142_what_the_policy_await_cannot_wait_for_is_aborted(local: Jobs) -> None:
    tool = shell(on_turn_end="await", await_timeout=timedelta(milliseconds=100))
    async with at_work(local, tool) as desk:
        await said(desk, spawn("long", "exec sleep 1000"))
        assert (await desk.end_turn()).aborted == ["long"]


async def test_143_abort_kills_at_once_verified(local: Jobs) -> None:
    async with at_work(local, shell(on_turn_end="abort")) as desk:
        await said(desk, spawn("a", "sleep 1000 & sleep 1000"), spawn("b", "exec sleep 1000"))
        assert sorted((await desk.end_turn()).aborted) == ["a", "b"]
        assert (await desk.end_turn()) == TurnEnd()
