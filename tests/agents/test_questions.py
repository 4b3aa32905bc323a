"""Questions of a job: it waits, somebody answers, or it ends truthfully."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.agents.desk import STATEFUL, awaiting, said, spawn, tools
from tests.support.gates import Gate

from bide.agents import (
    Answerer,
    Answering,
    Call,
    Context,
    Coordinator,
    Form,
    Policy,
    Question,
    Tool,
    Tools,
    ToolSettings,
    by_command,
    coordinate,
)
from bide.api import Jobs
from bide.model.errors import BideError
from bide.model.question import Via
from bide.model.until import Until

WHICH = Question("Which colour?", Form.SELECT, ("red", "blue"))
PASSWORD = Question("Password:", secret=True)


def painter(question: Question = WHICH) -> Tool:
    async def paint(context: Context, _: dict[str, Any]) -> str:
        return f"painted {await context.ask(question)}"

    return Tool("paint", "Paints.", paint, spawn=STATEFUL, asks=True)


SPAWN = Call("1", "paint", {"action": "spawn", "id": "p"})


@asynccontextmanager
async def at_work(jobs: Jobs, answering: Answering, question: Question = WHICH) -> AsyncGenerator[Coordinator]:
    async with coordinate(jobs, Tools(painter(question)), answering=answering) as desk:
        yield desk


async def _waiting(desk: Coordinator) -> dict[str, Any]:
    """What `fetch` says once the handle waits."""
    with anyio.fail_after(20):
        while True:
            (row,) = await said(desk, Call("2", "paint", {"action": "fetch", "id": "p"}))
            if row["state"] != "running":
                return row


async def _red(question: Question) -> str:
    return question.options[0]


def _plainly_red(question: Question) -> str:
    return question.options[0]


@pytest.mark.parametrize("answerer", [_red, _plainly_red, Answerer(_red)])
async def test_142_an_answerer_may_be_a_function_alone(local: Jobs, answerer: Any) -> None:
    async with at_work(local, Answering((answerer,))) as desk:
        _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
    assert awaited["completed"][0]["result"] == "painted red"


@pytest.mark.parametrize(
    ("answerers", "sentence"),
    [
        (("red",), "'answerers[0]' must be an Answerer or a function of a Question, not 'red'"),
        (_red, "'answerers' must be a list of those who are asked"),
    ],
)
def test_142_who_cannot_be_asked_is_refused_at_once(answerers: Any, sentence: str) -> None:
    with pytest.raises(BideError) as refused:
        Answering(answerers)
    assert str(refused.value).startswith(sentence)


async def test_110_122_a_handle_that_asks_waits_is_pending_and_goes_on_when_it_is_answered(local: Jobs) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        await said(desk, SPAWN)
        row = await _waiting(desk)
        assert [one.id for one in await local.questions.list()] == [row["question"]["id"]]
        asked = {
            "id": row["question"]["id"],
            "text": "Which colour?",
            "type": "select",
            "default": None,
            "options": ["red", "blue"],
        }
        assert (row["state"], row["question"]) == ("waiting", asked)
        answering = {"tool": "paint", "arguments": {"action": "apply", "id": "p", "input": "<red|blue>"}}
        pending = {"id": "p", "state": "waiting", "question": asked, "next": answering}
        assert await said(desk, awaiting(all=["p"], timeout_secs=0)) == [
            {"completed": [], "pending": [pending], "timed_out": True}
        ]
        (wrong,) = await said(desk, Call("3", "paint", {"action": "apply", "id": "p", "input": "green"}))
        assert wrong == "this is no answer to 'Which colour?': it must be one of red, blue, not 'green'"
        await said(desk, Call("3", "paint", {"action": "apply", "id": "p", "input": "blue"}))
        (awaited,) = await said(desk, awaiting(all=["p"]))
    assert awaited["completed"] == [{"id": "p", "state": "stopped", "result": "painted blue"}]


async def test_122_spawn_and_await_in_one_batch_return_with_the_question_where_only_the_assistant_can_answer(
    local: Jobs,
) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        with anyio.fail_after(20):
            _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
        (row,) = awaited["pending"]
        assert (row["state"], row["question"]["text"], "timed_out" in awaited) == ("waiting", "Which colour?", False)
        # Asked again without an answer it still does not wait for its own caller.
        with anyio.fail_after(20):
            (again,) = await said(desk, awaiting(all=["p"]))
        assert again["pending"] == [row]
        call = row["next"]
        await said(desk, Call("3", call["tool"], {**call["arguments"], "input": "red"}))
        (awaited,) = await said(desk, awaiting(all=["p"]))
    assert awaited["completed"] == [{"id": "p", "state": "stopped", "result": "painted red"}]


async def test_122_an_answer_and_an_await_in_one_batch_return_with_the_result(local: Jobs) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        with anyio.fail_after(20):
            await said(desk, SPAWN, awaiting(all=["p"]))
            apply = Call("3", "paint", {"action": "apply", "id": "p", "input": "red"})
            for batch in ((apply, awaiting(all=["p"])), (awaiting(all=["p"]),)):
                *_, awaited = await said(desk, *batch)
                assert awaited["completed"] == [{"id": "p", "state": "stopped", "result": "painted red"}]


async def test_122_who_was_shown_a_question_can_wait_for_the_others(local: Jobs, gate: Gate) -> None:
    async with coordinate(local, tools(painter()), answering=Answering(assistant=True)) as desk:
        batch = (SPAWN, spawn("other", f"{gate.wait}; echo done"), awaiting(any=["p", "other"]))
        with anyio.fail_after(20):
            *_, awaited = await said(desk, *batch)
        assert [row["id"] for row in awaited["pending"]] == ["p", "other"]
        again: list[Any] = []

        async def wait() -> None:
            again.extend(await said(desk, awaiting(all=["p", "other"])))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                gate.open()
        ((row,), (left,)) = again[0]["completed"], again[0]["pending"]
        assert (row["result"], left["id"], left["state"]) == ("done\n", "p", "waiting")


async def test_122_the_assistant_is_asked_only_when_the_answerers_have_no_answer(local: Jobs) -> None:
    async def slow(_: Question) -> str:
        await anyio.sleep(0.3)
        return "blue"

    async with at_work(local, Answering([Answerer(slow)], assistant=True)) as desk:
        with anyio.fail_after(20):
            _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
    assert awaited["completed"][0]["result"] == "painted blue"


async def test_122_a_prompt_of_a_program_ends_the_await_of_whoever_alone_can_type_into_it(local: Jobs) -> None:
    settings = ToolSettings("printf 'Go on? [y/N] '; read -r line; echo \"got $line\"", stdin=True)
    async with coordinate(local, Tools(Tool("setup", "Sets up.", settings, spawn=STATEFUL))) as desk:
        with anyio.fail_after(20):
            _, awaited = await said(
                desk, Call("1", "setup", {"action": "spawn", "id": "s"}), awaiting(all=["s"], timeout_secs=15)
            )
            (row,) = awaited["pending"]
            assert (row["state"], row["prompt"]) == ("waiting", "Go on? [y/N]")
            await said(desk, Call("2", row["next"]["tool"], {**row["next"]["arguments"], "input": "y"}))
            (awaited,) = await said(desk, awaiting(all=["s"]))
    assert awaited["completed"][0]["result"] == "Go on? [y/N] got y\n"


@pytest.mark.parametrize(
    ("policy", "result"),
    [
        (Policy.DENY, "nobody may answer 'Which colour?' here, and it is not answered by itself"),
        (Policy.DEFAULTS, "nobody may answer 'Which colour?' here, and it is not answered by itself"),
        (Policy.AUTO, "painted red"),
    ],
)
async def test_145_with_nobody_to_answer_the_policy_holds(local: Jobs, policy: Policy, result: str) -> None:
    async with at_work(local, Answering(policy=policy)) as desk:
        _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
    assert awaited["completed"][0]["result"] == result


async def _colour(_: Question) -> str:
    return "blue"


async def _fails(_: Question) -> str:
    raise RuntimeError("the prompt was cancelled")


async def test_141_a_person_or_a_program_that_is_configured_answers_and_await_goes_on(local: Jobs) -> None:
    cheap = by_command(local, """grep -q '"Which colour?"' && echo '"red"'""")
    for answerers, result in (([Answerer(_colour)], "painted blue"), ([cheap, Answerer(_colour)], "painted red")):
        async with at_work(local, Answering(answerers)) as desk:
            _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
        assert awaited["completed"][0]["result"] == result


async def test_141_an_answerer_without_a_usable_answer_passes_the_question_on(local: Jobs) -> None:
    broken = by_command(local, "echo not json")
    absent = by_command(local, ("/no/such/program",))

    async def unfit(_: Question) -> str:
        return "green"

    async with at_work(local, Answering([broken, absent, Answerer(unfit), Answerer(_colour)])) as desk:
        _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
    assert awaited["completed"][0]["result"] == "painted blue"


async def test_122_a_question_that_fails_ends_the_handle_with_its_words(local: Jobs) -> None:
    async with at_work(local, Answering([Answerer(_fails, person=True)])) as desk:
        with anyio.fail_after(20):
            _, awaited = await said(desk, SPAWN, awaiting(all=["p"]))
    (row,) = awaited["completed"]
    assert (row["state"], row["result"]) == ("stopped", "the prompt was cancelled")


async def test_145_a_password_is_shown_to_no_model_and_taken_from_none(local: Jobs) -> None:
    seen: list[Question] = []
    release = anyio.Event()

    async def model(question: Question) -> str:
        seen.append(question)
        return "guess"

    async def person(_: Question) -> str:
        await release.wait()
        return "s3cret"

    answering = Answering([Answerer(model), Answerer(person, person=True)], assistant=True, policy=Policy.AUTO)
    async with at_work(local, answering, PASSWORD) as desk:
        await said(desk, SPAWN)
        assert await _waiting(desk) == {"id": "p", "state": "waiting"}
        (refused,) = await said(desk, Call("3", "paint", {"action": "apply", "id": "p", "input": "guess"}))
        assert "Handle `p` asks for a secret, and no model gives one; a person can, at a terminal" in refused
        release.set()
        (awaited,) = await said(desk, awaiting(all=["p"]))
    assert awaited["completed"][0]["result"] == "painted s3cret"
    assert seen == []


async def test_110_anybody_at_another_door_may_answer_and_what_is_closed_is_asked_no_longer(local: Jobs) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        await said(desk, SPAWN)
        await _waiting(desk)
        await local.questions.answer("p", "red", via=Via.PERSON)
        (awaited,) = await said(desk, awaiting(all=["p"]))
        assert awaited["completed"][0]["result"] == "painted red"
        assert await local.questions.list() == ()


async def test_122_a_question_that_is_denied_at_another_door_ends_the_handle_with_an_error(local: Jobs) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        await said(desk, SPAWN)
        await _waiting(desk)
        await local.questions.answer("p", None, via=Via.PERSON)
        (awaited,) = await said(desk, awaiting(all=["p"]))
    assert "nobody may answer" in awaited["completed"][0]["result"]


async def test_an_abort_ends_a_handle_that_waits(local: Jobs) -> None:
    async with at_work(local, Answering(assistant=True)) as desk:
        await said(desk, SPAWN)
        await _waiting(desk)
        (row,) = await said(desk, Call("3", "paint", {"action": "abort", "id": "p"}))
    assert row["state"] == "stopped"
    assert "killed" in row["result"]


async def test_107_a_call_that_runs_to_completion_can_ask_too(local: Jobs) -> None:
    async with at_work(local, Answering([Answerer(_colour)])) as desk:
        assert await said(desk, Call("1", "paint", {})) == ["painted blue"]
    async with at_work(local, Answering(assistant=True)) as desk:
        with anyio.fail_after(20):
            (refused,) = await said(desk, Call("1", "paint", {}))
    assert "nobody may answer" in refused


async def _prompted(jobs: Jobs, desk: Coordinator, prompt: str) -> Any:
    """What `apply` says to a command that shows this prompt and reads a line."""
    await said(desk, Call("1", "login", {"action": "spawn", "id": "login", "prompt": prompt}))
    with anyio.fail_after(20):
        await jobs.wait(["login"], until=Until(input=True))
    (answer,) = await said(desk, Call("2", "login", {"action": "apply", "id": "login", "input": "x"}))
    return answer


async def test_a_prompt_of_a_command_is_answered_by_apply_and_one_for_a_password_by_a_person_only(local: Jobs) -> None:
    script = 'printf "%s" "$prompt"; read -r line; echo "got $line"'
    settings = ToolSettings(script, parameters={"prompt": "what to show"}, stdin=True)
    async with coordinate(local, Tools(Tool("login", "Logs in.", settings, spawn=STATEFUL))) as desk:
        row = await _prompted(local, desk, "User: ")
        assert row["id"] == "login"
        (awaited,) = await said(desk, awaiting(all=["login"]))
        assert awaited["completed"][0]["result"] == "User: got x\n"
        refused = await _prompted(local, desk, "Password: ")
        assert "asks for a secret, and no model gives one; a person can, at a terminal: bide answer" in refused
        await local.send("login", data=b"s3cret\n")
        (awaited,) = await said(desk, awaiting(all=["login"]))
    assert awaited["completed"][0]["result"] == "Password: got s3cret\n"
