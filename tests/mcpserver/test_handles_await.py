"""`await` of the toolset `handles` alone, by the numbers of the checklist."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.handles import is_met
from bide.settings import check

TOOLSET = "handles"


@pytest.fixture
def other(tmp_path: Path) -> Any:
    gate = Gate(tmp_path / "other-gate")
    yield gate
    gate.close()


async def spawn(ai: Agent, id_: str, command: str) -> None:
    await ai.data("shell", action="spawn", id=id_, command=command)


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


async def test_112_await_takes_any_all_and_timeout_secs(ai: Agent) -> None:
    (tool,) = [tool for tool in (await ai.client.list_tools()).tools if tool.name == "await"]
    known = tool.input_schema["properties"]
    assert known["any"]["items"] == known["all"]["items"] == {"type": "string"}
    assert known["timeout_secs"]["type"] == "integer"
    assert set(known) - {"budget"} == {"any", "all", "timeout_secs"}
    assert "required" not in tool.input_schema
    assert tool.description is not None
    assert tool.description.startswith("Block until stateful tool handles reach completion. Use `any` to wait")


@pytest.mark.parametrize("given", [{}, {"any": []}, {"all": [], "any": []}, {"timeout_secs": 1}])
async def test_113_without_an_id_there_is_nothing_to_wait_for(ai: Agent, given: dict[str, object]) -> None:
    assert await ai.refusal("await", **given) == ("bad_request", "At least one handle ID required")


async def test_114_one_unknown_id_is_an_error_of_the_whole_call_and_nothing_is_waited_for(
    ai: Agent, gate: Gate
) -> None:
    await spawn(ai, "here", gate.wait)
    with anyio.fail_after(20):
        code, sentence = await ai.refusal("await", all=["here"], any=["my_handle"])
    assert (code, sentence) == ("job_not_found", "Handle `my_handle` not found")
    gate.open()


async def test_115_all_of_all_and_one_of_any(ai: Agent, gate: Gate, other: Gate) -> None:
    await spawn(ai, "a", "true")
    await spawn(ai, "b", gate.wait)
    await spawn(ai, "c", other.wait)
    data = await ai.data("await", all=["a"], any=["b", "c"], timeout_secs=0)
    assert (ids(data["completed"]), ids(data["pending"]), data["timed_out"]) == (["a"], ["b", "c"], True)
    gate.open()
    data = await ai.data("await", all=["a"], any=["b", "c"])
    assert (ids(data["completed"]), ids(data["pending"]), "timed_out" in data) == (["a", "b"], ["c"], False)
    other.open()
    data = await ai.data("await", all=["a", "b", "c"])
    assert (ids(data["completed"]), data["pending"]) == (["a", "b", "c"], [])


_STOPPED = {"q": False, "r": False, "s": True, "f": True}
"""Queued, running, stopped, failed."""


@pytest.mark.parametrize(
    ("every", "either", "met"),
    [
        ("s", "", True),
        ("f", "", True),
        ("r", "", False),
        ("q", "", False),
        ("sf", "", True),
        ("sr", "", False),
        ("", "s", True),
        ("", "rqf", True),
        ("", "rq", False),
        ("s", "r", False),
        ("r", "s", False),
        ("s", "sr", True),
    ],
)
def test_115_the_condition(every: str, either: str, met: bool) -> None:
    assert is_met([_STOPPED[one] for one in every], [_STOPPED[one] for one in either]) is met


async def test_116_what_has_stopped_already_counts_and_nothing_blocks(ai: Agent) -> None:
    await spawn(ai, "done", "echo fine")
    first = await ai.data("await", all=["done"])
    with anyio.fail_after(20):
        assert await ai.data("await", any=["done"]) == first
    assert first == {"completed": [{"id": "done", "state": "stopped", "result": "fine\n"}], "pending": []}


async def test_117_each_handle_is_told_once_and_by_its_state(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "done", "true")
    await spawn(ai, "still", gate.wait)
    (own,) = (await ai.data("await", all=["done"]))["completed"]
    data = await ai.data("await", all=["done"], any=["still", "done"])
    assert data == {"completed": [own], "pending": [{"id": "still", "state": "running"}]}
    assert set(own) == {"id", "state", "result"}
    gate.open()


async def test_118_a_failed_handle_is_stopped_and_its_result_is_the_message(ai: Agent) -> None:
    await spawn(ai, "bad", "echo why >&2; exit 9")
    (row,) = (await ai.data("await", all=["bad"]))["completed"]
    assert (row["state"], row["result"]) == ("stopped", "Process exited with code 9")
    assert row["error"] == {"message": row["result"], "trace": ["why\n"], "transient": False}


async def test_119_a_timeout_tells_the_states_and_ends_nothing(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "quick", "echo ok")
    await spawn(ai, "slow", gate.wait)
    await ai.data("await", any=["quick"])
    data = await ai.data("await", all=["quick", "slow"], timeout_secs=1)
    assert data == {
        "completed": [{"id": "quick", "state": "stopped", "result": "ok\n"}],
        "pending": [{"id": "slow", "state": "running"}],
        "timed_out": True,
    }
    gate.open()
    data = await ai.data("await", all=["quick", "slow"])
    assert (ids(data["completed"]), "timed_out" in data) == (["quick", "slow"], False)


async def test_120_without_a_timeout_it_blocks_with_0_it_does_not_and_below_it_is_refused(
    ai: Agent, jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    await spawn(ai, "x", gate.wait)
    with anyio.fail_after(20):
        data = await ai.data("await", all=["x"], timeout_secs=0)
    assert (data["timed_out"], "note" in data) == (True, False)
    _, sentence = await ai.refusal("await", all=["x"], timeout_secs=-1)
    assert sentence == "'timeout_secs' must be at least 0, not -1"
    with anyio.move_on_after(0.3) as scope:
        await ai.data("await", all=["x"])
    assert scope.cancelled_caught
    async with agent(jobs_here, tmp_path, tools=("handles",), patience=0.1) as hasty:
        data = await hasty.data("await", all=["x"])
    assert (data["timed_out"], "await them again" in data["note"]) == (True, True)
    gate.open()


async def test_121_once_any_is_met_the_others_go_on(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "crates", "echo tokio")
    await spawn(ai, "github", f"{gate.wait}; echo found")
    data = await ai.data("await", any=["crates", "github"])
    assert (ids(data["completed"]), data["pending"]) == (["crates"], [{"id": "github", "state": "running"}])
    gate.open()
    data = await ai.data("await", all=["github"])
    assert data["completed"][0]["result"] == "found\n"


async def test_123_several_awaits_of_one_handle_are_all_answered(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "one", gate.wait)
    answers: list[dict[str, Any]] = []

    async def wait(**given: object) -> None:
        answers.append(await ai.data("await", **given))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for given in ({"all": ["one"]}, {"any": ["one"]}, {"all": ["one"], "any": ["one"]}):
                group.start_soon(lambda given=given: wait(**given))
            assert (await ai.data("await", all=["one"], timeout_secs=0))["timed_out"]
            gate.open()
    assert [ids(answer["completed"]) for answer in answers] == [["one"]] * 3


async def test_124_a_cancelled_await_leaves_its_handles_alone(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "left", f"{gate.wait}; echo whole")
    with anyio.move_on_after(0.2) as scope:
        await ai.data("await", all=["left"])
    assert scope.cancelled_caught
    assert (await ai.data("shell", action="fetch", id="left"))["state"] == "running"
    gate.open()
    assert (await ai.data("await", all=["left"]))["completed"][0]["result"] == "whole\n"


async def test_spawns_and_their_await_may_come_in_any_order(ai: Agent) -> None:
    answers: list[dict[str, Any]] = []

    async def wait() -> None:
        answers.append(await ai.data("await", all=["check", "test"]))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(spawn, ai, "check", "echo checked")
        group.start_soon(spawn, ai, "test", "echo tested")
    assert [row["result"] for row in answers[0]["completed"]] == ["checked\n", "tested\n"]


async def test_129_there_is_an_await_only_with_a_stateful_tool_and_it_cannot_be_spawned(
    ai: Agent, jobs_here: Jobs, tmp_path: Path
) -> None:
    _, sentence = await ai.refusal("await", action="spawn", id="x", all=["y"])
    assert sentence.startswith("the call has no field 'action'; known are any, all,")
    offered: list[tuple[dict[str, Any], list[str]]] = [
        ({"builtin": []}, []),
        ({"builtin": ["python"]}, ["await", "python"]),
        ({"builtin": [], "tools": {"check": {"command": "true"}}}, ["await", "check"]),
    ]
    for handles, tools in offered:
        settings = check({"mcp": {"handles": handles}}, "config.toml")
        async with agent(jobs_here, tmp_path, tools=("handles",), settings=settings) as one:
            assert [tool.name for tool in (await one.client.list_tools()).tools] == tools


async def test_130_the_end_of_a_handle_wakes_its_await_at_once(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "x", gate.wait)
    began: list[float] = []

    async def let_go() -> None:
        await anyio.sleep(0.3)
        began.append(anyio.current_time())
        gate.open()

    async with anyio.create_task_group() as group:
        group.start_soon(let_go)
        await ai.data("await", all=["x"])
    assert anyio.current_time() - began[0] < 0.25


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"any": "x"}, "'any' must be a list, not 'x'"),
        ({"all": [1]}, "'all[0]' must be a string, not 1"),
        ({"all": ["x"], "timeout_secs": 1.5}, "'timeout_secs' must be a whole number, not 1.5"),
        ({"all": ["x"], "timout": 1}, "the call has no field 'timout'; did you mean 'timeout_secs'"),
        ({"jobs": ["x"]}, "the call has no field 'jobs'; known are any, all, timeout_secs"),
        ({"all": [""]}, "Handle `` not found"),
        ({"all": ["a\x1b[2J"]}, "Handle `a\\x1b[2J` not found"),
    ],
)
async def test_bad_input_names_the_field_and_the_fix(ai: Agent, given: dict[str, object], sentence: str) -> None:
    _, said = await ai.refusal("await", **given)
    assert said.startswith(sentence)


async def test_112_one_await_may_name_more_than_a_hundred_handles(ai: Agent) -> None:
    await spawn(ai, "x", "echo ok")
    data = await ai.data("await", all=["x"] * 1000)
    assert data == {"completed": [{"id": "x", "state": "stopped", "result": "ok\n"}], "pending": []}


async def test_125_an_await_a_moment_before_the_spawn_of_an_id_that_is_used_again_waits_for_the_new_one(
    ai: Agent,
) -> None:
    await spawn(ai, "x", "echo old")
    await ai.data("await", all=["x"])
    awaited: list[dict[str, Any]] = []

    async def wait() -> None:
        awaited.append(await ai.data("await", all=["x"]))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.05)
        await spawn(ai, "x", "sleep 0.3; echo new")
    assert awaited[0]["completed"][0]["result"] == "new\n"


async def test_146_the_end_of_each_long_result_is_there_and_the_whole_answer_has_a_limit(ai: Agent) -> None:
    for one in ("a", "b"):
        await spawn(ai, one, f"seq 1 60000; echo FAILED {one}")
    data = await ai.data("await", all=["a", "b"])
    assert len(json.dumps(data, ensure_ascii=False).encode()) <= 256 * 1024
    assert [row["result"][-9:] for row in data["completed"]] == ["FAILED a\n", "FAILED b\n"]
