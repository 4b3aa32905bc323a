"""The stateful tools of the toolset `handles` alone, by the numbers of the checklist."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.handling import SETTINGS, content, fetched, settings, spawn, stopped
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver.server import Door


@pytest.fixture
async def reader(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client of unknown name, whose output is in the text."""
    async with agent(jobs_here, tmp_path, owner="reader", tools=("handles",), output=None) as one:
        yield one


@pytest.fixture
async def ai(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent(jobs_here, tmp_path, tools=("handles",), settings=settings(tools=SETTINGS)) as one:
        yield one


async def test_100_a_handle_runs_waits_and_stops_well_or_with_an_error(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "shell", "ask", command="printf 'name? '; read -r n; echo hi $n", stdin=True)
    data = await fetched(ai, "shell", "ask", lambda data: data["state"] != "running")
    assert data == {"id": "ask", "state": "waiting", "content": "name? "}
    await ai.data("shell", action="apply", id="ask", input="ann")
    assert await stopped(ai, "ask") == {"id": "ask", "state": "stopped", "result": "name? hi ann\n"}
    await spawn(ai, "shell", "bad", command=f"{gate.wait}; echo out; echo err >&2; exit 3")
    assert (await ai.data("shell", action="fetch", id="bad"))["state"] == "running"
    gate.open()
    error = {"message": "Process exited with code 3", "trace": ["err\n"], "transient": False}
    row = {"id": "bad", "state": "stopped", "result": error["message"], "error": error, "content": "out\n"}
    assert await stopped(ai, "bad") == row
    assert await ai.data("shell", action="fetch", id="bad") == row


async def test_100_what_waits_for_its_turn_is_pending(ai: Agent, jobs_here: Jobs, gate: Gate) -> None:
    await jobs_here.groups.limit(None, 1)
    await spawn(ai, "shell", "first", command=gate.wait)
    assert await ai.data("shell", action="spawn", id="second", command="true") == {"id": "second", "state": "pending"}
    data = await ai.data("await", all=["second"], timeout_secs=0)
    assert data == {"completed": [], "pending": [{"id": "second", "state": "pending"}], "timed_out": True}
    gate.open()
    assert (await stopped(ai, "second"))["result"] == ""


async def test_101_each_tool_has_its_actions_and_says_so(ai: Agent) -> None:
    tools = {tool.name: tool for tool in (await ai.client.list_tools()).tools}
    assert list(tools) == ["await", "shell", "python", "terminal", "greet", "listen", "fire", "missing", "short"]
    actions = {
        name: tool.input_schema["properties"]["action"]["enum"] for name, tool in tools.items() if name != "await"
    }
    every = ["spawn", "fetch", "apply", "abort"]
    assert [actions[name] for name in ("shell", "python", "terminal", "listen")] == [every] * 4
    assert (actions["greet"], actions["fire"]) == (["spawn", "fetch", "abort"], ["spawn", "fetch"])
    assert tools["greet"].description is not None
    assert tools["greet"].description.startswith("Greets. Spawn with an id of your choice")
    assert "input" not in tools["greet"].input_schema["properties"]
    _, sentence = await ai.refusal("greet", action="apply", id="x", input="y")
    assert sentence == "'action' must be one of spawn, fetch, abort, not 'apply'"
    _, sentence = await ai.refusal("fire", action="abort", id="x")
    assert sentence == "'action' must be one of spawn, fetch, not 'abort'"


async def test_101_a_schema_per_action_is_shown_where_the_operator_says_that_models_take_it(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    shown = settings(combinators=True)
    async with agent(jobs_here, tmp_path, tools=("handles",), settings=shown) as ai:
        tools = {tool.name: tool.input_schema for tool in (await ai.client.list_tools()).tools}
    forms = tools["shell"]["oneOf"]
    assert [form["properties"].get("action", {}).get("const") for form in forms] == [
        "spawn",
        "fetch",
        "apply",
        "abort",
        None,
    ]
    assert [form["required"] for form in forms] == [
        ["action", "id", "command"],
        ["action", "id"],
        ["action", "id", "input"],
        ["action", "id"],
        ["command"],
    ]
    assert tools["await"]["anyOf"] == [{"required": [key]} for key in ("any", "all")]


async def test_101_the_flat_schema_says_what_each_action_needs(ai: Agent) -> None:
    tools = {tool.name: tool.input_schema["properties"] for tool in (await ai.client.list_tools()).tools}
    needed = (
        "needs, for spawn: id, command; fetch: id; apply: id, input; abort: id. Left out, the call runs to completion"
    )
    assert tools["shell"]["action"]["description"] == f"{needed} (needs command)"
    assert tools["terminal"]["action"]["description"] == needed.replace("id, command", "id")


async def test_101_by_default_no_schema_has_what_models_services_refuse_at_its_top(ai: Agent) -> None:
    for tool in (await ai.client.list_tools()).tools:
        assert tool.input_schema["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf", "not", "enum"} & set(tool.input_schema)


async def test_102_a_spawn_needs_an_id_and_answers_at_once(ai: Agent, gate: Gate) -> None:
    _, sentence = await ai.refusal("shell", action="spawn", command="true")
    assert sentence == "spawn: the call needs 'id'"
    await spawn(ai, "shell", "build_release", command=gate.wait)
    gate.open()
    await stopped(ai, "build_release")


async def test_103_an_id_is_taken_while_its_handle_is_active_and_free_afterwards(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "shell", "check", command=gate.wait)
    code, sentence = await ai.refusal("python", action="spawn", id="check", code="pass")
    assert (code, sentence) == (
        "name_in_use",
        "Handle `check` is already active; await or abort it, or choose another ID",
    )
    gate.open()
    await stopped(ai, "check")
    await spawn(ai, "shell", "check", command="echo again")
    assert (await stopped(ai, "check"))["result"] == "again\n"


async def test_104_a_fetch_tells_what_is_so_far_and_then_the_result(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "shell", "x", command=f"echo one; echo note >&2; {gate.wait}; echo two")
    data = await content(ai, "shell", "x", "one\n")
    assert (data["state"], data["content"]) == ("running", "one\n")
    gate.open()
    await stopped(ai, "x")
    data = await ai.data("shell", action="fetch", id="x")
    assert data == {"id": "x", "state": "stopped", "result": "one\ntwo\n", "stderr": "note\n"}
    code, sentence = await ai.refusal("shell", action="fetch", id="nothing")
    assert (code, sentence) == ("job_not_found", "Handle `nothing` not found")


@pytest.mark.parametrize(("given", "written"), [(2, "2"), ({"three": True}, '{"three": true}'), ("four", "four")])
async def test_105_input_reaches_what_runs_and_nothing_that_stopped(ai: Agent, given: object, written: str) -> None:
    await spawn(ai, "listen", "cat")
    # A whole line: after an unfinished one it might be taken for a prompt, whose answer gets a newline.
    data = await ai.data("listen", action="apply", id="cat", input="one\n")
    assert data["content"] == "one\n"
    await ai.data("listen", action="apply", id="cat", input=given)
    await ai.data("listen", action="apply", id="cat", input=None)
    assert (await stopped(ai, "cat"))["result"] == f"one\n{written}"
    _, sentence = await ai.refusal("listen", action="apply", id="cat", input="more")
    assert sentence == "Handle `cat` is stopped, so nothing can be applied to it; fetch gives its result"


async def test_105_what_was_spawned_without_stdin_takes_no_input(ai: Agent, gate: Gate) -> None:
    await spawn(ai, "shell", "deaf", command=gate.wait)
    _, sentence = await ai.refusal("shell", action="apply", id="deaf", input="x")
    assert sentence == "Handle `deaf` was spawned without stdin; abort it and spawn it with stdin"
    gate.open()
    await stopped(ai, "deaf")


async def test_106_an_abort_ends_it_and_gives_what_it_wrote(ai: Agent) -> None:
    await spawn(ai, "shell", "long", command="echo so far; sleep 1000")
    await content(ai, "shell", "long", "so far")
    data = await ai.data("shell", action="abort", id="long")
    assert (data["id"], data["state"], data["content"]) == ("long", "stopped", "so far\n")
    assert data["result"].startswith("Process was killed by ")
    assert data["error"]["message"] == data["result"]
    assert await ai.data("shell", action="abort", id="long") == data


async def test_107_a_call_without_an_action_runs_to_completion_and_leaves_no_handle(ai: Agent, reader: Agent) -> None:
    good, bad = "echo one; echo two >&2", "import sys; print('out'); sys.exit('bad')"
    assert await ai.data("shell", command=good) == {"state": "stopped", "result": "one\n", "stderr": "two\n"}
    assert await reader.text("shell", command=good) == "one\ntwo"
    answer = await ai.ask("python", code=bad)
    assert answer.structured_content is not None
    assert answer.structured_content["error"]["trace"] == ["bad\n"]
    answer = await reader.ask("python", code=bad)
    assert (text_of(answer), answer.is_error) == ("Process exited with code 1\nout\nbad", True)
    assert await reader.text("shell", command="true") == "(no output)"
    for given in ({"id": "x", "command": "true"}, {"input": "y"}):
        _, sentence = await ai.refusal("shell", **given)
        assert sentence.startswith(f"{next(iter(given))!r} goes with an 'action': spawn, fetch, apply, abort; ")


async def test_107_a_call_that_takes_longer_than_its_client_waits_says_how_to_go_on(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("handles",), patience=0.2) as ai:
        data = await ai.data("shell", command=f"echo begun; {gate.wait}; echo done")
        assert (data["state"], data["content"]) == ("running", "begun\n")
        assert data["note"].endswith(f'it goes on: await {{"all": ["{data["id"]}"]}}')
        gate.open()
        assert (await stopped(ai, data["id"]))["result"] == "begun\ndone\n"


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        ("shell", {"command": "exit 7"}, "Process exited with code 7"),
        ("shell", {"command": "kill -SEGV $$"}, "Process was ended by SIGSEGV"),
        ("shell", {"command": "sleep 1000", "timeout": 0.1}, "Process timed out after 100ms"),
        ("short", {}, "Process timed out after 200ms"),
        ("missing", {}, "Process could not start: "),
    ],
)
async def test_108_only_exit_0_is_ok_and_each_other_end_has_its_message(
    ai: Agent, tool: str, given: dict[str, object], result: str
) -> None:
    await ai.data(tool, action="spawn", id="x", **given)
    row = await stopped(ai, "x")
    assert row["result"].startswith(result)
    assert row["error"]["transient"] is False
    assert (await ai.ask(tool, **given)).is_error


async def test_a_long_result_is_its_beginning_and_its_end_and_where_all_of_it_is(ai: Agent) -> None:
    await spawn(ai, "shell", "long", command="seq 100000")
    text = (await stopped(ai, "long"))["result"]
    assert len(text) < 300_000
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n99999\n100000\n")
    uri = text.partition("... [truncated, ")[2].partition("all of it: ")[2].partition("]")[0]
    assert (await ai.resource(uri)).endswith("99999\n100000\n")


async def test_handles_of_others_are_not_found(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with (
        anyio.create_task_group() as group,
        agent(jobs_here, tmp_path, door=(door := Door(jobs_here, group)), owner="alice", tools=("handles",)) as alice,
        agent(jobs_here, tmp_path, door=door, owner="bob", tools=("handles",)) as bob,
    ):
        await spawn(alice, "shell", "mine", command=gate.wait)
        calls = [("shell", {"action": action, "id": "mine"}) for action in ("fetch", "abort")]
        refused: list[tuple[str, str]] = []

        async def ask(tool: str, given: dict[str, Any]) -> None:
            refused.append(await bob.refusal(tool, **given))

        async with anyio.create_task_group() as asking:
            for tool, given in [*calls, ("await", {"any": ["mine"]})]:
                asking.start_soon(ask, tool, given)
        assert refused == [("job_not_found", "Handle `mine` not found")] * 3
        await spawn(bob, "shell", "mine", command="echo bob")
        assert (await stopped(bob, "mine"))["result"] == "bob\n"
        gate.open()
        assert (await stopped(alice, "mine"))["result"] == ""


async def test_260_a_forgotten_handle_says_that_it_was_forgotten_by_id_and_by_name(ai: Agent, jobs_here: Jobs) -> None:
    await spawn(ai, "shell", "old", command="true")
    await stopped(ai, "old")
    (job,) = (await jobs_here.list()).jobs
    await jobs_here.forget(job.id)
    for ref in (job.id, "old"):
        for tool, given in (("await", {"all": [ref]}), ("shell", {"action": "fetch", "id": ref})):
            code, sentence = await ai.refusal(tool, **given)
            assert code == "job_forgotten"
            assert sentence.startswith(f"Handle `{ref}` was forgotten at ")


async def test_260_what_another_owner_forgot_is_not_found(
    ai: Agent, reader: Agent, jobs_here: Jobs, gate: Gate
) -> None:
    await spawn(ai, "shell", "old", command="true")
    await stopped(ai, "old")
    (job,) = (await jobs_here.list()).jobs
    await jobs_here.forget(job.id)
    for ref in (job.id, "old"):
        answer = await reader.ask("shell", action="fetch", id=ref)
        assert text_of(answer) == f"Handle `{ref}` not found"
    # A job of that name, but of another owner, does not change what is said of one's own.
    await spawn(reader, "shell", "old", command=gate.wait)
    code, _ = await ai.refusal("shell", action="fetch", id="old")
    assert code == "job_forgotten"
    gate.open()
    assert (await reader.ask("await", all=["old"])).is_error is False


async def test_260_an_id_whose_job_was_forgotten_is_awaited_where_it_is_spawned_beside(
    ai: Agent, jobs_here: Jobs
) -> None:
    await spawn(ai, "shell", "again", command="true")
    await stopped(ai, "again")
    (job,) = (await jobs_here.list()).jobs
    await jobs_here.forget(job.id)
    found: list[dict[str, Any]] = []

    async def wait() -> None:
        found.append(await stopped(ai, "again"))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.1)
        await ai.ask("shell", action="spawn", id="again", command="echo new")
    assert found[0]["result"] == "new\n"


async def test_146_an_answer_has_its_output_once_in_the_text_or_in_the_data(ai: Agent, reader: Agent) -> None:
    command = "seq 200000; echo oh >&2; exit 3"
    for one in (ai, reader):
        await spawn(one, "shell", "big", command=command)
        for tool, given in (
            ("await", {"all": ["big"]}),
            ("shell", {"action": "fetch", "id": "big"}),
            ("shell", {"command": command}),
        ):
            answer = await one.ask(tool, **given)
            text, data = text_of(answer), json.dumps(answer.structured_content)
            for output in ("199999", "oh"):
                assert (output in text, output in data) == (one is reader, one is ai)
            assert "Process exited with code 3" in text
            assert len(text) + len(data) < 300_000


async def test_146_a_model_is_shown_a_part_whose_gaps_name_their_bytes(jobs_here: Jobs, tmp_path: Path) -> None:
    line = "0123456789" * 5
    whole = f"{line}\n" * 10_000
    for command in (f"yes {line} | head -n 10000", f"yes {line} | head -n 10000; exit 3"):
        async with agent(jobs_here, tmp_path, tools=("handles",), name="claude-code", output=None) as one:
            await one.ask("shell", action="spawn", id="big", command=command)
            for tool, given in (
                ("await", {"all": ["big"]}),
                ("shell", {"action": "fetch", "id": "big"}),
                ("shell", {"command": command}),
            ):
                answer = await one.ask(tool, **given)
                assert answer.structured_content is None
                text = text_of(answer)
                assert len(text) < 18_000
                gaps = re.findall(r"bytes (\d+) to (\d+) left out: (job://\w+/stdout\?offset=(\d+))", text)
                assert gaps
                for first, last, resource, offset in gaps:
                    assert (first, int(first) < int(last)) == (offset, True)
                    assert (await one.resource(resource)).startswith(whole[int(first) : int(first) + 100])
            await one.ask("shell", action="abort", id="big")


async def test_a_budget_bounds_what_a_handle_shows(reader: Agent) -> None:
    command = "seq 50000; echo 'error: no such user'; seq 50000; exit 3"
    await reader.ask("shell", action="spawn", id="big", command=command)
    for tool, given in (("await", {"all": ["big"]}), ("shell", {"action": "fetch", "id": "big"})):
        said = text_of(await reader.ask(tool, **given, budget=300))
        assert len(said) < 2400
        assert "error: no such user" in said
        assert "50000" in said
        assert "all of it: job://" in said


async def test_146_a_budget_of_0_answers_without_output_and_does_the_thing_once(ai: Agent, tmp_path: Path) -> None:
    said = f"echo ran >> {tmp_path}/ran; echo shown; echo seen >&2"
    for one in ({"command": said}, {"command": f"{said}; exit 3"}):
        answer = await ai.ask("shell", **one, budget=0)
        text = text_of(answer) + json.dumps(answer.structured_content)
        assert "all of it: job://" in text
        assert "shown" not in text
        assert "seen" not in text
    assert (tmp_path / "ran").read_text() == "ran\n" * 2
    await spawn(ai, "shell", "cat", command="exec cat", stdin=True)
    for given in ({"action": "apply", "input": "shown\n"}, {"action": "fetch"}, {"action": "abort"}):
        data = await ai.data("shell", **given, id="cat", budget=0)
        assert data["state"] in ("running", "stopped")
        assert "shown" not in json.dumps(data)
    await spawn(ai, "terminal", "tty", command="echo shown; exec cat")
    assert "shown" not in json.dumps(await ai.data("terminal", action="abort", id="tty", budget=0))
    await spawn(ai, "shell", "end", command="echo shown")
    (row,) = (await ai.data("await", all=["end"], budget=0))["completed"]
    assert row["state"] == "stopped"
    assert "shown" not in json.dumps(row)
