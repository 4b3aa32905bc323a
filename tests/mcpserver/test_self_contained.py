"""Each toolset is self-contained (checklist 265): what it says names only the tools that its client has."""

import json
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.mcpserver.raw import MODERN, raw
from tests.support.gates import Gate
from tests.support.patience import PATIENCE

from bide.api import Jobs
from bide.mcpserver import toolsets
from bide.mcpserver.instructions import instructions
from bide.mcpserver.prompts import PROMPTS
from bide.model import toolcalls
from bide.model.question import Form, Question
from bide.settings import check

MADE = toolsets.made()
TOOLS = {name: [tool.name for tool in tools] for name, tools in MADE.items()}
ALONE = [(name,) for name in TOOLS]
PAIRS = list(combinations(TOOLS, 2))
ENGLISH = {
    "run",
    "await",
    "jobs",
    "logs",
    "send",
    "kill",
    "session",
    "ask",
    "job",
    "bash",
    "exec",
    "shell",
    "python",
    "terminal",
}
"""Names that are also words: they are names where they stand as a call, in quotes, or after a word that calls."""
_CALLS = r"(?:call|calls|calling|use|uses|using|tool) "


def named(text: str) -> set[str]:
    """The tools of any toolset that a text names."""
    found: set[str] = set()
    for tools in TOOLS.values():
        for tool in tools:
            if tool not in ENGLISH:
                found |= {tool} if re.search(rf"(?<![\w.-]){re.escape(tool)}(?![\w-])", text) else set()
            elif re.search(
                rf"(?<![\w./-]){tool} \{{|{_CALLS}`?'?{tool}\b(?! of| that| in)|`{tool}`|bide's {tool} tool|\b{tool} it \(",
                text,
            ):
                found.add(tool)
    return found


def strange(text: str, names: Sequence[str]) -> set[str]:
    """The tools that a text names and that a client of these toolsets does not have. Its own fields and prompts are no such names."""
    own = {tool for name in names for tool in TOOLS[name]}
    fields = {field for name in names for tool in MADE[name] for field in tool.schema.get("properties", {})}
    prompts = {prompt.name for prompt in PROMPTS if prompt.toolset in names}
    return named(text) - own - fields - prompts


def test_265_the_reader_of_names_finds_names() -> None:
    assert named("For its end: await {}") == {"await"}
    assert named("use logs with grep; call kill; then waitJob") == {"logs", "kill", "waitJob"}
    assert named("wait for it, kill it, or send more; jobs go on in a session") == set()


@pytest.mark.parametrize("names", [*ALONE, *PAIRS], ids="+".join)
def test_265_instructions_teach_the_tools_that_are_there(names: tuple[str, ...]) -> None:
    text = instructions(names)
    assert strange(text, names) == set()
    for name in names:
        assert any(re.search(rf"\b{tool}\b", instructions([name])) for tool in TOOLS[name])
        assert re.search("wait|await|watch", instructions([name]))
    assert ("job" not in names) or named(instructions(names, background=False)) <= named(text)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("names", ALONE, ids="+".join)
async def test_265_all_that_a_client_reads_before_it_calls_is_of_its_own_tools(
    jobs_here: Jobs, tmp_path: Path, names: tuple[str, ...], era: str
) -> None:
    await jobs_here.sessions.start("s", owner="ann")
    await jobs_here.run("printf 'name? '; read -r name", owner="ann", stdin=True, background=True)
    asking = await jobs_here.run("sleep 1000", owner="ann", name="asking", background=True)
    await jobs_here.questions.pose(asking.job.id, Question("Go on?", Form.BOOLEAN))
    async with agent(jobs_here, tmp_path, tools=names, owner="ann", era=era) as ai:
        texts = [ai.client.instructions or ""]
        assert era != ERAS[0] or texts[0] == instructions(names)
        texts += [tool.model_dump_json() for tool in (await ai.client.list_tools()).tools]
        listed = (await ai.client.list_prompts()).prompts
        assert {prompt.name for prompt in listed} == {one.name for one in PROMPTS if one.toolset in names}
        texts += [prompt.model_dump_json() for prompt in listed]
        texts += [one.text for one in PROMPTS if one.toolset in names]
        resources = (await ai.client.list_resources()).resources
        texts += [str(one.description) for one in resources]
        texts += [one.model_dump_json() for one in (await ai.client.list_resource_templates()).resource_templates]
        texts += [await ai.resource(str(one.uri)) for one in resources if one.uri.startswith("skills")]
    assert {tool for text in texts for tool in strange(text, names)} == set()


async def refused(ai: Agent) -> str:
    """What is said of a tool that is not there."""
    try:
        return texts(await ai.ask("no_such_tool"))
    except MCPError as error:
        return str(error)


WRONG: dict[str, list[dict[str, Any]]] = {
    "job": [{"poll": ["no"]}, {"list": True, "poll": []}, {"cancel": ["no"]}, {"pol": 1}],
    "bash": [{}, {"command": "exit 3"}, {"command": "true", "async": "yes"}, {"command": "x", "cwd": "/no/such"}],
    "exec": [{}, {"code": " "}, {"code": "1/0"}, {"code": "1", "sessionId": "no"}, {"code": "const x = 1"}],
    "listJobs": [{"sessionId": "no"}],
    "getJobOutput": [{"jobId": "no"}, {"jobId": 3}, {"jobId": "no", "sessionId": "s"}],
    "killJob": [{"jobId": "no"}, {"jobId": "no", "signal": "X"}],
    "waitJob": [{"jobId": "no"}],
    "startSession": [{"id": "s"}, {"id": "s"}, {"cwd": "/no/such"}, {"id": "-"}],
    "updateSession": [{"sessionId": "no"}],
    "endSession": [{"sessionId": "no"}],
    "process__run": [{}, {"command": "no-such-command"}, {"command": "false"}, {"command": "true", "timeout": -1}],
    "process__logs": [{"process_id": "no"}],
    "process__monitor": [{"process_id": "no"}],
    "process__kill": [{"process_id": "no"}],
    "capabilities__describe": [{"name": "no"}],
    "await": [{}, {"jobs": ["no"]}, {"any": ["no"]}],
    "run": [
        {},
        {"command": "exit 3"},
        {"command": "true", "session": "no"},
        {"command": "true", "until": {"log": "("}},
    ],
    "jobs": [{"jobs": ["no"]}, {"scope": "all"}],
    "logs": [{"job": "no"}],
    "send": [{"job": "no", "text": "x"}],
    "kill": [{"jobs": ["no"]}],
    "session": [{"action": "show"}, {"action": "show", "id": "no"}],
    "ask": [{"cli": "no", "prompt": "x"}],
    "shell": [{"action": "spawn"}, {"action": "fetch", "id": "no"}, {"action": "abort", "id": "no"}],
    "python": [{"action": "spawn", "id": "p"}],
    "terminal": [{"action": "apply", "id": "no", "input": "x"}],
    "claude_request": [{}, {"prompt": "x", "sessionId": "gw-1"}],
    "llm_job_status": [{"jobId": "no"}],
    "llm_job_result": [{"jobId": "no"}],
    "llm_job_watch": [{"jobId": "no"}],
    "llm_job_cancel": [{"jobId": "no"}],
    "llm_request_result": [{"correlationId": "no"}],
    "llm_review": [{}, {"prompt": "x", "clis": ["no"]}],
    "session_get": [{"sessionId": "no"}],
    "session_set_active": [{"cli": "claude", "sessionId": "no"}],
}
"""Calls that are refused, or fail."""


def texts(answer: Any) -> str:
    said = [block.text for block in answer.content if isinstance(block, TextContent)]
    return "\n".join([*said, json.dumps(answer.structured_content)])


@pytest.mark.parametrize("names", ALONE, ids="+".join)
async def test_265_errors_name_the_tools_that_are_there(
    jobs_here: Jobs, tmp_path: Path, names: tuple[str, ...]
) -> None:
    async with agent(jobs_here, tmp_path, tools=names) as ai:
        said = [await refused(ai)]
        for tool in TOOLS[names[0]]:
            said += [texts(await ai.ask(tool, **given)) for given in [*WRONG.get(tool, []), {"no_such_field": 1}]]
    assert {tool for text in said for tool in strange(text, names)} == set()


STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "core": ("run", {}),
    "job": ("bash", {}),
    "sessions": ("exec", {"language": "shell"}),
    "process": ("process__run", {}),
    "handles": ("shell", {"action": "spawn", "id": "h"}),
}


@pytest.mark.parametrize("names", [one for one in ALONE if one[0] in STARTS], ids="+".join)
async def test_265_the_answer_about_what_goes_on_and_the_news_of_it_name_its_own_tools(
    jobs_here: Jobs, tmp_path: Path, names: tuple[str, ...], gate: Gate
) -> None:
    tool, more = STARTS[names[0]]
    async with agent(jobs_here, tmp_path, tools=names, owner="ann", patience=0.4) as ai:
        code = "code" if tool == "exec" else "command"
        said = [texts(await ai.ask(tool, **{code: f"seq 100000; {gate.wait}; seq 100000; exit 3", **more}))]
        gate.open()
        with anyio.fail_after(PATIENCE):
            while "exited with 3" not in said[-1]:
                said.append(texts(await idle(ai, names[0])))
                await anyio.sleep(0.05)
    assert {tool for text in said for tool in strange(text, names)} == set()


async def test_265_instructions_name_the_stateful_tools_that_the_home_has(jobs_here: Jobs, tmp_path: Path) -> None:
    mine = {"check": {"command": "true"}, "run": {"command": "true"}}

    async def said(*names: str, **given: Any) -> str:
        settings = check({"mcp": {"handles": given}}, "config.toml")
        async with agent(jobs_here, tmp_path, tools=names, settings=settings) as ai:
            return ai.client.instructions or ""

    assert "Spawn with shell, python or terminal (action spawn)" in await said("handles")
    text = await said("handles", builtin=["terminal"], tools=mine)
    assert "Spawn with terminal, check or run (action spawn)" in text
    assert "apply gives it input" in text
    text = await said("core", "handles", builtin=[], tools=mine)
    assert "Spawn with check (action spawn)" in text  # this home's run is the core's
    assert "fetch shows how one is, abort ends it. Never" in text
    only = await said("handles", builtin=[], tools={"fire": {"command": "true", "actions": ["spawn"]}})
    assert "while it waits). Never poll" in only
    assert await said("handles", builtin=[]) == instructions([])


async def test_265_a_client_without_a_handshake_reads_its_instructions_too(jobs_here: Jobs, tmp_path: Path) -> None:
    async with raw(jobs_here, tmp_path, MODERN, tools=["sessions"]) as client:
        assert (await client.request("server/discover"))["instructions"] == instructions(["sessions"])


async def idle(ai: Agent, name: str) -> Any:
    """A call that tells of no job by itself."""
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "core": ("jobs", {"name": "nothing"}),
        "job": ("job", {"list": True}),
        "sessions": ("listSessions", {}),
        "process": ("agent__session", {}),
        "handles": ("shell", {"action": "spawn", "id": f"h{anyio.current_time()}", "command": "true"}),
    }
    tool, given = calls[name]
    return await ai.ask(tool, **given)


@pytest.mark.parametrize("names", [*ALONE, *PAIRS], ids="+".join)
@pytest.mark.parametrize("job", ["j0123456789", "job-s-1-2"])
def test_265_calls_that_read_wait_and_end_are_of_its_own_tools(names: tuple[str, ...], job: str) -> None:
    calls = [toolcalls.rest(names, job), *toolcalls.wait(names, [job]), *toolcalls.abort(names, [job])]
    assert {tool for call in calls for tool in strange(call, names)} == set()
    assert toolcalls.wait(names, [job])
    if "sessions" in names and names[0] != "core":
        assert toolcalls._in_session("job-s-1-2") == {"sessionId": "s-1", "jobId": "job-s-1-2"}  # pyright: ignore[reportPrivateUsage]
