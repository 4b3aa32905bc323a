"""What the toolset `process` says of itself, by the numbers of the checklist: permissions, versions, tags, schemas."""

from pathlib import Path
from typing import Any

import anyio
from jsonschema import Draft202012Validator
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.test_process_run import failed, steps
from tests.mcpserver.test_process_toolset import start
from tests.support.gates import Gate

from bide.api import Jobs

TOOLSET = "process"


async def test_182_capabilities_are_listed_and_described_as_data(ai: Agent) -> None:
    found = await ai.data("capabilities.list")
    rows = {row["name"]: row for row in found["capabilities"]}
    assert found["total"] == len(rows) == 8
    assert {row["tool"] for row in rows.values()} == {tool.name for tool in (await ai.client.list_tools()).tools}
    assert (await ai.data("capabilities.list", category="process"))["total"] == 5
    for spelling in ("process.run", "process__run"):
        data = await ai.data("capabilities.describe", name=spelling)
        assert rows["process.run"].items() <= data.items()
    inputs = {row["name"]: row for row in data["inputs"]}
    assert inputs["command"]["required"]
    assert (inputs["timeout"]["default"], inputs["timeout"]["required"]) == (300, False)
    assert {"exit_code", "stdout_summary", "state", "resource_usage"} <= {row["name"] for row in data["outputs"]}
    assert [row["reversible"] for row in data["side_effects"]] == [False, True]
    assert [row["type"] for row in data["errors"]] == [
        *("CommandNotFound", "ResourceLimitExceeded", "PathOutOfScope", "SpawnFailed"),
    ]
    assert all(row["recovery"] for row in data["errors"])
    assert data["when_to_use"]
    assert data["common_patterns"][0]["steps"]
    for name in rows:
        await ai.data("capabilities.describe", name=name)
    wrong = await failed(ai, "capabilities.describe", name="process.stop")
    assert (wrong["error"]["type"], steps(wrong)) == ("CapabilityNotFound", ["list_capabilities"])


async def test_179_tools_have_a_permission_a_version_and_tags(ai: Agent) -> None:
    meta = {tool.name: tool.meta or {} for tool in (await ai.client.list_tools()).tools}
    rows = {row["tool"]: row for row in (await ai.data("capabilities.list"))["capabilities"]}
    for name, found in meta.items():
        row = rows[name]
        assert found == {"bide/permission": row["permission"], "bide/version": row["version"], "bide/tags": row["tags"]}
    assert {name for name, row in rows.items() if row["permission"] == "notify"} == {"process__run", "process__kill"}
    assert {name: row["version"] for name, row in rows.items() if row["version"] != "1.0"} == {"process__run": "1.1"}
    assert rows["process__run"]["tags"] == ["process", "execute", "sandbox"]
    assert rows["process__kill"]["tags"] == ["process", "kill", "terminate"]


async def test_179_the_person_is_told_of_runs_and_kills_and_of_nothing_else(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), owner="alice") as ai:
        process = await start(ai, gate.wait)
        for tool in ("process.monitor", "process.logs"):
            await ai.data(tool, process_id=process)
        await ai.data("process.list")
        message = await jobs_here.outbox.pull("user")
        assert [(item.job, item.what, item.level, item.says) for item in message.items] == [
            (process, "acted", "info", "was started with process.run by alice")
        ]
        assert f"{process} was started with process.run by alice, command" in message.text
        await ai.data("process.kill", process_id=process)
        message = await jobs_here.outbox.pull("user")
        assert [item.says for item in message.items] == [
            "was started with process.run by alice",
            "was sent SIGTERM with process.kill by alice",
        ]
        assert await jobs_here.outbox.acknowledge("user", message.ids) == 2
        assert (await jobs_here.outbox.pull("user")).items == ()
        assert [item.what for item in (await jobs_here.outbox.pull("alice")).items if item.what == "acted"] == []


async def test_179_the_person_is_told_while_the_agent_waits_for_the_end(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), owner="alice") as ai, anyio.create_task_group() as group:
        group.start_soon(lambda: ai.data("process.run", command=gate.wait))
        with anyio.fail_after(20):
            message = await jobs_here.outbox.pull("user", timeout=None)
        assert [item.what for item in message.items] == ["acted"]
        gate.open()


async def test_182_answers_match_the_declared_schemas(ai: Agent, gate: Gate) -> None:
    schemas = {tool.name: tool.output_schema or {} for tool in (await ai.client.list_tools()).tools}
    assert all(schemas.values())

    async def check(tool: str, *, is_error: bool = False, **given: Any) -> dict[str, Any]:
        answer = await ai.ask(tool, **given)
        assert (answer.is_error or False, answer.structured_content is None) == (is_error, False), text_of(answer)
        validator: Any = Draft202012Validator(schemas[tool])
        validator.check_schema(schemas[tool])
        validator.validate(answer.structured_content)
        assert set(answer.structured_content or {}) <= set(schemas[tool]["properties"])
        return answer.structured_content or {}

    done = await check("process__run", command="echo hi", environment={"HOME": "/"})
    await check("process__run", command="nosuch", is_error=True)
    greedy = "import time; x = bytearray(300_000_000); time.sleep(30)"
    await check("process__run", command="python3", args=["-c", greedy], memory_limit=64 * 2**20, is_error=True)
    await check("process__run", command="sleep 1000", timeout=1)
    process = (await check("process__run", command=gate.wait, background=True))["process_id"]
    await check("process__monitor", process_id=process)
    await check("process__logs", process_id=process)
    await check("process__kill", process_id=process)
    await check("process__logs", process_id=done["process_id"], stream="stdout")
    await check("process__list")
    await check("agent__session")
    await check("capabilities__list")
    for row in (await ai.data("capabilities.list"))["capabilities"]:
        await check("capabilities__describe", name=row["name"])
