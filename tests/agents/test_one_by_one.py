"""Frameworks that make the calls of a reply one at a time: `register` and `call` in the place of `batch`."""

from typing import Any

import anyio
import pytest
from tests.agents.desk import awaiting, shell, spawn
from tests.agents.desk import read as data
from tests.support.gates import Gate

from bide.agents import Call, Coordinator, Tools, coordinate
from bide.api import Jobs


@pytest.mark.parametrize("first", [True, False])
async def test_125_calls_that_were_registered_are_made_in_any_order(local: Jobs, first: bool) -> None:
    waiting, spawned = awaiting(all=["a", "b"]), [spawn("a", "echo one"), spawn("b", "echo two")]
    reply = [waiting, *spawned] if first else [*spawned, waiting]
    async with coordinate(local, Tools(shell())) as desk:
        await desk.register(reply)
        answers: dict[str, Any] = {}
        with anyio.fail_after(20):
            for call in reply:  # one after the other, the await perhaps before what it waits for
                answers[call.id] = data(await desk.call(call))
    assert [row["result"] for row in answers["call-await"]["completed"]] == ["one\n", "two\n"]
    assert {answers[one.id]["state"] for one in spawned} == {"running"}


async def test_126_a_clash_in_what_was_registered_answers_every_call_and_runs_nothing(local: Jobs) -> None:
    reply = [spawn("a", "true"), Call("2", "shell", {"action": "spawn", "id": "a", "command": "true"})]
    async with coordinate(local, Tools(shell())) as desk:
        await desk.register(reply)
        answers = [await desk.call(one) for one in reply]
    assert all("Two calls of this batch spawn handle `a`" in one.text and one.is_error for one in answers)
    assert not (await local.list()).jobs


async def _awaited(desk: Coordinator, answers: list[Any]) -> None:
    answers.append(data(await desk.call(awaiting(all=["x"]))))


async def test_125_without_registering_an_await_gives_an_id_a_moment_to_be_spawned(local: Jobs) -> None:
    async with coordinate(local, Tools(shell())) as desk:
        answers: list[Any] = []
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(_awaited, desk, answers)
                await anyio.sleep(0.1)
                await desk.call(spawn("x", "echo old"))
            async with anyio.create_task_group() as group:  # and an id that is used again
                group.start_soon(_awaited, desk, answers)
                await anyio.sleep(0.05)
                await desk.call(spawn("x", "echo new"))
            assert [one["completed"][0]["result"] for one in answers] == ["old\n", "new\n"]
            refused = await desk.call(awaiting(all=["nope"]))
    assert (refused.is_error, refused.text) == (True, "Handle `nope` not found")


async def test_138_what_was_registered_and_never_called_ends_with_the_turn(local: Jobs, gate: Gate) -> None:
    call = spawn("x", gate.wait)
    async with coordinate(local, Tools(shell())) as desk:
        await desk.register([call])
        assert await desk.end_turn() is not None
        response = await desk.call(call)
        assert (response.is_error, response.text) == (True, "shell: the turn ended before this call was made")
        await desk.register([call])  # the id is free again
        assert data(await desk.call(call))["state"] == "running"
        gate.open()


async def test_an_id_that_is_active_is_refused_by_the_call_alone(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, Tools(shell())) as desk:
        await desk.call(spawn("x", gate.wait))
        response = await desk.call(spawn("x", "true"))
        gate.open()
    assert response.text == "Handle `x` is already active; await or abort it, or choose another ID"


def test_265_the_instructions_for_a_model_teach_the_pattern_and_name_what_is_there() -> None:
    words = Tools(shell()).instructions
    assert words.startswith("shell can work in the background. Pattern: call each with action spawn")
    assert "call that answers it" not in words
    assert Tools().instructions == ""
