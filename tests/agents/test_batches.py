"""Batches of calls: ids registered before anything runs, calls at once, `await` beside its spawns."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.desk import STATEFUL, awaiting, said, shell, spawn, tools
from tests.support.gates import Gate

from bide.agents.calls import Call
from bide.agents.context import Context
from bide.agents.coordinator import Coordinator, coordinate
from bide.agents.registry import Tools
from bide.agents.tool import Tool
from bide.api import Jobs
from bide.model.handletools import ToolSettings


async def _upper(_: Context, given: dict[str, Any]) -> str:
    return str(given["text"]).upper()


async def _broken(_: Context, __: dict[str, Any]) -> str:
    raise RuntimeError("the index is gone")


_TEXT = {"text": {"type": "string"}}
UPPER = Tool("upper", "Upper case.", _upper, _TEXT, ("text",), STATEFUL)
BROKEN = Tool("broken", "Fails.", _broken, spawn=STATEFUL)
MISSING = Tool("missing", "Is not there.", ToolSettings(("/no/such/program",)), spawn=STATEFUL)


@pytest.fixture
async def desk(local: Jobs) -> AsyncIterator[Coordinator]:
    async with coordinate(local, tools(UPPER, BROKEN, MISSING), owner="me") as one:
        yield one


@pytest.mark.parametrize("first", [True, False])
async def test_125_an_await_may_name_what_its_own_batch_spawns_in_any_order(desk: Coordinator, first: bool) -> None:
    waiting, spawned = awaiting(all=["check", "test"]), [spawn("check", "echo fine"), spawn("test", "echo 42 passed")]
    batch = [waiting, *spawned] if first else [*spawned, waiting]
    answers = await said(desk, *batch)
    completed = answers[0 if first else 2]
    assert completed == {
        "completed": [
            {"id": "check", "state": "stopped", "result": "fine\n"},
            {"id": "test", "state": "stopped", "result": "42 passed\n"},
        ],
        "pending": [],
    }
    assert {one["state"] for one in answers if "state" in one} == {"running"}


async def test_126_an_id_twice_in_a_batch_rejects_all_of_it_before_anything_runs(
    desk: Coordinator, local: Jobs, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    batch = [spawn("a", f"touch {mark}"), spawn("same", "true"), spawn("same", "true"), awaiting(all=["a"])]
    answers = await said(desk, *batch)
    assert len(answers) == 4
    assert all(
        "Two calls of this batch spawn handle `same`" in one and "Nothing of this batch was run" in one
        for one in answers
    )
    assert not (await local.list()).jobs
    assert not mark.exists()
    assert await said(desk, awaiting(all=["a"])) == ["Handle `a` not found"]


async def test_126_an_id_of_an_active_handle_rejects_the_batch_and_is_free_once_that_stopped(
    desk: Coordinator, gate: Gate
) -> None:
    await said(desk, spawn("build", gate.wait))
    answers = await said(desk, spawn("other", "true"), spawn("build", "true"))
    assert all("`build` is already active" in one for one in answers)
    gate.open()
    await said(desk, awaiting(all=["build"]))
    assert (await said(desk, spawn("build", "echo again"), awaiting(all=["build"])))[1]["completed"][0][
        "result"
    ] == "again\n"


async def test_127_the_calls_of_a_batch_run_at_once(desk: Coordinator) -> None:
    began = time.monotonic()
    await said(desk, spawn("a", "sleep 0.5"), spawn("b", "sleep 0.5"), awaiting(all=["a", "b"]))
    assert time.monotonic() - began < 0.95


async def test_128_a_spawn_that_fails_never_leaves_an_await_waiting(desk: Coordinator) -> None:
    with anyio.fail_after(20):
        spawned, awaited = await said(
            desk, Call("1", "shell", {"action": "spawn", "id": "bad", "command": "x", "cwd": 1}), awaiting(all=["bad"])
        )
    assert "no field 'cwd'" in spawned
    (row,) = awaited["completed"]
    assert (row["state"], row["result"]) == ("stopped", spawned)


async def test_128_a_program_that_is_not_there_is_a_stopped_handle(desk: Coordinator) -> None:
    with anyio.fail_after(20):
        _, awaited = await said(desk, Call("1", "missing", {"action": "spawn", "id": "gone"}), awaiting(any=["gone"]))
    assert "Process could not start: no command" in awaited["completed"][0]["result"]


async def test_a_coroutine_is_spawned_and_awaited_as_a_command_is(desk: Coordinator, local: Jobs) -> None:
    spawned, awaited = await said(
        desk, Call("1", "upper", {"action": "spawn", "id": "loud", "text": "hello"}), awaiting(all=["loud"])
    )
    assert spawned == {"id": "loud", "state": "running"}
    assert awaited["completed"] == [{"id": "loud", "state": "stopped", "result": "HELLO"}]
    job = await local.get("loud")
    assert (job.spec.kind, job.label, job.owner) == ("task", "upper", "me")


async def test_what_a_coroutine_raises_is_the_message_of_its_handle(desk: Coordinator) -> None:
    _, awaited = await said(desk, Call("1", "broken", {"action": "spawn", "id": "b"}), awaiting(all=["b"]))
    (row,) = awaited["completed"]
    assert row["result"] == "the index is gone"
    assert row["error"] == {"message": "the index is gone", "trace": ["the index is gone\n"], "transient": False}


async def test_107_a_call_without_an_action_runs_to_completion_and_leaves_no_handle(desk: Coordinator) -> None:
    answers = await said(
        desk,
        Call("1", "upper", {"text": "now"}),
        Call("2", "shell", {"command": "echo out; echo err >&2"}),
        Call("3", "broken", {}),
        Call("4", "shell", {"command": "exit 3"}),
    )
    assert answers == ["NOW", "out\nerr", "the index is gone", "Process exited with code 3"]
    assert await said(desk, awaiting(all=["shell"])) == ["Handle `shell` not found"]


async def test_121_the_race_is_won_and_the_other_goes_on(desk: Coordinator, gate: Gate) -> None:
    *_, raced = await said(desk, spawn("slow", gate.wait), spawn("fast", "true"), awaiting(any=["slow", "fast"]))
    assert [one["id"] for one in raced["completed"]] == ["fast"]
    (slow,) = raced["pending"]
    assert (slow["id"], slow["state"] in ("pending", "running")) == ("slow", True)
    gate.open()
    (later,) = await said(desk, awaiting(all=["slow"]))
    assert later["pending"] == []


async def test_111_permission_is_asked_at_the_spawn_and_an_await_sees_the_handle_pending(local: Jobs) -> None:
    asked, decide = anyio.Event(), anyio.Event()
    answers: list[Any] = []

    async def permit(_: Call) -> bool:
        asked.set()
        await decide.wait()
        return False

    async with coordinate(local, tools(), permit=permit) as desk, anyio.create_task_group() as group:

        async def batch() -> None:
            answers.extend(await said(desk, spawn("a", "echo hi"), awaiting(all=["a"])))

        group.start_soon(batch)
        await asked.wait()
        assert await said(desk, awaiting(all=["a"], timeout_secs=0)) == [
            {"completed": [], "pending": [{"id": "a", "state": "pending"}], "timed_out": True}
        ]
        decide.set()
    assert answers[0] == "shell was not permitted to start; go on without it"
    assert answers[1]["completed"][0]["result"] == answers[0]


async def test_124_an_interrupt_ends_the_await_and_not_the_job(desk: Coordinator, gate: Gate, local: Jobs) -> None:
    await said(desk, spawn("long", gate.wait))
    awaited: list[Any] = []

    async def wait() -> None:
        awaited.extend(await said(desk, awaiting(all=["long"])))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        desk.interrupt()
    assert awaited == [{"completed": [], "pending": [{"id": "long", "state": "running"}], "cancelled": True}]
    gate.open()
    assert (await local.wait(["long"])).met == "ended"


async def test_130_a_coroutine_has_the_handles_and_the_cancellation(local: Jobs) -> None:
    async def how_is(context: Context, given: dict[str, Any]) -> str:
        assert not context.cancellation.cancelled
        return await context.handles.state(await context.handles.find(given["id_of"]))

    looking = Tool("how_is", "Looks.", how_is, {"id_of": {"type": "string"}}, ("id_of",))
    async with coordinate(local, tools(looking)) as desk:
        await said(desk, spawn("x", "true"), awaiting(all=["x"]))
        assert await said(desk, Call("1", "how_is", {"id_of": "x"})) == ["stopped"]


async def test_a_handle_of_a_command_is_found_after_the_program_came_back(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, tools(), owner="me") as desk:
        await said(desk, spawn("long", gate.wait))
    gate.open()
    async with coordinate(local, tools(), owner="me") as desk:
        (awaited,) = await said(desk, awaiting(all=["long"]))
    assert awaited["completed"][0]["id"] == "long"


async def test_260_a_forgotten_handle_says_so_by_its_name_and_is_not_found_by_others(
    desk: Coordinator, local: Jobs
) -> None:
    await said(desk, spawn("old", "true"), awaiting(all=["old"]))
    (job,) = (await local.list()).jobs
    await local.forget(job.id)
    async with coordinate(local, tools(), owner="me") as later, coordinate(local, tools(), owner="you") as other:
        for ref in ("old", job.id):
            for call in (awaiting(all=[ref]), Call("1", "shell", {"action": "fetch", "id": ref})):
                (sentence,) = await said(later, call)
                assert sentence.startswith(f"Handle `{ref}` was forgotten at ")
                assert await said(other, call) == [f"Handle `{ref}` not found"]


@pytest.mark.parametrize("pty", [False, True])
async def test_144_a_program_fetches_and_aborts_what_an_earlier_one_spawned(local: Jobs, gate: Gate, pty: bool) -> None:
    own = Tool("own", "Reads.", ToolSettings(f"echo here; {gate.wait}", stdin=not pty, pty=pty), spawn=STATEFUL)
    async with coordinate(local, tools(own), owner="me") as desk:
        await said(desk, Call("0", "own", {"action": "spawn", "id": "long"}))
    async with coordinate(local, tools(own), owner="me") as desk:
        with anyio.fail_after(15):
            (fetched,) = await said(desk, Call("1", "own", {"action": "fetch", "id": "long"}))
            await said(desk, Call("2", "own", {"action": "apply", "id": "long", "input": "x\n"}))
            (aborted,) = await said(desk, Call("3", "own", {"action": "abort", "id": "long"}))
            (ended,) = await said(desk, Call("4", "own", {"action": "fetch", "id": "long"}))
    assert (fetched["id"], fetched["state"]) == ("long", "running")
    assert (aborted["state"], ended["state"]) == ("stopped", "stopped")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (awaiting(), "At least one handle ID required"),
        (awaiting(any=[], all=[]), "At least one handle ID required"),
        (awaiting(all=["x"]), "Handle `x` not found"),
        (awaiting(all=["x"], timeout_secs=-1), "'timeout_secs' must be at least 0, not -1"),
        (awaiting(all="x"), "'all' must be a list, not 'x'"),
        (Call("1", "nope", {}), "there is no tool 'nope'; known are shell, upper, broken, missing, await"),
        (Call("1", "upper", {"action": "fly", "id": "x"}), "upper cannot fly; it can spawn, fetch, abort"),
        (
            Call("1", "upper", {"action": "apply", "id": "x", "input": "y"}),
            "upper cannot apply; it can spawn, fetch, abort",
        ),
        (Call("1", "upper", {"text": "a", "id": "x"}), "'id' goes with an 'action': spawn, fetch, abort"),
        (Call("1", "upper", {"action": "spawn", "id": "a b", "text": "x"}), "`a b` cannot be a handle ID"),
        (Call("1", "upper", {"action": "spawn", "text": "x"}), "spawn: the call needs 'id'"),
        (Call("1", "upper", {"action": "fetch", "id": "x"}), "Handle `x` not found"),
    ],
)
async def test_bad_input_gets_one_sentence(desk: Coordinator, call: Call, sentence: str) -> None:
    (response,) = await desk.batch([call])
    assert response.is_error
    assert sentence in response.text


async def test_129_without_a_stateful_tool_there_is_no_await(local: Jobs) -> None:
    plain = Tools(Tool("upper", "Upper case.", _upper, _TEXT, ("text",)))
    assert [one["name"] for one in plain.schemas()] == ["upper"]
    async with coordinate(local, plain) as desk:
        (response,) = await desk.batch([awaiting(all=["x"])])
    assert response.text == "there is no tool 'await'; known are upper"
    assert [one["name"] for one in Tools(shell()).schemas()] == ["shell", "await"]
