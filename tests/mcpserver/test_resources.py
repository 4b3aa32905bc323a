"""Jobs and their output as resources, and the prompts."""

import json
import re
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent
from tests.mcpserver.clients import Agent, agent
from tests.mcpserver.test_riding import settled
from tests.support.gates import Gate

from bide.api import Jobs

STREAMS = ("/stdout", "/stderr")


async def test_a_job_can_be_read_and_its_output(era_agent: Agent) -> None:
    data = await era_agent.data("run", command="echo out; echo err >&2", name="mine")
    uris = [str(resource.uri) for resource in (await era_agent.client.list_resources()).resources]
    assert uris == ["job://list", "session://list", *[f"job://{data['job']}{rest}" for rest in ("", *STREAMS)]]
    assert json.loads(await era_agent.resource(uris[0]))[0]["job"] == data["job"]
    assert json.loads(await era_agent.resource(uris[2]))["exit_code"] == 0
    assert await era_agent.resource(uris[3]) == "out\n"
    assert await era_agent.resource("job://mine/stderr") == "err\n"


async def test_reading_a_job_tells_its_owner_and_nobody_elses_reading_does(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with (
        agent(jobs_here, tmp_path, owner="ann") as ann,
        agent(jobs_here, tmp_path, owner="bob", scope="all") as bob,
    ):
        job = (await ann.data("run", command=f"{gate.wait}; echo hi", background=True))["job"]
        gate.open()
        await settled(jobs_here, "ann")
        for uri in (f"job://{job}", f"job://{job}/stdout"):
            await bob.resource(uri)
        await settled(jobs_here, "ann")
        assert await ann.resource(f"job://{job}/stdout") == "hi\n"
        assert "notices" not in await ann.data("jobs", name="nothing")


async def test_the_templates_say_what_can_be_read(ai: Agent) -> None:
    found = (await ai.client.list_resource_templates()).resource_templates
    assert [str(template.uri_template) for template in found] == [
        "job://{id}",
        "job://{id}/stdout{?offset}",
        "job://{id}/stderr{?offset}",
        "session://{id}",
    ]


@pytest.mark.parametrize("line", ["0123456789", "äöüß日本語🙂"])
async def test_063_a_long_output_says_what_it_leaves_out_and_leads_to_all_of_it(ai: Agent, line: str) -> None:
    data = await ai.data("run", command=f"yes '{line}' | head -c 2500000")
    whole = (f"{line}\n" * 250_000).encode()[:2_500_000].decode("utf-8", "replace")
    uri = f"job://{data['job']}/stdout"
    last = await ai.resource(uri)
    said = re.match(rf"\[bytes 0 to (\d+) left out: read {re.escape(uri)}\?offset=0\]\n", last)
    assert said is not None
    end = last.removeprefix(said[0])
    assert whole.endswith(end)
    assert 1_000_000 < len(end.encode()) <= 1024 * 1024 + 3
    following, pages = f"{uri}?offset=0", list[str]()
    while following:
        page = await ai.resource(following)
        more = re.search(rf"\n\[bytes \d+ to 2500000 left out: read ({re.escape(uri)}\?offset=\d+)\]\n\Z", page)
        pages.append(page[: more.start()] if more else page)
        following = more[1] if more else ""
    assert "".join(pages) == whole
    assert len(pages) == 3


async def test_063_what_is_no_longer_kept_is_said(ai: Agent) -> None:
    data = await ai.data("run", command="seq 1 100000", output_cap=102_400)
    uri = f"job://{data['job']}/stdout"
    page = await ai.resource(f"{uri}?offset=10")
    assert re.match(r"\[bytes 10 to \d+ are no longer kept\]\n", page)
    last = await ai.resource(uri)
    assert re.match(r"\[bytes 0 to \d+ are no longer kept\]\n", last)
    assert last.endswith("\n100000\n")


async def test_a_session_can_be_read_and_is_listed_while_it_is_open(era_agent: Agent, tmp_path: Path) -> None:
    await era_agent.data("session", action="start", id="place")
    job = (await era_agent.data("run", command="export A=1", session="place"))["job"]
    found = json.loads(await era_agent.resource("session://place"))
    assert (found["cwd"], found["env"], [one["job"] for one in found["newest"]]) == (str(tmp_path), {"A": "1"}, [job])
    assert [one["session"] for one in json.loads(await era_agent.resource("session://list"))] == ["place"]
    assert "session://place" in [str(one.uri) for one in (await era_agent.client.list_resources()).resources]
    await era_agent.data("session", action="end", id="place")
    assert "session://place" not in [str(one.uri) for one in (await era_agent.client.list_resources()).resources]
    with pytest.raises(MCPError, match="no session"):
        await era_agent.client.read_resource("session://place")


async def test_anothers_session_is_not_found(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, owner="alice") as alice, agent(jobs_here, tmp_path, owner="bob") as bob:
        await alice.data("session", action="start", id="hers")
        with pytest.raises(MCPError, match="no session"):
            await bob.client.read_resource("session://hers")
        assert json.loads(await bob.resource("session://list")) == []


@pytest.mark.parametrize(
    "uri",
    [
        "session://x/stdout",
        "job://nothing",
        "job://nothing/stdout",
        "job://",
        "job://x/y",
        "job://x?offset=1",
        "job://x/stdout?offset=-1",
        "file:///etc/passwd",
    ],
)
async def test_what_is_not_there_is_an_error(era_agent: Agent, uri: str) -> None:
    with pytest.raises(MCPError, match=r"no (job|resource)"):
        await era_agent.client.read_resource(uri)


async def test_a_prompt_is_filled_with_the_callers_words(era_agent: Agent) -> None:
    prompts = (await era_agent.client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["parallel_checks", "watch_server", "second_opinion"]
    got = await era_agent.client.get_prompt("watch_server", {"command": "npm run {dev}", "port": "3000"})
    (message,) = got.messages
    assert isinstance(message.content, TextContent)
    assert "until port 3000: npm run {dev}" in message.content.text
    with pytest.raises(MCPError, match="needs 'port'"):
        await era_agent.client.get_prompt("watch_server", {"command": "x"})
    with pytest.raises(MCPError, match="no prompt 'moon'; known are parallel_checks"):
        await era_agent.client.get_prompt("moon", {})
