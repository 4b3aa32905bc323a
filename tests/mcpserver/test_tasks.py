"""Jobs as tasks, in both generations, for clients that take them and for nobody else."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.mcpserver.raw import ASKED, HANDSHAKE, MODERN, TASKS, Raw, Refused, raw
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver.tasks import line_of, question_of, status_of
from bide.model.job import Facts, Job, JobId, Spec, Taken
from bide.model.phase import End, Ended, Phase, Queued, Reason, Running
from bide.model.question import Posed, Question
from bide.model.schema import Json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = Running(started_at=NOW, pid=1)


def job(phase: Phase, facts: Facts | None = None) -> Job:
    return Job(JobId("j0000000000"), Spec(("true",), "true", "/"), NOW, phase=phase, facts=facts)


def ended(reason: Reason) -> Job:
    return job(Ended(started_at=NOW, ended_at=NOW, end=End(reason)))


def waits(at: int, *, secret: bool = False) -> Facts:
    """Of a program that shows a prompt, after so many bytes of input."""
    asked = Posed(f"j0000000000:input:{at}", "j0000000000", Question("name?", secret=secret), NOW, typed_at=at)
    return Facts(waiting="name? ", input=Taken(at, at), question=asked)


WAITS = waits(3)


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (job(Queued()), "working"),
        (job(RUNNING), "working"),
        (job(RUNNING, WAITS), "input_required"),
        (job(RUNNING, Facts(waiting="name? ", input=Taken(3, 9))), "working"),
        (job(RUNNING, waits(3, secret=True)), "working"),
        (ended(Reason.EXITED), "completed"),
        (ended(Reason.SIGNALED), "completed"),
        (ended(Reason.TIMED_OUT), "completed"),
        (ended(Reason.SPAWN_FAILED), "completed"),
        (ended(Reason.KILLED), "cancelled"),
        (ended(Reason.LOST), "failed"),
    ],
)
def test_the_status_of_a_task_is_a_translation_of_the_job(one: Job, status: str) -> None:
    assert status_of(one, asks=True) == status
    assert status_of(one, asks=False) == (status if status != "input_required" else "working")


def test_every_question_of_a_job_has_another_key() -> None:
    first = question_of(job(RUNNING, WAITS))
    second = question_of(job(RUNNING, waits(5)))
    assert first is not None
    assert second is not None
    assert (first.prompt, first.at) == ("name? ", 3)
    assert first.key != second.key


@pytest.mark.parametrize(
    ("response", "line"),
    [
        ({"action": "accept", "content": {"text": "yes"}}, "yes\n"),
        ({"action": "accept", "content": {"text": ""}}, "\n"),
        ({"action": "accept", "content": {"confirm": True}}, '{"confirm": true}\n'),
        ({"action": "decline"}, None),
        ({"action": "cancel"}, None),
        ("nonsense", None),
    ],
)
def test_what_an_answer_says_to_the_job(response: object, line: str | None) -> None:
    assert line_of(response) == line


# 2026-07-28: we decide, for who declares the extension.


async def settled(client: Raw, task: str, *wanted: str, answered: Sequence[str] = ()) -> Json:
    """The task, once its status is one of these: told, not polled. What was answered may be told once more."""
    await client.ask("subscriptions/listen", notifications={"taskIds": [task]})

    def fitting() -> list[Json]:
        told = [one for one in client.told("notifications/tasks") if one["taskId"] == task]
        fresh = [one for one in told if not {*one.get("inputRequests", ())} & {*answered}]
        return [one for one in fresh if one["status"] in wanted]

    await client.until(fitting)
    return fitting()[0]


async def test_a_call_that_takes_its_time_becomes_a_task(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        task = await client.call("run", {"command": f"echo begun; {gate.wait}; exit 3"})
        assert (task["resultType"], task["status"], task["ttlMs"]) == ("task", "working", None)
        assert (await jobs_here.get(task["taskId"])).owner == "raw"
        got = await client.request("tasks/get", taskId=task["taskId"])
        assert (got["status"], "result" in got) == ("working", False)
        gate.open()
        over = await settled(client, task["taskId"], "completed")
        assert over["result"]["structuredContent"]["exit_code"] == 3
        again = await client.request("tasks/get", taskId=task["taskId"])
        assert again["result"]["structuredContent"]["out"]["text"] == "begun\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "echo hi"},
        {"command": "sleep 5", "background": True},
        {"command": "sleep 5", "wait": 0},
        {"command": ["/no/such/program"]},
    ],
)
async def test_what_is_answered_at_once_is_no_task(jobs_here: Jobs, tmp_path: Path, arguments: Json) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        answer = await client.call("run", arguments)
        assert answer["resultType"] == "complete"
        assert answer["structuredContent"]["job"]


async def test_what_is_refused_is_no_task_and_starts_nothing(jobs_here: Jobs, tmp_path: Path) -> None:
    hers = (await jobs_here.sessions.start(owner="her")).session
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        for arguments, code in (
            ({"command": "true", "session": hers.id}, "session_not_found"),
            ({"command": "true", "code": "1"}, "bad_request"),
        ):
            answer = await client.call("run", arguments)
            assert (answer["isError"], answer["structuredContent"]["error"]["code"]) == (True, code)
    assert not (await jobs_here.list()).jobs


async def test_who_declares_nothing_gets_no_task(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, MODERN) as client:
        answer = await client.call("run", {"command": "sleep 5", "wait": 0.6})
        assert answer["resultType"] == "complete"
        assert answer["structuredContent"]["next"]["tool"] == "await"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            with pytest.raises(Refused) as refused:
                await client.request(method, taskId=answer["structuredContent"]["job"], inputResponses={})
            assert (refused.value.code, refused.value.data) == (-32021, {"requiredCapabilities": TASKS})
        wanted = {"taskIds": [answer["structuredContent"]["job"]]}
        await client.ask("subscriptions/listen", notifications=wanted)
        await client.until(lambda: client.notes)
        assert client.notes[0]["params"]["notifications"] == {}


async def test_a_task_is_cancelled_with_its_whole_job(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        task = (await client.call("run", {"command": "sleep 60"}))["taskId"]
        for _ in range(2):
            acknowledged = await client.request("tasks/cancel", taskId=task)
            assert {*acknowledged} == {"resultType", "_meta"}
        got = await client.request("tasks/get", taskId=task)
        assert (got["status"], "result" in got) == ("cancelled", False)
        assert (await jobs_here.get(task)).phase_name == "ended"


async def test_a_task_asks_for_input_and_goes_on_with_the_answer(jobs_here: Jobs, tmp_path: Path) -> None:
    asks = {"command": "printf 'name? '; read a; echo; printf 'age? '; read b; echo $a is $b", "stdin": True}
    async with raw(jobs_here, tmp_path, MODERN, TASKS, ASKED) as client:
        task = await client.call("run", asks)
        assert task["status"] in ("working", "input_required")
        keys: list[str] = []
        for prompt, said in (("name? ", "Ann"), ("age? ", "9")):
            got = await settled(client, task["taskId"], "input_required", answered=keys)
            ((key, asked),) = got["inputRequests"].items()
            assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", prompt)
            stale = {known: {"action": "accept", "content": {"text": "wrong"}} for known in keys}
            fresh = {key: {"action": "accept", "content": {"text": said}}}
            await client.request("tasks/update", taskId=task["taskId"], inputResponses=stale | fresh)
            keys.append(key)
        over = await settled(client, task["taskId"], "completed")
        assert "Ann is 9" in over["result"]["structuredContent"]["out"]["text"]


async def test_who_does_not_answer_closes_the_input(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS, ASKED) as client:
        task = (await client.call("run", {"command": "read a || echo none", "stdin": True}))["taskId"]
        got = await settled(client, task, "input_required")
        responses = {key: {"action": "cancel"} for key in got["inputRequests"]}
        await client.request("tasks/update", taskId=task, inputResponses=responses)
        over = await settled(client, task, "completed")
        assert over["result"]["structuredContent"]["out"]["text"] == "none\n"


@pytest.mark.parametrize("task", ["nothing", "", "j0000000000", 7, None])
async def test_an_unknown_task_and_anothers_are_refused(jobs_here: Jobs, tmp_path: Path, task: object) -> None:
    hers = (await jobs_here.run("true", owner="her")).job.id
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        for which in (task, hers):
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                with pytest.raises(Refused) as refused:
                    await client.request(method, taskId=which, inputResponses={})
                assert refused.value.code == -32602
        mine = (await client.call("run", {"command": "true"}))["structuredContent"]["job"]
        with pytest.raises(Refused, match="inputResponses") as refused:
            await client.request("tasks/update", taskId=mine)
        assert refused.value.code == -32602


async def test_methods_of_the_other_generation_are_not_there(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, MODERN, TASKS) as client:
        discovered = (await client.request("server/discover"))["capabilities"]
        assert ("tasks" in discovered, {*discovered["extensions"]}) == (False, {*TASKS["extensions"]})
        for method in ("tasks/list", "tasks/result"):
            with pytest.raises(Refused) as refused:
                await client.request(method)
            assert refused.value.code == -32601
    async with raw(jobs_here, tmp_path, "2025-06-18") as client:
        for method in ("tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"):
            with pytest.raises(Refused) as refused:
                await client.request(method, taskId="x")
            assert refused.value.code == -32601
        answer = await client.call("run", {"command": "true"}, task={"ttl": 1})
        assert answer["structuredContent"]["exit_code"] == 0


# 2025-11-25: a call asks for it.


async def test_a_call_that_asks_gets_a_task_and_later_the_result(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE) as client:
        task = (await client.call("run", {"command": f"{gate.wait}; echo done", "wait": 0}, task={}))["task"]
        assert (task["status"], task["ttl"]) == ("working", None)
        assert (await client.request("tasks/get", taskId=task["taskId"]))["status"] == "working"
        listed = (await client.request("tasks/list"))["tasks"]
        assert [one["taskId"] for one in listed] == [task["taskId"]]
        gate.open()
        result = await client.request("tasks/result", taskId=task["taskId"])
        assert result["structuredContent"]["out"]["text"] == "done\n"
        assert result["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": task["taskId"]}}
        await client.until(
            lambda: [one for one in client.told("notifications/tasks/status") if one["status"] == "completed"]
        )


async def test_the_first_generation_says_what_it_can(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE) as client:
        tools = (await client.request("tools/list"))["tools"]
        assert [one["name"] for one in tools if one.get("execution")] == ["run"]
        for tool, arguments, code in (
            ("jobs", {}, -32601),
            ("run", {"command": "true", "background": True}, -32602),
            ("run", {"command": 7}, -32602),
            ("nothing", {}, -32602),
        ):
            with pytest.raises(Refused) as refused:
                await client.call(tool, arguments, task={"ttl": 1000})
            assert refused.value.code == code
        assert not (await jobs_here.list()).jobs
        assert (await client.call("run", {"command": "true"}))["structuredContent"]["exit_code"] == 0


async def test_a_cancelled_task_says_how_its_job_ended(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, HANDSHAKE) as client:
        task = (await client.call("run", {"command": "sleep 60"}, task={}))["task"]["taskId"]
        assert (await client.request("tasks/cancel", taskId=task))["status"] == "cancelled"
        assert (await client.request("tasks/result", taskId=task))["structuredContent"]["reason"] == "killed"
        with pytest.raises(Refused, match="cancelled already") as refused:
            await client.request("tasks/cancel", taskId=task)
        assert refused.value.code == -32602


async def test_whoever_waits_for_the_result_is_asked_what_the_job_asks(jobs_here: Jobs, tmp_path: Path) -> None:
    asks = {"command": "printf 'name? '; read a; echo hello $a", "stdin": True}
    async with raw(jobs_here, tmp_path, HANDSHAKE, ASKED) as client:
        questions: list[Json] = []

        def answer(message: Json) -> Json:
            questions.append(message["params"])
            return {"action": "accept", "content": {"text": "Ann"}}

        client.answer_with = answer
        task = (await client.call("run", asks, task={}))["task"]["taskId"]
        result = await client.request("tasks/result", taskId=task)
        assert "hello Ann" in result["structuredContent"]["out"]["text"]
        (question,) = questions
        assert question["message"] == "name? "
        assert question["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task}
