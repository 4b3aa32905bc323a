"""The toolset `sessions`: long output and large variables, as text and as data."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.mcpserver.clients import Agent, agent, texts_of
from tests.support import homes

from bide.api import Jobs
from bide.model.schema import Json

TOOLSET = "sessions"
MIB = 1024 * 1024


@pytest.fixture
async def reader(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client that did not say where its model finds output."""
    async with agent(jobs_here, tmp_path, tools=("sessions",), name="cursor", output=None) as one:
        yield one


async def read(ai: Agent, tool: str, **given: object) -> Json:
    """An answer that has its output in the text alone."""
    answer = await ai.ask(tool, **given)
    assert answer.structured_content is None
    return json.loads(texts_of(answer)[0])


async def test_092_the_data_has_a_mebibyte_where_it_is_chosen(ai: Agent) -> None:
    answer = await ai.ask("exec", code="seq 300000; echo 'the end' >&2; exit 3", language="shell")
    data: Json = answer.structured_content or {}
    assert (len(data["stdout"]), data["stdout"][-7:], data["truncated"]["stdout"]) == (MIB, "300000\n", True)
    text = json.loads(texts_of(answer)[0])
    assert text == {key: one for key, one in data.items() if key not in ("stdout", "stderr")}


async def test_092_the_text_has_an_excerpt_in_which_each_gap_names_its_call(reader: Agent) -> None:
    code = "seq 300000; echo 'the end' >&2; exit 3"
    text = await read(reader, "exec", code=code, language="shell")
    assert len(json.dumps(text)) < 30_000
    assert (text["code"], text["stdout"][-7:], text["stderr"]) == (3, "300000\n", "the end\n")
    (start, _), *_ = text["left_out"]["stdout"]
    more = await read(reader, text["next"]["tool"], **text["next"]["arguments"], budget=4000)
    whole = "".join(f"{number}\n" for number in range(1, 300001))
    assert more["stdout"].startswith(whole[start : start + 1000])
    short = await read(reader, "exec", code="seq 9000; echo 'error: x'; seq 9000; exit 1", language="shell", budget=200)
    gaps = re.findall(r"bytes (\d+) to (\d+) left out: getJobOutput ({.*})]", short["stdout"])
    assert len(gaps) == len(short["left_out"]["stdout"])
    for first, last, given in gaps:
        piece = await read(reader, "getJobOutput", **json.loads(given))
        assert len(piece["stdout"]) >= int(last) - int(first)
        assert piece["stdout"].startswith(whole[int(first) : int(first) + 4]) or int(first) > 0
        assert piece["stderr"] == ""


async def test_092_output_comes_once_and_a_known_client_gets_no_data(jobs_here: Jobs, tmp_path: Path) -> None:
    for name in ("claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "cursor"):
        async with agent(jobs_here, tmp_path, tools=("sessions",), name=name, output=None) as one:
            for count in (10, 100_000):
                ran = await read(one, "exec", code=f"print('x\\n' * {count})")
                assert 10 < len(ran["stdout"]) < 20_000
                waited = await read(one, "waitJob", jobId=ran["jobId"])
                assert 10 < len(waited["stdout"]) < 20_000
            answer = await one.ask("getJobOutput", jobId=ran["jobId"])
            data, text = answer.structured_content, json.loads(texts_of(answer)[0])
            assert (data is not None) == (name == "cursor")
            # The document shows 1 MiB: where the data can have it, the text says where it is.
            assert len((data or text)["stdout"]) == (200_001 if data else 8000)
            assert ("stdout" in text, "budget" in text.get("note", "")) == (data is None, data is not None)


async def test_092_a_budget_bounds_what_is_shown_down_to_nothing(reader: Agent) -> None:
    ran = await read(reader, "exec", code="print('x\\n' * 100_000)", budget=100)
    assert len(ran["stdout"]) < 800
    assert len((await read(reader, "waitJob", jobId=ran["jobId"], budget=100))["stdout"]) < 800
    piece = await read(reader, "getJobOutput", jobId=ran["jobId"], since=0, budget=100)
    assert (len(piece["stdout"]), piece["offset"]) == (400, 400)
    none = await read(reader, "getJobOutput", jobId=ran["jobId"], budget=0)
    assert (none["stdout"], none["offset"], none["left"]) == ("", 0, {"stdout": 200_001})
    for tool, given in (("exec", {"code": "print('x\\n' * 100_000)"}), ("waitJob", {"jobId": ran["jobId"]})):
        quiet = await read(reader, tool, **given, budget=0)
        assert (quiet["stdout"], quiet["left_out"]) == ("", {"stdout": [[0, 200_001]]})
        assert quiet["next"]["arguments"]["offsets"]["stdout"] == 0


async def test_086_the_text_of_a_long_output_reads_on_from_its_own_offset(reader: Agent) -> None:
    job = (await read(reader, "exec", code="seq 20000", language="shell"))["jobId"]
    whole, since, pieces = "".join(f"{number}\n" for number in range(1, 20001)), 0, ""
    while True:
        text = await read(reader, "getJobOutput", jobId=job, since=since, budget=4000)
        pieces += text["stdout"]
        since = text["offset"]
        if "left" not in text:
            break
    assert pieces == whole


async def test_large_variables_are_named_where_sessions_are_shown(ai: Agent) -> None:
    large = {"rows": [[1, 2, 3]] * 10_000, "text": "x" * 100_000, "n": 1}
    started = await ai.data("startSession", id="s", vars=large, env={"LONG": "y" * 5000, "A": "1"})
    for shown in (started, *(await ai.data("listSessions"))["sessions"]):
        assert (shown["vars"], shown["largeVars"]) == ({"n": 1}, ["rows", "text"])
        assert (shown["env"], shown["largeEnv"]) == ({"A": "1"}, ["LONG"])
    assert json.loads(await ai.resource("session://s"))["vars"] == large


async def test_code_that_is_no_python_is_told_what_runs(ai: Agent) -> None:
    answer = await ai.ask("exec", code="const x = 1; console.log(x)")
    data: Json = answer.structured_content or {}
    assert "SyntaxError" in data["stderr"]
    assert "exec runs Python" in data["note"]


async def test_082_code_that_prints_nothing_is_told_where_its_commands_wrote(home: Path, tmp_path: Path) -> None:
    async with homes.remote(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        await ai.data("startSession", id="s")
        data = await ai.data("exec", sessionId="s", code="await cmd('echo', ['hi']).exec()")
        assert data["stdout"] == ""
        assert data["note"].startswith("The code printed nothing.")
        assert "job-s-2" in data["note"]
        assert (await ai.data("getJobOutput", sessionId="s", jobId="job-s-2"))["stdout"] == "hi\n"
