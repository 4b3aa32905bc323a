"""The toolset `sessions` beside others: a client's patience, other vocabularies, other callers."""

from pathlib import Path

import anyio
from tests.mcpserver.clients import Agent, agent
from tests.mcpserver.sessioncalls import rows, shell
from tests.support.gates import Gate

from bide.api import Filter, Jobs
from bide.mcpserver.server import Door

TOOLSET = "sessions"


async def test_past_the_clients_patience_exec_answers_with_the_job_which_goes_on(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("sessions",), patience=0.3) as ai:
        session = (await ai.data("startSession"))["sessionId"]
        data = await shell(ai, session, f"{gate.wait}; cd /; echo late", timeout=60_000)
        assert data["jobId"] == f"job-{session}-1"
        assert data["pid"] > 0
        assert "stdout" not in data
        arguments = {"sessionId": session, "jobId": data["jobId"]}
        assert data["note"].startswith("Still running.")
        assert "timeout of 60000ms" in data["note"]
        assert data["next"] == {"tool": "waitJob", "arguments": arguments}
        again = await ai.data("waitJob", **arguments)
        assert (again["status"], again["next"]) == ("running", data["next"])
        gate.open()
        while (result := await ai.data("waitJob", **arguments)).get("status") == "running":
            pass
        assert (result["stdout"], result["success"]) == ("late\n", True)
        # It was a run in the foreground all the time: what it left holds.
        assert (await shell(ai, session, "pwd"))["stdout"] == "/\n"


async def test_a_cancelled_call_leaves_its_job_alone(ai: Agent, session: str, gate: Gate) -> None:
    with anyio.move_on_after(0.3):
        await shell(ai, session, gate.wait)
    (row,) = await rows(ai, session)
    assert (row["status"], row["background"]) == ("running", False)
    gate.open()
    assert (await ai.data("waitJob", sessionId=session, jobId=row["id"]))["success"]


async def test_what_was_started_in_another_vocabulary_is_here_in_these_words(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with anyio.create_task_group() as group:
        door = Door(jobs_here, group)
        async with (
            agent(jobs_here, tmp_path, door=door, owner="one", tools=("core",)) as core,
            agent(jobs_here, tmp_path, door=door, owner="one", tools=("sessions",)) as ai,
        ):
            session = (await core.data("session", action="start"))["session"]
            inside = (await core.data("run", command=gate.wait, name="gate", session=session, background=True))["job"]
            outside = (await core.data("run", command="echo plain"))["job"]
            (row,) = await rows(ai, session)
            assert (row["id"], row["name"], row["status"], row["background"]) == (inside, "gate", "running", True)
            gate.open()
            assert (await ai.data("waitJob", sessionId=session, jobId="gate"))["success"]
            assert [row["id"] for row in (await ai.data("listJobs"))["jobs"]] == [outside]
            assert (await ai.data("getJobOutput", jobId=outside))["stdout"] == "plain\n"
            ours = (await ai.data("exec", code="print(1)", sessionId=session))["jobId"]
            assert (await core.data("logs", job=ours))["out"]["text"] == "1\n"


async def test_a_caller_sees_and_touches_only_its_own_sessions_and_jobs(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with (
        agent(jobs_here, tmp_path, tools=("sessions",), owner="alice") as alice,
        agent(jobs_here, tmp_path, tools=("sessions", "core"), owner="bob") as bob,
    ):
        session = (await alice.data("startSession"))["sessionId"]
        job = (await shell(alice, session, gate.wait, background=True))["jobId"]
        (row,) = await rows(alice, session)
        plain = (await alice.data("exec", code="true", language="shell", background=True))["jobId"]
        assert (await bob.data("listSessions"))["sessions"] == []
        assert (await bob.data("listJobs"))["jobs"] == []
        for tool, more in (
            ("exec", {"code": "1"}),
            ("exec", {"code": "1", "create": True}),
            ("listJobs", {}),
            ("updateSession", {"vars": {"n": 1}}),
            ("endSession", {}),
            *((tool, {"jobId": ref}) for tool in ("getJobOutput", "killJob", "waitJob") for ref in (job, row["pid"])),
        ):
            code, _ = await bob.refusal(tool, sessionId=session, **more)
            assert code == ("bad_request" if "create" in more else "session_not_found")
        assert (await bob.refusal("getJobOutput", jobId=plain))[0] == "job_not_found"
        assert (await bob.refusal("run", command="true", session=session))[0] == "session_not_found"
        assert (await jobs_here.list(Filter(owner="bob"))).jobs == ()
        gate.open()
        assert (await alice.data("waitJob", sessionId=session, jobId=job))["success"]
