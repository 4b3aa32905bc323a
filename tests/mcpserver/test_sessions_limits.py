"""The toolset `sessions` alone: what sessions may hold, how many there may be, and what is left after a restart."""

import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.mcpserver.clients import Agent, agent
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import eventually

import bide

SHELL: dict[str, Any] = {"language": "shell"}


def settle(home: Path, *lines: str) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("\n".join(["[sessions]", *lines, ""]))


async def ids(ai: Agent, session: str) -> list[str]:
    return [row["id"] for row in (await ai.data("listJobs", sessionId=session))["jobs"]]


async def test_92_that_a_stream_is_longer_than_what_is_shown_is_logged(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settle(home, "shown_bytes = 10")
    caplog.set_level(logging.INFO, "bide")
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        job = (await ai.data("exec", code="printf 0123456789abc", create=True, **SHELL))["jobId"]
        assert f"{job} wrote 13 and 0 bytes; answers show the last 10 of each" in caplog.text


async def test_93_over_the_limit_the_oldest_that_ended_are_trimmed_and_what_runs_is_not(
    home: Path, tmp_path: Path, gate: Gate
) -> None:
    settle(home, "bytes = 3000", "keep = '0s'")
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        await ai.data("startSession", id="s")
        running = await ai.data(
            "exec", sessionId="s", code=f"head -c 5000 /dev/zero; {gate.wait}", background=True, **SHELL
        )
        assert running["jobId"] == "job-s-1"
        for _ in range(4):
            await ai.data("exec", sessionId="s", code="head -c 1000 /dev/zero", **SHELL)

        async def trimmed() -> bool:
            return await ids(ai, "s") == ["job-s-5", "job-s-4", "job-s-1"]

        await eventually(trimmed)
        code, _ = await ai.refusal("getJobOutput", sessionId="s", jobId="job-s-2")
        assert code == "job_forgotten"
        assert (await ai.data("getJobOutput", sessionId="s", jobId="job-s-1"))["status"] == "running"


async def test_94_what_ended_lately_is_kept_although_it_is_too_much(home: Path, tmp_path: Path) -> None:
    settle(home, "bytes = 1000")
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        await ai.data("startSession", id="s")
        for _ in range(3):
            await ai.data("exec", sessionId="s", code="head -c 1000 /dev/zero", **SHELL)
        assert len(await ids(ai, "s")) == 3
        assert len((await ai.data("getJobOutput", sessionId="s", jobId="job-s-1"))["stdout"]) == 1000


async def test_95_past_the_most_the_least_recently_active_goes_and_none_of_its_jobs_is_lost(
    home: Path, tmp_path: Path, gate: Gate
) -> None:
    settle(home, "most = 2")
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        for name in ("a", "b"):
            await ai.data("startSession", id=name)
            code = f"echo up; {gate.wait}; echo {name}"
            await ai.data("exec", sessionId=name, code=code, background=True, **SHELL)
        await ai.data("exec", sessionId="a", code="true", **SHELL)
        assert (await ai.data("startSession", id="c"))["evicted"] == ["b"]
        code, sentence = await ai.refusal("exec", sessionId="b", code="1")
        assert (code, "it was evicted at" in sentence) == ("session_not_found", True)
        listed = await ai.data("listJobs", sessionId="b")
        assert [row["status"] for row in listed["jobs"]] == ["running"]
        assert listed["note"].startswith("Session b is not open any more; its jobs are kept.")
        for _ in range(2):
            gate.open()
        for name in ("a", "b"):
            result = await ai.data("waitJob", sessionId=name, jobId=f"job-{name}-1")
            assert result["stdout"] == f"up\n{name}\n"


async def test_95_there_may_be_ten(home: Path, tmp_path: Path) -> None:
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        evicted = [(await ai.data("startSession")).get("evicted") for _ in range(11)]
        assert evicted[:10] == [None] * 10
        assert len(evicted[10] or []) == 1
        assert len((await ai.data("listSessions"))["sessions"]) == 10


async def test_98_sessions_and_jobs_are_there_after_a_restart_and_what_died_has_failed(
    home: Path, tmp_path: Path
) -> None:
    async with bide.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        await ai.data("startSession", id="s")
        code = "session.vars['n'] = 3; session.cwd = '/'; session.env['A'] = '1'; print('kept')"
        done = (await ai.data("exec", sessionId="s", code=code))["jobId"]
        running = await ai.data("exec", sessionId="s", code="exec sleep 1000", background=True, **SHELL)
        (before,) = (await ai.data("listSessions"))["sessions"]
    os.kill(running["pid"], signal.SIGKILL)
    async with homes.local(home) as jobs, agent(jobs, tmp_path, tools=("sessions",)) as ai:
        (found,) = (await ai.data("listSessions"))["sessions"]
        assert (found["cwd"], found["env"], found["vars"]) == ("/", {"A": "1"}, {"n": 3})
        same = ("createdAt", "jobs", "jobsByPid", "jobSequence")
        assert {key: found[key] for key in same} == {key: before[key] for key in same}
        assert (await ai.data("getJobOutput", sessionId="s", jobId=done))["stdout"] == "kept\n"
        answer = await ai.ask("waitJob", sessionId="s", jobId=running["jobId"])
        assert answer.structured_content is not None
        assert (answer.structured_content["code"], answer.structured_content["success"]) == (137, False)
        assert (await ai.data("exec", sessionId="s", code="print(session.vars.n)"))["jobId"] == "job-s-3"
