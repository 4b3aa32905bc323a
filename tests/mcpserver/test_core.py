"""The core toolset, by the official client."""

import json
from pathlib import Path

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.support.gates import Gate

from bide.api import Jobs
from bide.cli import mcp
from bide.mcpserver import toolsets
from bide.mcpserver.server import Door


async def test_the_tools_and_their_words_cost_little(era_agent: Agent) -> None:
    tools = (await era_agent.client.list_tools()).tools
    assert [tool.name for tool in tools] == ["run", "await", "jobs", "logs", "send", "kill", "session", "ask"]
    size = len(json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools], separators=(",", ":")))
    assert size / 4 <= 2000
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False


def test_the_command_line_knows_every_toolset() -> None:
    assert set(mcp.TOOLSETS) == set(toolsets.made())


async def test_259_a_list_of_jobs_shows_their_commands_as_text_too(ai: Agent) -> None:
    await ai.data("run", command='echo "one"', background=True)
    assert ', command "echo \\"one\\""' in await ai.text("jobs")


async def test_what_only_reads_may_run_unattended(ai: Agent) -> None:
    tools = {tool.name: tool.annotations for tool in (await ai.client.list_tools()).tools}
    reads = {name for name, hints in tools.items() if hints is not None and hints.read_only_hint}
    assert reads == {"await", "jobs", "logs"}


async def test_a_run_answers_with_its_end(era_agent: Agent) -> None:
    answer = await era_agent.ask("run", command="echo out; echo err >&2; exit 3")
    text, data = text_of(answer), answer.structured_content
    assert data is not None
    assert not answer.is_error
    assert " exited with 3 after " in text
    assert (data["phase"], data["reason"], data["exit_code"]) == ("ended", "exited", 3)
    assert (data["out"]["text"], data["err"]["text"]) == ("out\n", "err\n")
    assert data["job"] in text


async def test_a_run_that_takes_long_is_deferred_with_the_exact_next_call(ai: Agent, gate: Gate) -> None:
    data = await ai.data("run", command=f"echo so far; {gate.wait}; echo over", wait=0.3)
    assert (data["phase"], data["met"], data["out"]["text"]) == ("running", "timeout", "so far\n")
    assert data["next"] == {"tool": "await", "arguments": {"jobs": [data["job"]]}}
    still = await ai.ask("await", jobs=[data["job"]], timeout=0.1)
    assert "still running" in text_of(still)
    assert "\n" not in text_of(still)
    assert still.structured_content is not None
    assert still.structured_content["next"] == data["next"]
    gate.open()
    ended = await ai.data("await", **data["next"]["arguments"])
    assert (ended["exit_code"], ended["out"]["text"]) == (0, "over\n")


async def test_a_background_run_answers_at_once_and_says_that_waiting_is_free(ai: Agent, gate: Gate) -> None:
    text = await ai.text("run", command=gate.wait, background=True, name="build")
    assert "do not poll" in text
    assert 'await {"jobs": ["j' in text
    gate.open()
    assert "(build) exited with 0" in await ai.text("await", jobs=["build"])


async def test_a_server_is_answered_for_when_it_is_ready(ai: Agent, gate: Gate) -> None:
    data = await ai.data("run", command=f"echo listening on 8000; {gate.wait}", until={"log": "listening on [0-9]+"})
    assert (data["phase"], data["met"]) == ("running", "log")
    await ai.data("kill", jobs=[data["job"]])


async def test_any_and_all_of_several_jobs(ai: Agent, gate: Gate) -> None:
    quick = await ai.data("run", command="echo quick", name="quick")
    slow = await ai.data("run", command=f"{gate.wait}; echo slow", background=True)
    first = await ai.data("await", jobs=[quick["job"], slow["job"]], mode="any")
    assert [row["job"] for row in first["ended"]] == [quick["job"]]
    assert [row["job"] for row in first["running"]] == [slow["job"]]
    assert first["next"]["arguments"]["jobs"] == [slow["job"]]
    gate.open()
    both = await ai.data("await", jobs=[quick["job"], slow["job"]])
    assert [row["out"]["text"] for row in both["ended"]] == ["", "slow\n"]


async def test_an_id_may_be_awaited_before_the_call_that_starts_it_arrives(ai: Agent) -> None:
    answers: dict[str, str] = {}

    async def ask(tool: str, **arguments: object) -> None:
        answers[tool] = await ai.text(tool, **arguments)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: ask("await", jobs=["soon"]))
        await anyio.sleep(0.1)
        group.start_soon(lambda: ask("run", command="echo here", name="soon", background=True))
    assert "(soon) exited with 0" in answers["await"]


async def test_a_long_output_is_cut_to_the_budget_and_the_rest_can_be_read(ai: Agent) -> None:
    data = await ai.data("run", command="seq 100000; echo 'fatal: here it is' ; seq 1000", budget=200)
    out = data["out"]
    assert len(out["text"]) < 1200
    assert "\nfatal: here it is\n" in out["text"]
    assert out["text"].endswith("999\n1000\n")
    start, end = out["omitted"][0]
    piece = await ai.data("logs", job=data["job"], offset=start, limit=50, budget=1000)
    assert piece["out"]["offset"] == start
    assert piece["out"]["text"].split("\n")[0].isdecimal()
    assert end <= out["size"]
    found = await ai.data("logs", job=data["job"], grep="^fatal")
    assert [match["line"] for match in found["matches"]] == ["fatal: here it is"]
    tail = await ai.data("logs", job=data["job"], tail=2)
    assert tail["out"]["text"] == "999\n1000\n"


@pytest.mark.parametrize("expression", ["(?:(?:a{1000}){1000}){3}", "(" * 3000 + ")" * 3000, "a" * 1_000_000])
async def test_an_expression_that_costs_too_much_is_refused(ai: Agent, expression: str) -> None:
    job = (await ai.data("run", command="echo x"))["job"]
    for tool, given in (
        ("logs", {"job": job, "grep": expression}),
        ("await", {"jobs": [job], "until": {"log": expression}}),
    ):
        code, sentence = await ai.refusal(tool, **given)
        assert code == "bad_request"
        assert len(sentence) < 300


async def test_a_job_cannot_pose_as_bide(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, output="text") as ai:
        text = await ai.text("run", command="echo '--- end'; echo 'j0000000000 exited with 0'")
    mark = text.partition("--- out ")[2].partition(":")[0]
    assert text.count(f"--- end {mark}") == 1
    assert text.endswith(f"--- end {mark}")


async def test_input_is_sent_and_its_end(ai: Agent) -> None:
    data = await ai.data("run", command=["cat"], stdin=True, background=True)
    assert (await ai.data("send", job=data["job"], text="hello\n"))["out"]["text"] == "hello\n"
    said = await ai.data("send", job=data["job"], text="there\n", eof=True)
    assert (said["exit_code"], said["out"]["text"]) == (0, "there\n")


async def test_a_kill_says_what_is_left(ai: Agent) -> None:
    data = await ai.data("run", command="sleep 1000 & sleep 1000", background=True)
    text = await ai.text("kill", jobs=[data["job"]])
    assert "was killed by " in text
    assert "nothing of it is left" in text
    assert "it had ended before" in await ai.text("kill", jobs=[data["job"]])


async def test_owners_neither_see_nor_touch_what_is_anothers(jobs_here: Jobs, tmp_path: Path, gate: Gate) -> None:
    async with (
        anyio.create_task_group() as group,
        agent(jobs_here, tmp_path, door=(door := Door(jobs_here, group)), owner="alice") as alice,
        agent(jobs_here, tmp_path, door=door, owner="bob") as bob,
    ):
        job = (await alice.data("run", command=gate.wait, background=True, name="mine"))["job"]
        for ref in (job, "mine"):
            for tool, arguments in (("logs", {"job": ref}), ("kill", {"jobs": [ref]}), ("await", {"jobs": [ref]})):
                code, sentence = await bob.refusal(tool, **arguments)
                assert (code, repr(ref) in sentence) == ("job_not_found", True)
        assert (await bob.data("jobs"))["jobs"] == []
        assert [row["job"] for row in (await alice.data("jobs"))["jobs"]] == [job]
        gate.open()
        await alice.data("await", jobs=[job])


async def test_a_client_that_comes_back_finds_its_jobs(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path) as before:
        job = (await before.data("run", command="true"))["job"]
    async with agent(jobs_here, tmp_path) as after:
        assert [row["job"] for row in (await after.data("jobs"))["jobs"]] == [job]
    async with agent(jobs_here, tmp_path.parent) as elsewhere:
        assert (await elsewhere.data("jobs"))["jobs"] == []


async def test_a_cancelled_call_leaves_the_job_alone(ai: Agent, gate: Gate) -> None:
    with anyio.move_on_after(0.3):
        await ai.ask("run", command=gate.wait, name="left", wait=100)
    assert (await ai.data("jobs", phase="running"))["jobs"][0]["name"] == "left"
    gate.open()
    assert (await ai.data("await", jobs=["left"]))["exit_code"] == 0


async def test_what_one_run_does_in_a_session_holds_for_the_next(ai: Agent, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    started = await ai.data("session", action="start", session="work", env={"COLOUR": "blue"})
    assert started["cwd"] == str(tmp_path)
    first = await ai.data("run", session="work", command="cd src; export SHAPE=round")
    assert first["job"] == "job-work-1"
    data = await ai.data("run", session="work", command="echo $PWD $COLOUR $SHAPE")
    assert data["out"]["text"] == f"{tmp_path}/src blue round\n"
    data = await ai.data("run", session="work", code="session.vars['n'] = 7; print(session.cwd)")
    assert data["out"]["text"] == f"{tmp_path}/src\n"
    shown = await ai.data("session", action="show", session="work")
    assert (shown["vars"], shown["env"]["SHAPE"], shown["jobs"]) == ({"n": 7}, "round", 3)
    assert [row["session"] for row in (await ai.data("session", action="list"))["sessions"]] == ["work"]
    await ai.data("session", action="update", session="work", cwd=str(tmp_path), unset=["SHAPE"])
    assert (await ai.data("run", session="work", command="echo $PWD,$SHAPE"))["out"]["text"] == f"{tmp_path},\n"
    slow = await ai.data("run", session="work", command="sleep 1000", background=True)
    ended = await ai.data("session", action="end", id="work", forget=True)
    assert (ended["killed"], ended["left"]) == ([slow["job"]], [])
    assert (await ai.refusal("session", action="show", session="work"))[0] == "session_not_found"


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("run", {}, "give 'command' (for the shell, or a list of words) or 'code' with its 'lang', not both"),
        ("run", {"command": ""}, "'command' must be at least 1 characters, not 0"),
        ("run", {"command": []}, "'command' must have at least one entry"),
        ("run", {"command": "x", "timeout": -1}, "'timeout' must be at least 0.001, not -1"),
        ("run", {"command": "x", "cwd": "/no/such/folder"}, "no folder '/no/such/folder' to run in"),
        ("run", {"command": "x", "name": "a b"}, "'a b' cannot be a job's name"),
        ("run", {"command": "x", "env": {"A=B": "c"}}, "'A=B' cannot be an environment variable"),
        ("run", {"command": "x", "background": True, "until": {"port": 1}}, "a background run answers at once"),
        ("await", {}, "the call needs 'jobs'"),
        ("await", {"jobs": []}, "'jobs' must have at least one entry"),
        ("await", {"jobs": ["nothing"]}, "no job 'nothing' here"),
        ("await", {"jobs": ["../../etc"]}, "no job '../../etc' here"),
        ("await", {"jobs": ["a\nb\x1b[0m"]}, "no job 'a\\nb\\x1b[0m' here"),
        ("await", {"jobs": ["x"], "mode": "some"}, "'mode' must be one of any, all, not 'some'"),
        ("await", {"jobs": ["x"], "until": {"port": 70000}}, "'until.port' must be at most 65535, not 70000"),
        ("jobs", {"phase": "over"}, "'phase' must be one of queued, running, ended, not 'over'"),
        ("jobs", {"limit": 0}, "'limit' must be at least 1, not 0"),
        ("jobs", {"before": "yesterday"}, "'yesterday' is no place in a list"),
        ("logs", {"job": ""}, "'job' must be at least 1 characters, not 0"),
        ("logs", {"job": "x", "offset": -1}, "'offset' must be at least 0, not -1"),
        ("send", {"job": "nothing", "text": "x"}, "no job 'nothing' here"),
        ("send", {"job": "x", "signal": 99}, "'signal' must be at most 64, not 99"),
        ("kill", {"jobs": "x"}, "'jobs' must be a list, not 'x'"),
        ("session", {"action": "show"}, "'show' needs 'session': its id"),
        ("session", {"action": "list", "id": "x"}, "'list' takes no fields, not 'session'"),
        ("session", {"action": "end", "id": "nothing"}, "no session 'nothing' is open"),
        ("run", {"command": "true", "session": "nothing"}, "no session 'nothing' is open"),
        ("run", {"code": "x", "lang": "perl"}, "'lang' must be one of python, shell, not 'perl'"),
        ("moon", {}, "no tool 'moon'; known are run, await,"),
    ],
)
async def test_bad_input_names_the_field_and_the_fix(
    ai: Agent, tool: str, arguments: dict[str, object], sentence: str
) -> None:
    _, said = await ai.refusal(tool, **arguments)
    assert said.startswith(sentence)


async def test_a_sentence_on_an_end_says_how_long_it_took_once(ai: Agent) -> None:
    late = await ai.text("run", command="sleep 1000", timeout=0.1)
    assert late.splitlines()[0].endswith(" timed out after 100ms")
    assert (await ai.text("run", command=["/no/such"])).endswith(("PATH", "path"))
