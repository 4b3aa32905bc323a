"""The toolsets `core` and `handles` together: one `await` for both, and each sees what the other started."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support.gates import Gate

from bide.api import Jobs


@pytest.fixture(params=[("core", "handles"), ("handles", "core")], ids="+".join)
async def ai(request: pytest.FixtureRequest, jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent(jobs_here, tmp_path, tools=request.param) as one:
        yield one


async def test_there_is_one_await_with_both_schemas(ai: Agent) -> None:
    tools = (await ai.client.list_tools()).tools
    assert sorted(tool.name for tool in tools) == sorted(
        ["run", "await", "jobs", "logs", "send", "kill", "session", "ask", "shell", "python", "terminal"]
    )
    (tool,) = [tool for tool in tools if tool.name == "await"]
    known = {"any", "all", "timeout_secs", "jobs", "mode", "until", "timeout", "budget"}
    assert set(tool.input_schema["properties"]) == known


async def test_each_form_is_answered_in_its_own_words(ai: Agent) -> None:
    await ai.data("shell", action="spawn", id="check", command="echo ok")
    rows = {"completed": [{"id": "check", "state": "stopped", "result": "ok\n"}], "pending": []}
    assert await ai.data("await", all=["check"]) == rows
    answer = await ai.ask("await", jobs=["check"])
    assert answer.structured_content is not None
    assert (answer.structured_content["phase"], answer.structured_content["out"]["text"]) == ("ended", "ok\n")
    assert "(check) exited with 0" in text_of(answer)
    data = await ai.data("await", jobs=["check"], mode="any", until={"log": "o."}, timeout=1)
    assert data["phase"] == "ended"


async def test_either_form_refuses_in_the_words_of_the_handles(ai: Agent) -> None:
    assert await ai.refusal("await") == ("bad_request", "At least one handle ID required")
    assert await ai.refusal("await", jobs=["x"]) == ("job_not_found", "Handle `x` not found")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"all": ["x"], "until": {"port": 1}}, "'until' does not go with the other fields; give 'any', 'all'"),
        ({"jobs": ["x"], "timeout_secs": 1}, "'timeout_secs' does not go with the other fields; give 'any', 'all'"),
        ({"jobs": []}, "At least one handle ID required"),
    ],
)
async def test_the_forms_are_not_mixed(ai: Agent, given: dict[str, object], sentence: str) -> None:
    _, said = await ai.refusal("await", **given)
    assert said.startswith(sentence)


async def test_a_job_of_the_core_is_a_handle_and_a_handle_is_a_job(ai: Agent, gate: Gate) -> None:
    job = (await ai.data("run", command=f"echo first; {gate.wait}", name="build", background=True))["job"]
    for ref in (job, "build"):
        data = await ai.data("await", any=[ref], timeout_secs=0)
        assert data["pending"] == [{"id": ref, "state": "running"}]
        assert (await ai.data("shell", action="fetch", id=ref))["content"] == "first\n"
    assert len((await ai.data("await", all=[job, "build"], timeout_secs=0))["pending"]) == 1
    gate.open()
    assert (await ai.data("await", all=["build"]))["completed"][0]["result"] == "first\n"
    await ai.data("python", action="spawn", id="calc", code="print(6 * 7)")
    await ai.data("await", all=["calc"])
    rows = (await ai.data("jobs", label="python"))["jobs"]
    assert [(row["name"], row["phase"], row["exit_code"]) for row in rows] == [("calc", "ended", 0)]
    assert (await ai.data("logs", job="calc", offset=0))["out"]["text"] == "42\n"


async def test_a_job_killed_by_the_core_is_a_handle_that_stopped_with_an_error(ai: Agent) -> None:
    await ai.data("shell", action="spawn", id="long", command="sleep 1000")
    await ai.data("kill", jobs=["long"])
    (row,) = (await ai.data("await", all=["long"]))["completed"]
    assert row["error"]["message"].startswith("Process was killed by ")
