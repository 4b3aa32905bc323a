"""What handles ask their client (122): its user by elicitation, or the model, with the exact call that answers it."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ElicitResult
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.mcpserver.handling import settings, spawn
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.question import Form, Question

COLOUR = Question("Which colour?", Form.SELECT, ("red", "blue"))
OWNER = "me"


async def asks(jobs: Jobs, ai: Agent, gate: Gate, question: Question = COLOUR) -> str:
    """A handle `p` that asks; it stops when the gate opens."""
    await spawn(ai, "shell", "p", command=gate.wait)
    (job,) = (await jobs.list()).jobs
    return (await jobs.questions.pose(job.id, question)).id


async def test_122_without_elicitation_the_pending_row_has_the_question_and_the_call_that_answers_it(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",)) as ai:
        id_ = await asks(jobs_here, ai, gate)
        with anyio.fail_after(20):
            data = await ai.data("await", all=["p"])
        (row,) = data["pending"]
        assert ("timed_out" in data, row["state"], row["question"]["text"]) == (False, "waiting", "Which colour?")
        assert row["next"] == {
            "tool": "shell",
            "arguments": {"action": "apply", "id": "p", "input": "<red|blue>"},
        }
        # It was told once; the row of every later answer has it all the same.
        assert (await ai.data("await", all=["p"], timeout_secs=0))["pending"] == [row]
        await ai.data(row["next"]["tool"], **{**row["next"]["arguments"], "input": "red"})
        assert (await jobs_here.questions.get(id_)).value == "red"
        gate.open()
        assert (await ai.data("await", all=["p"]))["completed"][0]["id"] == "p"


@pytest.mark.parametrize("era", ERAS)
async def test_122_a_client_that_can_be_asked_has_its_user_asked_and_the_await_goes_on(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, era: str
) -> None:
    asked: list[str] = []

    async def user(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - named by the protocol
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "blue"})

    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",), era=era, elicits=user) as ai:
        id_ = await asks(jobs_here, ai, gate)

        async def go_on() -> None:
            assert (await jobs_here.questions.wait(id_)).value == "blue"
            gate.open()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(go_on)
                assert (await ai.data("await", any=["p"]))["pending"] == []
        assert asked == ["Which colour?"]


async def test_122_what_another_handle_does_ends_the_await_while_a_user_is_asked(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async def user(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - named by the protocol
        gate.open()
        await anyio.sleep_forever()
        raise AssertionError

    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",), elicits=user) as ai:
        await spawn(ai, "shell", "p", command="sleep 1000")
        (job,) = (await jobs_here.list()).jobs
        await jobs_here.questions.pose(job.id, COLOUR)
        await ai.data("shell", action="spawn", id="other", command=gate.wait)
        with anyio.fail_after(20):
            data = await ai.data("await", any=["p", "other"])
        assert ([row["id"] for row in data["completed"]], data["pending"][0]["id"]) == (["other"], "p")


async def test_122_what_is_for_a_person_is_said_once_with_where(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",)) as ai:
        await asks(jobs_here, ai, gate, Question("Deploy?", Form.BOOLEAN, exclusive=True))
        with anyio.fail_after(20):
            (row,) = (await ai.data("await", all=["p"]))["pending"]
        (job,) = (await jobs_here.list()).jobs
        note = f"it waits for a person; at a terminal: bide answer {job.id}"
        assert row == {"id": "p", "state": "waiting", "note": note}
        gate.open()


async def test_122_a_prompt_ends_the_await_and_is_answered_by_the_next_call(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",)) as ai:
        command = "printf 'Go on? [y/N] '; read -r line; echo \"got $line\""
        await spawn(ai, "shell", "s", command=command, stdin=True)
        with anyio.fail_after(20):
            (row,) = (await ai.data("await", all=["s"]))["pending"]
        assert (row["state"], row["prompt"]) == ("waiting", "Go on? [y/N]")
        await ai.data(row["next"]["tool"], **{**row["next"]["arguments"], "input": "y"})
        assert (await ai.data("await", all=["s"]))["completed"][0]["result"] == "Go on? [y/N] got y\n"


async def test_122_a_tool_that_cannot_apply_names_one_that_can_or_a_person(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    deaf = {"tools": {"deaf": {"command": gate.wait}}}
    for given, tool in ((settings(**deaf), "shell"), (settings(builtin=[], **deaf), None)):
        async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",), settings=given) as ai:
            await ai.data("deaf", action="spawn", id="p")
            posed = await jobs_here.questions.pose("p", COLOUR)
            with anyio.fail_after(20):
                (row,) = (await ai.data("await", all=["p"]))["pending"]
            assert row.get("next", {}).get("tool") == tool
            if tool is None:
                assert row["note"] == f"it waits for an answer; at a terminal: bide answer {posed.job}"
            gate.open()
            await ai.data("await", all=["p"])


async def test_107_122_a_call_without_an_action_answers_with_the_question_too(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER, tools=("handles",)) as ai:
        with anyio.fail_after(20):
            row = await ai.data("shell", command="printf 'Name? '; read -r line; echo \"hi $line\"", stdin=True)
            assert (row["state"], row["prompt"]) == ("waiting", "Name?")
            await ai.data(row["next"]["tool"], **{**row["next"]["arguments"], "input": "ann"})
            data = await ai.data("await", all=[row["id"]])
        assert data["completed"][0]["result"] == "Name? hi ann\n"
