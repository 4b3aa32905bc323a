"""What jobs ask, at the MCP door: the model is told with the call that answers it, or its client's user is asked."""

import shlex
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ElicitResult
from tests.mcpserver.clients import ERAS, Agent, agent, text_of
from tests.mcpserver.raw import ASKED, MODERN, TASKS, Refused, raw
from tests.support import homes
from tests.support.gates import Gate

from bide.api import Jobs
from bide.model.question import Form, Posed, Question, Value, Via
from bide.model.schema import Json

COLOUR = Question("Which colour?", Form.SELECT, ("red", "blue"))
DEPLOY = Question("Deploy?", Form.BOOLEAN, exclusive=True)
PASSWORD = Question("Password:", secret=True)
OWNER = "me"
ASK = f"{shlex.quote(sys.executable)} -P -m bide ask-user"


async def posed(jobs: Jobs, gate: Gate, question: Question, owner: str = OWNER) -> Posed:
    """What a job of this owner asks; it is over when that is answered."""
    job = (await jobs.run(gate.wait, background=True, owner=owner)).job.id
    return await jobs.questions.pose(job, question)


async def test_await_names_the_question_with_the_exact_call_that_answers_it(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER) as ai:
        asks = await posed(jobs_here, gate, COLOUR)
        with anyio.fail_after(20):
            answer = await ai.ask("await", jobs=[asks.job])
        data = answer.structured_content
        assert data is not None
        assert (data["phase"], data["met"]) == ("running", "question")
        asked = {"type": "select", "text": "Which colour?", "options": ["red", "blue"], "default": None}
        assert data["waiting"] == {**asked, "question": asks.id}
        assert data["next"] == {"tool": "send", "arguments": {"job": asks.id, "text": "<red|blue>"}}
        assert 'asks "Which colour? [red/blue]"' in text_of(answer)
        assert f'send {{"job": "{asks.id}", "text": "<red|blue>"}}' in text_of(answer)
        # Told once; from then on it is pending like any other.
        assert (await ai.data("await", jobs=[asks.job], timeout=0))["met"] == "timeout"
        code, sentence = await ai.refusal("send", job=asks.id, text="green")
        assert (code, "must be one of red, blue, not 'green'" in sentence) == ("bad_request", True)
        assert "waiting" not in await ai.data("send", **{**data["next"]["arguments"], "text": "red"})
        assert (await jobs_here.questions.get(asks.id)).value == "red"
        assert (await ai.refusal("send", job=asks.id, text="blue"))[0] == "question_closed"


async def test_a_job_is_answered_by_its_id_and_eof_denies(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER) as ai:
        asks = await posed(jobs_here, gate, Question("Go on?", Form.BOOLEAN))
        await ai.data("send", job=asks.job, text="Yes\n")
        assert (await jobs_here.questions.get(asks.id)).value is True
        other = await jobs_here.questions.pose(asks.job, COLOUR)
        await ai.data("send", job=asks.job, eof=True)
        assert (await jobs_here.questions.get(other.id)).state == "denied"


async def test_a_question_of_another_owner_is_not_there(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER) as ai:
        hers = await posed(jobs_here, gate, COLOUR, owner="her")
        assert (await ai.refusal("send", job=hers.id, text="red"))[0] == "job_not_found"


@pytest.mark.parametrize("question", [DEPLOY, PASSWORD])
async def test_145_what_is_for_people_is_neither_shown_to_a_model_nor_taken_from_it(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, question: Question
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER) as ai:
        asks = await posed(jobs_here, gate, question)
        for tool, given in (("await", {"jobs": [asks.job]}), ("jobs", {})):
            answer = await ai.ask(tool, **given)
            assert question.text not in text_of(answer) + str(answer.structured_content)
            assert f"bide answer {asks.job}" in text_of(answer)
        for ref in (asks.id, asks.job):
            assert "waits for a person" in (await ai.refusal("send", job=ref, text="yes"))[1]
        assert (await jobs_here.questions.get(asks.id)).state == "open"


async def test_145_a_password_that_a_program_asks_for_is_not_taken_from_a_model(
    jobs_here: Jobs, tmp_path: Path
) -> None:
    async with agent(jobs_here, tmp_path, owner=OWNER) as ai:
        command = 'printf "Password: "; read -r line'
        data = await ai.data("run", command=command, stdin=True, until={"input": True})
        assert data["waiting"] == {"prompt": "Password: ", "secret": True}
        assert "waits for a person" in (await ai.refusal("send", job=data["job"], text="guess\n"))[1]
        await jobs_here.questions.answer(data["job"], "s3cret", via=Via.PERSON)
        assert (await ai.data("await", jobs=[data["job"]]))["exit_code"] == 0


class User:
    """Whoever sits at a client: answers as told, and remembers what was asked."""

    def __init__(self, action: Any, value: Value | None = None) -> None:
        self._says = ElicitResult(action=action, content=None if value is None else {"answer": value})
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:  # noqa: ARG002 - as the client calls it
        self.asked.append(params)
        return self._says


async def awaited(ai: Agent, jobs: Jobs, asks: Posed, gate: Gate) -> Json:
    """What `await` answers of a job that is over once its question is closed."""

    async def go_on() -> None:
        await jobs.questions.wait(asks.id)
        gate.open()

    found: list[Json] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(go_on)
            found.append(await ai.data("await", jobs=[asks.job]))
            group.cancel_scope.cancel()
    return found[0]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(("question", "value"), [(COLOUR, "blue"), (DEPLOY, True), (Question("Name?"), "Ann")])
async def test_a_client_that_can_asks_its_user_and_the_wait_goes_on(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, era: str, question: Question, value: Value
) -> None:
    user = User("accept", value)
    async with agent(jobs_here, tmp_path, owner=OWNER, era=era, elicits=user) as ai:
        asks = await posed(jobs_here, gate, question)
        assert (await awaited(ai, jobs_here, asks, gate))["exit_code"] == 0
        found = await jobs_here.questions.get(asks.id)
        assert (found.value, found.via, found.by) == (value, "client", OWNER)
    (asked,) = user.asked
    assert asked.message == question.text
    assert {*asked.requested_schema["properties"]} == {"answer"}


@pytest.mark.parametrize(("action", "state"), [("decline", "denied"), ("cancel", "open")])
async def test_a_user_who_declines_denies_it_and_one_who_does_not_say_leaves_it_to_the_model(
    jobs_here: Jobs, tmp_path: Path, gate: Gate, era: str, action: Any, state: str
) -> None:
    user = User(action)
    async with agent(jobs_here, tmp_path, owner=OWNER, era=era, elicits=user) as ai:
        asks = await posed(jobs_here, gate, COLOUR)
        data = await awaited(ai, jobs_here, asks, gate)
        assert data["phase"] == ("ended" if state == "denied" else "running")
        assert (await jobs_here.questions.get(asks.id)).state == state
    assert len(user.asked) == 1


async def test_a_secret_is_not_asked_of_a_client(jobs_here: Jobs, tmp_path: Path, gate: Gate, era: str) -> None:
    user = User("accept", "guess")
    async with agent(jobs_here, tmp_path, owner=OWNER, era=era, elicits=user) as ai:
        asks = await posed(jobs_here, gate, PASSWORD)
        assert (await ai.data("await", jobs=[asks.job]))["waiting"] == {"question": asks.id, "for": "a person"}
    assert user.asked == []


async def test_a_run_whose_script_asks_goes_on_with_what_the_user_said_and_runs_once(
    home: Path, tmp_path: Path, era: str
) -> None:
    user = User("accept", "blue")
    async with homes.served(home) as jobs, agent(jobs, tmp_path, owner=OWNER, era=era, elicits=user) as ai:
        data = await ai.data("run", command=f"echo got $({ASK} Which? --select red --select blue)", wait=20)
        assert data["out"]["text"] == "got blue\n"
        assert len((await jobs.list()).jobs) == 1
    assert len(user.asked) == 1


async def test_a_question_that_another_answers_meanwhile_is_asked_no_longer(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    begun = anyio.Event()

    async def thinks(context: Any, params: Any) -> ElicitResult:  # noqa: ARG001 - as the client calls it
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with agent(jobs_here, tmp_path, owner=OWNER, elicits=thinks) as ai:
        asks = await posed(jobs_here, gate, COLOUR)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(_awaited, ai, asks.job)
                await begun.wait()
                await jobs_here.questions.answer(asks.id, "red", via=Via.PERSON)
                gate.open()


async def _awaited(ai: Agent, job: str) -> None:
    assert (await ai.data("await", jobs=[job]))["exit_code"] == 0


async def test_a_task_whose_job_asks_requires_input_in_the_form_of_the_question(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS, ASKED) as client:
        task = (await client.call("run", {"command": gate.wait}))["taskId"]
        asks = await jobs_here.questions.pose(task, COLOUR)
        got = await client.request("tasks/get", taskId=task)
        assert got["status"] == "input_required"
        schema = got["inputRequests"][asks.id]["params"]["requestedSchema"]
        assert schema["properties"]["answer"]["enum"] == ["red", "blue"]
        said = {asks.id: {"action": "accept", "content": {"answer": "red"}}}
        await client.request("tasks/update", taskId=task, inputResponses=said)
        assert (await client.request("tasks/get", taskId=task))["status"] == "working"
        assert (await jobs_here.questions.get(asks.id)).value == "red"


@pytest.mark.parametrize("state", ["nonsense", "{}", '{"key": 7}', '{"key": "other"}', 5])
async def test_a_state_that_was_not_given_out_is_refused(jobs_here: Jobs, tmp_path: Path, state: object) -> None:
    async with raw(jobs_here, tmp_path, MODERN, ASKED) as client:
        with pytest.raises(Refused) as refused:
            await client.call("run", {"command": "true"}, requestState=state, inputResponses={})
        assert refused.value.code == -32602


async def test_105_110_apply_answers_the_question_of_a_handle_and_await_counts_it_as_pending(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("handles",)) as ai:
        await ai.data("shell", action="spawn", id="h", command=gate.wait)
        asks = await jobs_here.questions.pose("h", COLOUR)
        row = await ai.data("shell", action="fetch", id="h")
        assert (row["state"], row["question"]["id"]) == ("waiting", asks.id)
        pending = await ai.data("await", all=["h"], timeout_secs=0)
        (row,) = pending["pending"]
        assert (row["state"], row["next"]["arguments"]["input"]) == ("waiting", "<red|blue>")
        assert "must be one of red, blue" in text_of(await ai.ask("shell", action="apply", id="h", input="green"))
        assert (await ai.data("shell", action="apply", id="h", input="red"))["state"] == "running"
        assert (await jobs_here.questions.get(asks.id)).value == "red"
        await jobs_here.questions.pose("h", DEPLOY)
        row = await ai.data("shell", action="fetch", id="h")
        assert (row["state"], "question" in row) == ("waiting", False)
        assert "waits for the answer of a person" in text_of(await ai.ask("shell", action="apply", id="h", input="yes"))
