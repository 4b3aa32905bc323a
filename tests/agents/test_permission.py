"""Handles that wait for permission: seen, awaited, aborted, interrupted, ended with the turn, and never started after it."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest
from tests.agents.desk import awaiting, said, shell, spawn

from bide.agents import Call, Coordinator, Response, Tools, coordinate
from bide.api import Jobs

FETCH = Call("2", "shell", {"action": "fetch", "id": "x"})
ABORT = Call("3", "shell", {"action": "abort", "id": "x"})


class Person:
    """Is asked for permission, and says nothing until it is told what to say."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.said = anyio.Event()
        self.says = True

    async def __call__(self, _: Call) -> bool:
        self.asked.set()
        with anyio.CancelScope(shield=True):  # like one who reads the keyboard in a thread
            await self.said.wait()
        return self.says


@asynccontextmanager
async def held(
    jobs: Jobs, *, inquire: Any = None, **lifecycle: Any
) -> AsyncGenerator[tuple[Coordinator, Person, list[Response]]]:
    """A spawn of `x` waits for permission; at the end it was given, and what the spawn answered is in the list."""
    person, answers = Person(), list[Response]()
    async with coordinate(jobs, Tools(shell(**lifecycle)), owner="me", permit=person, inquire=inquire) as desk:

        async def batch() -> None:
            answers.extend(await desk.batch([spawn("x", "echo it ran")]))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(batch)
                await person.asked.wait()
                yield desk, person, answers
                person.said.set()


async def test_104_111_a_handle_that_waits_for_permission_is_fetched_as_pending(local: Jobs) -> None:
    async with held(local) as (desk, person, _):
        assert await said(desk, FETCH) == [{"id": "x", "state": "pending"}]
        (awaited,) = await said(desk, awaiting(all=["x"], timeout_secs=0))
        assert awaited == {"completed": [], "pending": [{"id": "x", "state": "pending"}], "timed_out": True}
        (refused,) = await said(desk, spawn("x", "true"))
        assert "Handle `x` is already active" in refused
        person.said.set()
        (awaited,) = await said(desk, awaiting(all=["x"]))
        assert awaited["completed"][0]["result"] == "it ran\n"


async def _never_ran(jobs: Jobs, answers: list[Response], why: str) -> None:
    assert not (await jobs.list()).jobs
    (answer,) = answers
    assert answer.is_error
    assert why in answer.text


async def test_106_an_abort_withdraws_it_and_permission_that_comes_later_starts_nothing(local: Jobs) -> None:
    async with held(local) as (desk, _, answers):
        (row,) = await said(desk, ABORT)
        assert (row["state"], row["error"]["transient"]) == ("stopped", False)
        assert row["result"] == "it was aborted before it was permitted, so it was not started"
        (awaited,) = await said(desk, awaiting(all=["x"]))
        assert awaited["completed"] == [row]
    await _never_ran(local, answers, "aborted before it was permitted")


async def test_124_an_interrupt_ends_the_wait_for_permission(local: Jobs) -> None:
    async with held(local) as (desk, _, answers):
        desk.interrupt()
        (row,) = await said(desk, FETCH)
        assert row["state"] == "stopped"
    await _never_ran(local, answers, "interrupted before it was permitted")


@pytest.mark.parametrize("on_turn_end", ["abort", "await", "inquire"])
async def test_138_it_is_in_the_end_of_the_turn_and_never_starts_after_it(local: Jobs, on_turn_end: str) -> None:
    async with held(local, on_turn_end=on_turn_end, await_timeout=timedelta(milliseconds=50)) as (desk, _, answers):
        done = await desk.end_turn()
        assert (done.aborted, done.left, done.unverified, done.results) == (["x"], [], [], [])
    await _never_ran(local, answers, "the turn ended before it was permitted")


def _says(action: str, shown: list[Any]) -> Callable[[Any, Any], Any]:
    async def inquire(question: Any, _: Any) -> object:
        shown.extend(question["handles"])
        return {"x": action}

    return inquire


async def test_139_140_the_assistant_may_wait_for_the_permission_too(local: Jobs) -> None:
    shown: list[Any] = []
    async with held(local, inquire=_says("wait", shown)) as (desk, person, _):
        person.said.set()
        done = await desk.end_turn()
    assert [json.loads(one.text)["result"] for one in done.results] == ["it ran\n"]
    timeout = timedelta(milliseconds=50)
    async with held(local, inquire=_says("wait", shown), wait_timeout=timeout) as (desk, _, _):
        done = await desk.end_turn()
    assert shown[-1] | {"elapsed_secs": 0.0} == {
        "id": "x",
        "tool": "shell",
        "state": "pending",
        "elapsed_secs": 0.0,
        "output_preview": "waits for permission to start",
        "action": "wait | abort",
    }
    (result,) = done.results
    assert (done.aborted, result.is_error) == (["x"], True)
    assert "before it was permitted" in result.text


async def test_128_a_permit_that_raises_is_the_answer_of_its_call_alone(local: Jobs) -> None:
    async def permit(call: Call) -> bool:
        if "secret" in str(call.arguments):
            raise RuntimeError("the terminal is gone")
        return True

    async with coordinate(local, Tools(shell()), permit=permit) as desk:
        with anyio.fail_after(20):
            refused, _, awaited = await said(
                desk, spawn("a", "cat secret"), spawn("b", "echo fine"), awaiting(all=["a", "b"])
            )
    assert refused == "shell was not started: its permission could not be asked (the terminal is gone)"
    assert [row["result"] for row in awaited["completed"]] == [refused, "fine\n"]


async def test_arguments_may_be_json_text_and_other_arguments_are_the_answer_of_their_call_alone(local: Jobs) -> None:
    async with coordinate(local, Tools(shell())) as desk:
        calls = [
            Call("1", "shell", '{"action": "spawn", "id": "a", "command": "echo fine"}'),
            Call("2", "shell", '{"action": "spawn", '),
            Call("3", "shell", "[]"),
            Call("4", "await", '{"all": ["a"]}'),
            Call("5", "shell", None),
        ]
        with anyio.fail_after(20):
            _, broken, listed, awaited, missing = await said(desk, *calls)
    assert "'arguments' must be a JSON object; '{\"action\": \"spawn\", ' is no JSON" in broken
    assert listed == "'arguments' must be a JSON object, not []"
    assert awaited["completed"][0]["result"] == "fine\n"
    assert missing == "the call needs 'command'"
