"""`async for` over a handle: its output as it comes, its states, and its end."""

import anyio
import pytest
from tests.agents.desk import STATEFUL, awaiting, said, shell, spawn
from tests.support.gates import Gate

from bide import BideError
from bide.agents import Answering, Call, Change, Context, Question, Tool, Tools, coordinate
from bide.api import Jobs


async def test_a_handle_is_followed_from_its_beginning_to_its_end(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell())) as desk:
        await said(
            desk, spawn("x", f"echo one; echo oops >&2; {gate.wait}; printf 't\\303'; sleep 0.1; printf '\\274'")
        )
        changes: list[Change] = []
        with anyio.fail_after(20):
            async for change in desk.follow("x"):
                changes.append(change)
                if ("one" in "".join(one.output for one in changes) and change.stderr) or len(changes) == 2:
                    gate.open()
    assert "".join(one.output for one in changes) == "one\ntü"
    assert "".join(one.stderr for one in changes) == "oops\n"
    assert {one.state for one in changes[:-1]} <= {"running", "pending"}
    last = changes[-1]
    assert last.row == {"id": "x", "state": "stopped", "result": "one\ntü", "stderr": "oops\n"}
    # The program followed it; the assistant was told nothing.
    async with coordinate(local, Tools(shell())) as desk:
        assert [row["id"] for row in (await desk.news()).rows] == ["x"]


async def test_a_question_is_a_change_and_so_is_its_answer(local: Jobs) -> None:
    async def paint(context: Context) -> str:
        return f"painted {await context.ask(Question('Which colour?'))}"

    tools = Tools(Tool.of(paint, spawn=STATEFUL, asks=True))
    async with coordinate(local, tools, answering=Answering(assistant=True)) as desk:
        await said(desk, Call("1", "paint", {"action": "spawn", "id": "p"}))
        changes: list[Change] = []
        with anyio.fail_after(20):
            async for change in desk.follow("p"):
                changes.append(change)
                if change.question is not None:
                    await local.questions.answer(change.question.id, "red")
    assert "waiting" in [one.state for one in changes]
    assert changes[-1].row == {"id": "p", "state": "stopped", "result": "painted red"}
    assert "".join(one.output for one in changes) == "painted red"


async def test_a_handle_that_waits_for_permission_is_pending_and_one_that_never_started_is_over(local: Jobs) -> None:
    asked = anyio.Event()

    async def permit(_: Call) -> bool:
        asked.set()
        await anyio.sleep_forever()
        return True

    changes: list[Change] = []
    async with coordinate(local, Tools(shell()), permit=permit) as desk, anyio.create_task_group() as group:
        group.start_soon(desk.batch, [spawn("x", "true")])
        await asked.wait()
        with anyio.fail_after(20):
            async for change in desk.follow("x"):
                changes.append(change)
                desk.interrupt()
    assert [one.state for one in changes] == ["pending", "stopped"]
    assert changes[-1].row is not None
    assert "interrupted before it was permitted" in changes[-1].row["result"]


async def test_what_is_not_there_cannot_be_followed(local: Jobs) -> None:
    async with coordinate(local, Tools(shell())) as desk:
        await said(desk, spawn("x", "true"), awaiting(all=["x"]))
        with pytest.raises(BideError, match="nope"):
            async for _ in desk.follow("nope"):
                pass
