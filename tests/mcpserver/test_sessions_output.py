"""The toolset `sessions`: long output and large variables, as text and as data."""

import json
from pathlib import Path

from tests.mcpserver.clients import Agent, agent, texts_of
from tests.support import homes

from bide.api import Jobs
from bide.model.schema import Json

TOOLSET = "sessions"
MIB = 1024 * 1024


async def both(ai: Agent, tool: str, **given: object) -> tuple[Json, Json]:
    """An answer as its text has it, and as data."""
    answer = await ai.ask(tool, **given)
    data: Json = answer.structured_content or {}
    return json.loads(texts_of(answer)[0]), data


async def test_092_the_data_has_a_mebibyte_and_the_text_an_excerpt(ai: Agent) -> None:
    code = "seq 300000; echo 'the end' >&2; exit 3"
    text, data = await both(ai, "exec", code=code, language="shell")
    assert (len(data["stdout"]), data["stdout"][-7:], data["truncated"]["stdout"]) == (MIB, "300000\n", True)
    assert len(json.dumps(text)) < 30_000
    assert (text["code"], text["stdout"][-7:], text["stderr"]) == (3, "300000\n", "the end\n")
    assert text["left_out"]["stdout"]
    (start, _), *_ = text["left_out"]["stdout"]
    more = await ai.data(text["next"]["tool"], **text["next"]["arguments"])
    whole = "".join(f"{number}\n" for number in range(1, 300001))
    assert more["stdout"].startswith(whole[start : start + 1000])


async def test_092_an_agent_asks_for_less_and_a_known_one_gets_less(jobs_here: Jobs, tmp_path: Path, ai: Agent) -> None:
    text, data = await both(ai, "exec", code="print('x\\n' * 100_000)", budget=100)
    assert text == data
    assert len(data["stdout"]) < 600
    waited, _ = await both(ai, "waitJob", jobId=data["jobId"], budget=100)
    assert len(waited["stdout"]) < 600
    piece = await ai.data("getJobOutput", jobId=data["jobId"], since=0, budget=100)
    assert (len(piece["stdout"]), piece["offset"]) == (400, 400)
    async with agent(jobs_here, tmp_path, tools=("sessions",), name="claude-code") as claude:
        text, data = await both(claude, "exec", code="print('x\\n' * 100_000)")
        assert text == data
        assert len(data["stdout"]) < 20_000


async def test_086_the_text_of_a_long_output_reads_on_from_its_own_offset(ai: Agent) -> None:
    job = (await ai.data("exec", code="seq 20000", language="shell"))["jobId"]
    whole, since, pieces = "".join(f"{number}\n" for number in range(1, 20001)), 0, ""
    while True:
        text, _ = await both(ai, "getJobOutput", jobId=job, since=since)
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
    _, data = await both(ai, "exec", code="const x = 1; console.log(x)")
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
