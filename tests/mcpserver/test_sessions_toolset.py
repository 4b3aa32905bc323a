"""The toolset `sessions` alone, by the numbers of the checklist: sessions, `exec`, and what each run leaves on record."""

import sys
from pathlib import Path

import anyio
import pytest
from tests.mcpserver.clients import ERAS, Agent, agent
from tests.mcpserver.sessioncalls import rows, shell
from tests.support import homes
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver import scope

TOOLSET = "sessions"

TOOLS = {
    *("startSession", "updateSession", "endSession", "listSessions"),
    *("exec", "listJobs", "getJobOutput", "killJob", "waitJob"),
}


@pytest.mark.parametrize("era", ERAS)
async def test_90_the_tools_are_these_and_none_of_the_old_ones(jobs_here: Jobs, tmp_path: Path, era: str) -> None:
    async with agent(jobs_here, tmp_path, tools=("sessions",), era=era) as ai:
        tools = {tool.name: tool for tool in (await ai.client.list_tools()).tools}
        assert set(tools) == TOOLS
        assert not {"bg", "jobs", "fg", "jobOutput", "kill"} & set(tools)
        read = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert read == {"listSessions", "listJobs", "getJobOutput", "waitJob"}


async def test_75_76_a_run_in_the_foreground_answers_with_its_result(ai: Agent, session: str) -> None:
    tools = {tool.name: tool.input_schema for tool in (await ai.client.list_tools()).tools}
    assert {"sessionId", "code", "background", "timeout", "env"} < set(tools["exec"]["properties"])
    assert tools["exec"]["required"] == ["code"]
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    data = await ai.data("exec", sessionId=session, code=code)
    assert data == {"stdout": "out\n", "stderr": "err\n", "code": 0, "success": True, "jobId": f"job-{session}-1"}


async def test_74_76_a_run_that_fails_answers_the_same_and_is_flagged(ai: Agent, session: str) -> None:
    answer = await ai.ask("exec", sessionId=session, code="print('so far'); raise SystemExit(3)")
    data = answer.structured_content
    assert answer.is_error
    assert data == {"stdout": "so far\n", "stderr": "", "code": 3, "success": False, "jobId": f"job-{session}-1"}
    (row,) = await rows(ai, session)
    assert (row["status"], row["exitCode"]) == ("failed", 3)


async def test_77_in_the_background_it_answers_at_once_with_job_and_pid(ai: Agent, session: str, gate: Gate) -> None:
    data = await shell(ai, session, f"{gate.wait}; echo $line", background=True)
    assert set(data) == {"jobId", "pid"}
    (row,) = await rows(ai, session)
    assert (row["id"], row["pid"], row["status"]) == (data["jobId"], data["pid"], "running")
    assert row["pid"] > 0
    assert "exitCode" not in row
    gate.open("through")
    result = await ai.data("waitJob", sessionId=session, jobId=data["jobId"])
    assert result["stdout"] == "through\n"
    (row,) = await rows(ai, session)
    assert (row["status"], row["exitCode"], row["pid"]) == ("completed", 0, data["pid"])


async def test_69_numbers_go_up_and_none_is_given_twice_also_to_runs_at_once(ai: Agent, session: str) -> None:
    found: list[str] = []

    async def run() -> None:
        found.append((await shell(ai, session, "true"))["jobId"])

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(run)
    assert sorted(found) == sorted(f"job-{session}-{number}" for number in range(1, 9))
    assert (await shell(ai, session, "true"))["jobId"] == f"job-{session}-9"


async def test_70_71_78_every_run_leaves_a_record_with_its_fields(ai: Agent, session: str) -> None:
    await shell(ai, session, "echo one")
    job = (await shell(ai, session, "exit 7", background=True))["jobId"]
    await ai.ask("waitJob", sessionId=session, jobId=job)
    second, first = await rows(ai, session)
    assert set(first) == {
        *("id", "code", "pid", "status", "exitCode", "stdoutTruncated", "stderrTruncated"),
        *("startedAt", "completedAt", "duration", "background"),
    }
    assert (first["code"], first["background"], first["status"], first["exitCode"]) == (
        "echo one",
        False,
        "completed",
        0,
    )
    assert (second["code"], second["background"], second["status"], second["exitCode"]) == ("exit 7", True, "failed", 7)
    assert first["startedAt"] <= first["completedAt"]
    assert (first["stdoutTruncated"], first["stderrTruncated"]) == (False, False)
    assert first["pid"] > 0
    assert isinstance(first["duration"], int)


async def test_72_a_session_has_its_fields(ai: Agent, tmp_path: Path) -> None:
    started = await ai.data("startSession", id="mine", env={"A": "1"}, vars={"n": [1, {"x": None}]})
    assert started["sessionId"] == started["id"] == "mine"
    run = await shell(ai, "mine", "true")
    (found,) = (await ai.data("listSessions"))["sessions"]
    (row,) = await rows(ai, "mine")
    assert found == {
        "id": "mine",
        "cwd": str(tmp_path),
        "env": {"A": "1"},
        "vars": {"n": [1, {"x": None}]},
        "createdAt": started["createdAt"],
        "lastActivityAt": found["lastActivityAt"],
        "jobs": [run["jobId"]],
        "jobsByPid": {str(row["pid"]): run["jobId"]},
        "jobSequence": 1,
    }


async def test_97_every_run_counts_as_activity(ai: Agent) -> None:
    for name in ("a", "b"):
        await ai.data("startSession", id=name)
    before = {one["id"]: one["lastActivityAt"] for one in (await ai.data("listSessions"))["sessions"]}
    await shell(ai, "a", "true", background=True)
    found = (await ai.data("listSessions"))["sessions"]
    assert [one["id"] for one in found] == ["a", "b"]
    assert found[0]["lastActivityAt"] > before["a"]
    assert found[1]["lastActivityAt"] == before["b"]


async def test_79_folder_environment_and_vars_hold_from_run_to_run(ai: Agent, session: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    code = "session.cwd = 'sub'; session.env['COLOUR'] = 'blue'; session.vars['n'] = 3"
    assert (await ai.data("exec", sessionId=session, code=code))["success"]
    code = "print(session.cwd, session.env['COLOUR'], session.vars.n)"
    assert (await ai.data("exec", sessionId=session, code=code))["stdout"] == f"{tmp_path}/sub blue 3\n"
    assert (await shell(ai, session, "pwd; echo $COLOUR"))["stdout"] == f"{tmp_path}/sub\nblue\n"


async def test_79_the_environment_of_one_call_is_gone_after_it_and_what_the_code_set_stays(
    ai: Agent, session: str
) -> None:
    show = "echo ${ONCE-none} ${KEPT-none} ${OVER-none}"
    await ai.data("updateSession", sessionId=session, env={"OVER": "session"})
    run = await shell(ai, session, f"{show}; export KEPT=yes", env={"ONCE": "now", "OVER": "call"})
    assert run["stdout"] == "now none call\n"
    assert (await shell(ai, session, show))["stdout"] == "none yes session\n"


async def test_80_past_its_timeout_it_is_killed_and_what_it_wrote_is_kept(ai: Agent, session: str) -> None:
    data = await shell(ai, session, "echo begun; echo oops >&2; sleep 1000", timeout=300)
    assert data == {
        "stdout": "begun\n",
        "stderr": "oops\n",
        "code": -1,
        "success": False,
        "error": "Execution timed out after 300ms",
        "jobId": f"job-{session}-1",
    }
    (row,) = await rows(ai, session)
    assert (row["status"], row["exitCode"], row["error"]) == ("failed", -1, "Execution timed out after 300ms")


async def test_80_the_timeout_is_120_s_in_the_foreground_and_none_in_the_background(
    jobs_here: Jobs, ai: Agent, session: str
) -> None:
    limits: list[float | None] = []
    for options in ({}, {"timeout": 5000}, {"background": True}, {"background": True, "timeout": 5000}):
        job = await jobs_here.get((await shell(ai, session, "true", **options))["jobId"])
        limit = job.spec.limits.timeout
        limits.append(None if limit is None else limit.total_seconds())
    assert limits == [120, 5, None, 5]


async def test_81_without_a_session_nothing_is_kept_and_no_result_is_lost(
    ai: Agent, tmp_path: Path, gate: Gate
) -> None:
    data = await ai.data("exec", code="session.vars['n'] = 1; print(session.cwd)")
    assert data["stdout"] == f"{tmp_path}\n"
    assert (await ai.data("exec", code="print(dict(session.vars))"))["stdout"] == "{}\n"
    started = await ai.data("exec", code=f"{gate.wait}; echo kept", language="shell", background=True)
    assert set(started) == {"jobId", "pid"}
    assert (await ai.data("listSessions"))["sessions"] == []
    gate.open()
    assert (await ai.data("waitJob", jobId=started["jobId"]))["stdout"] == "kept\n"
    assert (await ai.data("listJobs"))["jobs"][0]["id"] == started["jobId"]


async def test_81_a_session_that_is_not_there_is_opened_and_named_if_asked(ai: Agent) -> None:
    named = await ai.data("exec", code="session.vars['n'] = 1", sessionId="new", create=True)
    assert named["sessionId"] == "new"
    again = await ai.data("exec", code="print(session.vars.n)", sessionId="new", create=True)
    assert (again["stdout"], again["jobId"]) == ("1\n", "job-new-2")
    unnamed = await ai.data("exec", code="true", language="shell", create=True, background=True)
    assert unnamed["jobId"] == f"job-{unnamed['sessionId']}-1"
    opened = {one["id"] for one in (await ai.data("listSessions"))["sessions"]}
    assert opened == {"new", unnamed["sessionId"]}


async def test_82_83_the_seeds_examples_run_as_written_and_each_command_is_a_job(home: Path, tmp_path: Path) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\necho built by $*\n")
    (tmp_path / "npm").chmod(0o755)
    async with homes.remote(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        session = (await ai.data("startSession", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}))["sessionId"]
        data = await ai.data("exec", code="await cmd('ls', ['-la']).exec()", sessionId=session)
        assert (data["stdout"], data["stderr"], data["success"]) == ("", "", True)
        child, parent = await rows(ai, session)
        assert (parent["id"], parent["code"]) == (data["jobId"], "await cmd('ls', ['-la']).exec()")
        assert (child["code"], child["background"], child["status"]) == ("ls -la", False, "completed")
        assert (child["parentId"], child["id"]) == (parent["id"], f"job-{session}-2")
        assert child["pid"] not in (0, parent["pid"])
        assert "npm" in (await ai.data("getJobOutput", sessionId=session, jobId=child["id"]))["stdout"]
        code = "await cmd('npm', ['run', 'build']).exec()"
        started = await ai.data("exec", code=code, sessionId=session, background=True)
        result = await ai.data("waitJob", sessionId=session, jobId=started["jobId"], timeout=60000)
        assert result["success"]
        child = (await rows(ai, session))[0]
        assert child["code"] == "npm run build"
        found = await ai.data("getJobOutput", sessionId=session, jobId=child["id"])
        assert (found["stdout"], found["status"]) == ("built by run build\n", "completed")
        # Checklist 74: what could not be started has failed, and is over.
        await ai.data("exec", code="await cmd('no-such-program').exec()", sessionId=session)
        (child,) = await rows(ai, session, status="failed")
        assert (child["code"], child["exitCode"]) == ("no-such-program", -1)
        assert "completedAt" in child
        assert "could not start" in child["error"]


async def test_91_what_is_not_there_is_said_by_name(ai: Agent, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "REGISTER_SECONDS", 0.05)
    job = (await shell(ai, session, "true"))["jobId"]
    other = (await ai.data("startSession"))["sessionId"]
    missing = "Session not found: gone; listSessions shows yours, startSession opens one"
    for tool, more in (
        ("exec", {"code": "1"}),
        ("listJobs", {}),
        ("getJobOutput", {"jobId": job}),
        ("killJob", {"jobId": job}),
        ("waitJob", {"jobId": job}),
        ("updateSession", {}),
        ("endSession", {}),
    ):
        assert await ai.refusal(tool, sessionId="gone", **more) == ("session_not_found", missing)
    for tool in ("getJobOutput", "killJob", "waitJob"):
        for ref in (job, "nothing", 1):
            code, sentence = await ai.refusal(tool, sessionId=other, jobId=ref)
            assert code == "job_not_found"
            assert sentence == f"Job not found: {ref} in session {other}; listJobs shows which there are"


async def test_96_a_session_is_updated(ai: Agent, session: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    await ai.data("updateSession", sessionId=session, env={"A": "1", "B": "2"}, vars={"n": 1, "m": 2})
    found = await ai.data("updateSession", sessionId=session, cwd="sub", env={"A": "3"}, unset=["B"], drop=["m"])
    assert (found["cwd"], found["env"], found["vars"]) == (f"{tmp_path}/sub", {"A": "3"}, {"n": 1})
    code = "print(session.cwd, session.env.get('A'), session.env.get('B'), dict(session.vars))"
    assert (await ai.data("exec", sessionId=session, code=code))["stdout"] == f"{tmp_path}/sub 3 None {{'n': 1}}\n"


async def test_96_ending_a_session_kills_what_runs_and_removes_its_jobs(ai: Agent, session: str) -> None:
    done = (await shell(ai, session, "true"))["jobId"]
    running = (await shell(ai, session, "sleep 1000", background=True))["jobId"]
    ended = await ai.data("endSession", sessionId=session)
    assert ended == {"sessionId": session, "killed": [running], "removed": 2}
    assert (await ai.data("listSessions"))["sessions"] == []
    code, sentence = await ai.refusal("listJobs", sessionId=session)
    assert (code, "it ended at" in sentence) == ("session_not_found", True)
    for job in (done, running):
        assert (await ai.refusal("getJobOutput", sessionId=session, jobId=job))[0] == "job_forgotten"


async def test_a_session_is_its_owners_alone(jobs_here: Jobs, tmp_path: Path) -> None:
    async with (
        agent(jobs_here, tmp_path, owner="ann", tools=(TOOLSET,)) as ann,
        agent(jobs_here, tmp_path, owner="ben", tools=(TOOLSET,)) as ben,
    ):
        session = (await ann.data("startSession", id="hers"))["sessionId"]
        assert (await ben.data("listSessions"))["sessions"] == []
        for tool, more in (
            ("updateSession", {"cwd": "/"}),
            ("listJobs", {}),
            ("exec", {"code": "true", "language": "shell"}),
            ("endSession", {}),
        ):
            answer = await ben.ask(tool, sessionId=session, **more)
            assert answer.is_error, tool
        assert [one["id"] for one in (await ann.data("listSessions"))["sessions"]] == [session]


async def test_079_what_starts_the_interpreter_changes_nothing_of_the_session(ai: Agent, tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(
        f'#!/bin/sh\nexport SHIM_VERSION=3 PATH="/opt/shim:$PATH"\nunset GONE\nexec {sys.executable} "$@"\n'
    )
    shim.chmod(0o755)
    env = {"PATH": f"{shim.parent}:/usr/bin:/bin", "GONE": "not"}
    session = (await ai.data("startSession", env=env))["sessionId"]
    data = await ai.data("exec", sessionId=session, code="import os; print(os.environ['SHIM_VERSION'])")
    assert data["stdout"] == "3\n"
    (found,) = (await ai.data("listSessions"))["sessions"]
    assert (found["env"], found.get("unset")) == (env, None)
    code = "session.env['PATH'] += ':/mine'; session.env['NEW'] = '1'; del session.env['SHIM_VERSION']"
    await ai.data("exec", sessionId=session, code=code)
    (found,) = (await ai.data("listSessions"))["sessions"]
    assert found["env"] == {**env, "PATH": f"/opt/shim:{env['PATH']}:/mine", "NEW": "1"}
