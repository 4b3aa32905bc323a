"""The toolset `sessions` alone, by the numbers of the checklist: `listJobs`, `getJobOutput`, `killJob` and `waitJob`."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.sessioncalls import begin, over
from tests.support.gates import Gate

from bide.api import Jobs
from bide.mcpserver import scope
from bide.settings import SessionSettings, Settings

TOOLSET = "sessions"


@pytest.fixture
async def small(jobs_here: Jobs, tmp_path: Path) -> AsyncIterator[Agent]:
    """A client that is shown at most ten bytes of a stream at once."""
    settings = Settings(sessions=SessionSettings(shown_bytes=10))
    async with agent(jobs_here, tmp_path, tools=("sessions",), settings=settings) as one:
        yield one


# listJobs


async def test_84_jobs_are_listed_newest_first_and_limited_after_they_were_chosen(ai: Agent, gate: Gate) -> None:
    session = (await ai.data("startSession"))["sessionId"]
    for code in ("exit 0", "exit 1", "exit 0", "exit 2"):
        await ai.ask("exec", sessionId=session, code=code, language="shell")
    for code in ("exit 0", gate.wait):
        await ai.ask("exec", sessionId=session, code=code, language="shell", background=True)
    await over(ai, {"sessionId": session, "jobId": f"job-{session}-5"})

    async def numbers(**wanted: object) -> list[int]:
        data = await ai.data("listJobs", sessionId=session, filter=wanted)
        assert ("note" in data) is ("limit" in wanted and wanted["limit"] == len(data["jobs"]))
        return [int(row["id"].rpartition("-")[2]) for row in data["jobs"]]

    assert await numbers() == [6, 5, 4, 3, 2, 1]
    assert await numbers(status="running") == [6]
    assert await numbers(status="completed") == [5, 3, 1]
    assert await numbers(status="failed") == [4, 2]
    assert await numbers(background=True) == [6, 5]
    assert await numbers(status="completed", background=False) == [3, 1]
    assert await numbers(status="completed", limit=2) == [5, 3]
    assert await numbers(status="failed", background=False, limit=1) == [4]
    gate.open()


async def test_85_long_code_is_listed_by_its_beginning(ai: Agent) -> None:
    session = (await ai.data("startSession"))["sessionId"]
    for length in (100, 101):
        await ai.data("exec", sessionId=session, code="#" * length)
    rows = (await ai.data("listJobs", sessionId=session))["jobs"]
    assert [row["code"] for row in rows] == ["#" * 100 + "...", "#" * 100]


async def test_73_a_job_is_found_by_its_pid_also_after_its_end(ai: Agent, gate: Gate) -> None:
    job = await begin(ai, f"echo $$; {gate.wait}")
    (row,) = (await ai.data("listJobs", sessionId=job["sessionId"]))["jobs"]
    by_pid = {**job, "jobId": row["pid"]}
    assert (await ai.data("getJobOutput", **by_pid))["status"] == "running"
    # Models write numbers as text.
    assert (await ai.data("getJobOutput", **{**by_pid, "jobId": str(row["pid"])}))["status"] == "running"
    gate.open()
    assert (await ai.data("waitJob", **by_pid))["stdout"] == f"{row['pid']}\n"
    assert (await ai.data("getJobOutput", **by_pid))["status"] == "completed"
    assert (await ai.refusal("getJobOutput", jobId=row["pid"]))[0] == "bad_request"


# getJobOutput


async def test_86_output_is_read_whole_and_then_only_what_is_newer(ai: Agent, gate: Gate) -> None:
    job = await begin(ai, f"echo one; echo two >&2; {gate.wait}; echo three >&2; {gate.wait}; echo four; exit 5")
    while (first := await ai.data("getJobOutput", **job))["offset"] < 8:
        pass
    assert first == {
        "stdout": "one\n",
        "stderr": "two\n",
        "offset": 8,
        "offsets": {"stdout": 4, "stderr": 4},
        "status": "running",
        "exitCode": None,
        "truncated": {"stdout": False, "stderr": False},
    }
    assert (await ai.data("getJobOutput", **job, since=8))["offset"] == 8
    gate.open()
    while (second := await ai.data("getJobOutput", **job, since=8))["offset"] < 14:
        pass
    assert (second["stdout"], second["stderr"], second["offsets"]) == ("", "three\n", {"stdout": 4, "stderr": 10})
    gate.open()
    await over(ai, job)
    third = await ai.data("getJobOutput", **job, since=14)
    assert (third["stdout"], third["stderr"], third["offset"]) == ("four\n", "", 19)
    assert (third["status"], third["exitCode"]) == ("failed", 5)
    beside = await ai.data("getJobOutput", **job, offsets={"stdout": 4, "stderr": 4})
    assert (beside["stdout"], beside["stderr"], beside["offset"]) == ("four\n", "three\n", 19)


async def test_86_an_offset_of_ones_own_counts_bytes_where_there_is_one_stream(ai: Agent) -> None:
    job = await begin(ai, "printf 0123456789")
    await over(ai, job)
    for since, text in ((0, "0123456789"), (4, "456789"), (10, ""), (99, "")):
        data = await ai.data("getJobOutput", **job, since=since)
        assert (data["stdout"], data["offset"], "note" in data) == (text, 10, False)


async def test_87_an_offset_that_is_not_known_leaves_nothing_out_and_says_so(ai: Agent) -> None:
    job = await begin(ai, "printf 01234; printf abcde >&2")
    await over(ai, job)
    data = await ai.data("getJobOutput", **job, since=7)
    assert (data["stdout"], data["stderr"], data["offset"]) == ("234", "cde", 10)
    assert "may not be new" in data["note"]


async def test_87_pieces_join_to_the_whole_of_each_stream_and_cut_no_character(small: Agent, gate: Gate) -> None:
    out, err = "aé€😀" * 7, "😀€éb" * 5
    script = f"printf %s '{out[:9]}'; printf %s '{err[:9]}' >&2; {gate.wait}; printf %s '{out[9:]}'; printf %s '{err[9:]}' >&2"
    job = await begin(small, script)
    texts, since, opened = {"stdout": "", "stderr": ""}, 0, False
    while True:
        data = await small.data("getJobOutput", **job, since=since)
        for word in texts:
            assert len(data[word].encode()) <= 10
            assert "\N{REPLACEMENT CHARACTER}" not in data[word]
            texts[word] += data[word]
        assert data["truncated"] == {"stdout": False, "stderr": False}
        if data["status"] != "running" and data["offset"] == since:
            break
        if data["offset"] == since and not opened:
            assert texts["stdout"] in out
            gate.open()
            opened = True
        since = data["offset"]
    assert texts == {"stdout": out, "stderr": err}


async def test_87_half_a_character_waits_for_its_other_half(ai: Agent, gate: Gate) -> None:
    job = await begin(ai, rf"printf 'a\303'; {gate.wait}; printf '\251b\377'")
    while (first := await ai.data("getJobOutput", **job))["stdout"] != "a":
        pass
    assert first["offset"] == 1
    gate.open()
    await over(ai, job)
    assert (await ai.data("getJobOutput", **job, since=1))["stdout"] == "éb\N{REPLACEMENT CHARACTER}"


async def test_87_92_of_a_long_stream_the_end_is_shown_and_what_is_missing_is_said(small: Agent) -> None:
    job = await begin(small, "printf 0123456789; printf é123456789; printf few >&2")
    await over(small, job)
    data = await small.data("getJobOutput", **job)
    assert (data["stdout"], data["stderr"]) == ("123456789", "few")
    assert data["truncated"] == {"stdout": True, "stderr": False}
    assert data["dropped"] == {"stdout": 12}
    assert data["offsets"] == {"stdout": 21, "stderr": 3}
    (row,) = (await small.data("listJobs", sessionId=job["sessionId"]))["jobs"]
    assert (row["stdoutTruncated"], row["stderrTruncated"]) == (True, False)
    first = await small.data("getJobOutput", **job, since=0)
    assert (first["stdout"], first["left"]) == ("0123456789", {"stdout": 11})


async def test_92_a_mebibyte_of_each_stream_is_shown_and_its_last_bytes_are_intact(ai: Agent) -> None:
    code = "head -c 1048600 /dev/zero | tr '\\0' x; printf 'the end'"
    data = await ai.data("exec", code=code, language="shell")
    assert len(data["stdout"]) == 1024 * 1024
    assert data["stdout"].endswith("xxthe end")
    assert data["truncated"] == {"stdout": True, "stderr": False}
    again = await ai.data("getJobOutput", jobId=data["jobId"], since=0)
    assert (again["left"], again["offset"]) == ({"stdout": 31}, 1024 * 1024)


# killJob


async def test_88_a_killed_job_has_failed_with_no_exit_code_of_its_own(ai: Agent) -> None:
    job = await begin(ai, "echo up; sleep 1000")
    data = await ai.data("killJob", **job)
    assert data == {"jobId": job["jobId"], "signal": "SIGTERM", "status": "failed", "exitCode": -1}
    assert (await over(ai, job))["code"] == -1


@pytest.mark.parametrize("name", ["SIGINT", "INT", "sigusr1", "9"])
async def test_88_the_signal_is_the_callers(ai: Agent, name: str) -> None:
    job = await begin(
        ai, "trap 'echo INT; exit 0' INT; trap 'echo USR1; exit 0' USR1; echo up; while :; do sleep 0.05; done"
    )
    while not (await ai.data("getJobOutput", **job))["stdout"]:
        pass
    data = await ai.data("killJob", **job, signal=name)
    assert (data["status"], data["exitCode"], data["signal"]) == ("failed", -1, name)
    heard = name.upper().removeprefix("SIG").replace("9", "")
    assert (await ai.data("getJobOutput", **job))["stdout"].splitlines() == ["up", *([heard] if heard else [])]


async def test_88_what_does_not_run_is_not_killed_and_an_unknown_signal_is_refused(ai: Agent) -> None:
    for code, status in (("true", "completed"), ("false", "failed")):
        job = await begin(ai, code)
        await over(ai, job)
        answer = await ai.ask("killJob", **job)
        assert answer.is_error
        assert text_of(answer) == f"Job {job['jobId']} is not running (status: {status})"
    job = await begin(ai, "sleep 1000")
    for name in ("SIGNOPE", "", "99", "-9", "²"):
        code, sentence = await ai.refusal("killJob", **job, signal=name)
        assert (code, sentence.startswith(f"there is no signal {name!r}; use SIGTERM")) == ("bad_request", True)
    assert (await ai.data("getJobOutput", **job))["status"] == "running"


async def test_a_signal_from_elsewhere_reads_as_a_shell_would_show_it(ai: Agent) -> None:
    job = await begin(ai, "exec sleep 1000")
    (row,) = (await ai.data("listJobs", sessionId=job["sessionId"]))["jobs"]
    os.kill(row["pid"], signal.SIGUSR1)
    data = await over(ai, job)
    assert (data["code"], data["success"]) == (128 + signal.SIGUSR1, False)
    assert data["error"] == "Execution was ended by SIGUSR1"


async def test_killing_reaches_what_an_ended_job_left_running(ai: Agent) -> None:
    job = await begin(ai, "sleep 1000 & echo done")
    assert (await over(ai, job))["success"]
    data = await ai.data("killJob", **job)
    assert (data["status"], data["exitCode"]) == ("completed", 0)
    assert "had ended" in data["note"]
    assert (await ai.ask("killJob", **job)).is_error


# waitJob


async def test_89_a_wait_answers_with_the_result(ai: Agent, gate: Gate) -> None:
    job = await begin(ai, f"echo out; echo err >&2; {gate.wait}; exit 4")
    answers: list[Any] = []

    async def wait() -> None:
        answers.append(await ai.ask("waitJob", **job))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        gate.open()
    (answer,) = answers
    data = answer.structured_content
    assert answer.is_error
    assert set(data) == {"stdout", "stderr", "code", "success", "duration"}
    assert (data["stdout"], data["stderr"], data["code"], data["success"]) == ("out\n", "err\n", 4, False)
    assert isinstance(data["duration"], int)
    with anyio.fail_after(20):
        assert await over(ai, job) == data


async def test_89_past_its_timeout_a_wait_is_an_error_and_the_job_goes_on(ai: Agent, gate: Gate) -> None:
    job = await begin(ai, gate.wait)
    for timeout in (0, 50):
        answer = await ai.ask("waitJob", **job, timeout=timeout)
        assert answer.is_error
        assert text_of(answer).startswith(f"Timeout waiting for job {job['jobId']}; it goes on")
        assert answer.structured_content is not None
        assert (answer.structured_content["error"]["code"], answer.structured_content["status"]) == (
            "timeout",
            "running",
        )
    gate.open()
    assert (await over(ai, job))["success"]


async def test_a_wait_in_the_same_batch_as_its_run_finds_the_job(ai: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "REGISTER_SECONDS", 20.0)
    session = (await ai.data("startSession"))["sessionId"]
    async with anyio.create_task_group() as group:
        group.start_soon(over, ai, {"sessionId": session, "jobId": f"job-{session}-1"})
        await anyio.sleep(0.05)
        await ai.data("exec", sessionId=session, code="true", language="shell", background=True)
