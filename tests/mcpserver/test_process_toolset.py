"""Monitoring, killing, listing and reading with the toolset `process` alone, by the numbers of the checklist."""

import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcpserver.clients import Agent, agent, text_of
from tests.mcpserver.test_process_run import failed, steps
from tests.support.gates import Gate
from tests.support.patience import eventually

from bide.api import Jobs, Killed
from bide.mcpserver.toolsets.process.errors import Failure, error_data
from bide.mcpserver.toolsets.process.manage import outcome
from bide.model.job import Job, JobId, Spec
from bide.model.phase import Descendant, End, Ended, Reason
from bide.model.turn import Turn

TOOLSET = "process"

NOW = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
UNKNOWN = ("nothing", "j0000000000", "job-x-1", "../../etc", "a\nb", "x" * 5000)


async def start(ai: Agent, command: str) -> str:
    data = await ai.data("process.run", command=command, background=True)
    assert data["state"] == "running"
    return data["process_id"]


async def test_165_monitor_has_its_fields_and_the_duration_stands_still_after_the_end(
    ai: Agent, jobs_here: Jobs, gate: Gate
) -> None:
    process = await start(ai, gate.wait)
    first = await ai.data("process.monitor", process_id=process)
    assert set(first) == {
        *("process_id", "command", "state", "exit_code", "duration_ms", "resource_usage", "started_at"),
    }
    assert (first["state"], first["exit_code"], first["command"]) == ("running", None, gate.wait)
    assert datetime.fromisoformat(first["started_at"]).utcoffset() == timedelta(0)
    second = await ai.data("process.monitor", process_id=process)
    assert second["duration_ms"] >= first["duration_ms"]
    gate.open()
    await jobs_here.wait([process])
    over = await ai.data("process.monitor", process_id=process)
    assert (over["state"], over["exit_code"], over["started_at"]) == ("completed", 0, first["started_at"])
    assert (await ai.data("process.monitor", process_id=process))["duration_ms"] == over["duration_ms"]


@pytest.mark.parametrize("tool", ["process.monitor", "process.kill", "process.logs"])
async def test_166_an_unknown_id_is_not_found(ai: Agent, jobs_here: Jobs, tool: str) -> None:
    for id_ in UNKNOWN:
        data = await failed(ai, tool, process_id=id_)
        assert (data["error"]["type"], steps(data)) == ("ProcessNotFound", ["list_processes"])
        assert data["error"]["message"].startswith("No process with the given ID exists or it has been cleaned up.")
    gone = (await ai.data("process.run", command="true"))["process_id"]
    await jobs_here.forget(gone)
    assert "was cleaned up at" in (await failed(ai, tool, process_id=gone))["error"]["message"]


async def test_167_168_a_kill_by_default_terms_and_says_what_it_sent(ai: Agent) -> None:
    tools = {tool.name: tool.input_schema["properties"] for tool in (await ai.client.list_tools()).tools}
    assert tools["process__kill"]["signal"]["default"] == "SIGTERM"
    assert tools["process__kill"]["force_after"]["default"] == 10
    for given, sent in (({}, "SIGTERM"), ({"signal": "SIGKILL"}, "SIGKILL"), ({"signal": "SIGINT"}, "SIGINT")):
        process = await start(ai, "sleep 1000")
        data = await ai.data("process.kill", process_id=process, **given)
        assert data == {"killed": True, "signal_sent": sent, "process_id": process, "state": "killed"}
        found = await ai.data("process.monitor", process_id=process)
        assert (found["state"], found["exit_code"]) == ("killed", None)


async def test_167_171_what_ignores_term_dies_at_force_after_with_its_grandchildren(ai: Agent, tmp_path: Path) -> None:
    deaf = "trap '' TERM; (setsid bash -c 'trap \"\" TERM; sleep 1000' & echo $! > pid); echo up; while :; do sleep 0.05; done"
    process = await start(ai, deaf)
    await eventually((tmp_path / "pid").exists)
    unhurt = await ai.data("process.kill", process_id=process, force_after=0)
    assert (unhurt["killed"], unhurt["signal_sent"], unhurt["state"]) == (False, "SIGTERM", "running")
    assert "signal='SIGKILL'" in unhurt["notes"][0]
    data = await ai.data("process.kill", process_id=process, force_after=1)
    assert data == {"killed": True, "signal_sent": "SIGKILL", "process_id": process, "state": "killed"}
    pid = (tmp_path / "pid").read_text().strip()
    await eventually(lambda: not Path(f"/proc/{pid}").exists())


async def test_167_a_kill_goes_on_when_the_client_can_wait_no_longer(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), patience=0.3) as ai:
        process = await start(ai, "trap '' TERM; touch up; while :; do sleep 0.05; done")
        await eventually((tmp_path / "up").exists)
        data = await ai.data("process.kill", process_id=process, force_after=1)
        assert (data["killed"], data["state"]) == (False, "running")
        assert data["notes"] == ["It has not ended yet; SIGKILL follows 1 s after the SIGTERM."]
        with anyio.fail_after(20):
            await jobs_here.wait([process])
        assert (await ai.data("process.monitor", process_id=process))["state"] == "killed"


async def test_169_a_process_that_is_over_cannot_be_killed(ai: Agent) -> None:
    process = (await ai.data("process.run", command="true"))["process_id"]
    data = await failed(ai, "process.kill", process_id=process)
    assert (data["error"]["type"], steps(data)) == ("ProcessAlreadyExited", ["check_status"])


async def test_169_what_outlived_a_process_is_still_ended(ai: Agent, tmp_path: Path) -> None:
    data = await ai.data("process.run", command="setsid sleep 1000 > /dev/null 2>&1 & echo $! > pid")
    killed = await ai.data("process.kill", process_id=data["process_id"])
    assert (killed["killed"], killed["state"]) == (False, "completed")
    assert killed["notes"] == ["1 processes that outlived it were ended."]
    pid = (tmp_path / "pid").read_text().strip()
    await eventually(lambda: not Path(f"/proc/{pid}").exists())


async def test_167_what_outlives_a_signal_without_escalation_is_named(ai: Agent, tmp_path: Path) -> None:
    process = await start(ai, "trap 'exit 0' INT; sleep 1000 & echo $! > new; mv new pid; wait")
    await eventually((tmp_path / "pid").exists)
    # It ignores the signal from the moment on at which it is another program.
    name = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/comm")
    await eventually(lambda: name.read_text() == "sleep\n")
    data = await ai.data("process.kill", process_id=process, signal="SIGINT")
    assert (data["killed"], data["signal_sent"], data["state"]) == (True, "SIGINT", "killed")
    assert "(sleep)" in data["notes"][0]
    again = await ai.data("process.kill", process_id=process, signal="SIGKILL")
    assert again["notes"] == ["1 processes that outlived it were ended."]


def ended(reason: Reason, **more: Any) -> Job:
    phase = Ended(NOW, End(reason, **more), NOW)
    return Job(JobId("j0000000000"), Spec(("x",), "x", "/"), NOW, phase=phase)


@pytest.mark.parametrize(
    ("job", "already", "killed", "sent", "state"),
    [
        (ended(Reason.KILLED, signal=15), False, True, "SIGTERM", "killed"),
        (ended(Reason.KILLED, signal=9), False, True, "SIGKILL", "killed"),
        (ended(Reason.EXITED, exit_code=0), False, False, "SIGTERM", "completed"),
        (ended(Reason.EXITED, exit_code=0), True, False, "SIGTERM", "completed"),
        (ended(Reason.SIGNALED, signal=9), False, False, "SIGTERM", "completed"),
        (ended(Reason.TIMED_OUT, signal=9), False, False, "SIGTERM", "timed_out"),
    ],
)
def test_168_169_who_was_first_decides_what_became_of_it(
    job: Job, *, already: bool, killed: bool, sent: str, state: str
) -> None:
    found = outcome(Killed(job, already_ended=already), "SIGTERM", 10)
    assert (found["killed"], found["signal_sent"], found["state"]) == (killed, sent, state)


@pytest.mark.parametrize(("signal", "after"), [("SIGKILL", 0), ("SIGTERM", 10)])
def test_170_what_survives_a_kill_is_a_kill_that_failed(signal: str, after: int) -> None:
    left = Killed(ended(Reason.KILLED, signal=9), verified_empty=False, survivors=(Descendant(7, 1, "deaf"),))
    with pytest.raises(Failure) as caught:
        outcome(left, signal, after)
    data = error_data(caught.value)
    assert (data["type"], [step["action"] for step in data["recovery"]]) == ("KillFailed", ["force_kill"])
    assert data["message"] == "The OS refused to deliver the signal. These are left: 7 (deaf)."


ASK = """
import sys
from datetime import UTC, datetime
from bide.api import Killed
from bide.mcpserver.toolsets.process.errors import Failure
from bide.mcpserver.toolsets.process.manage import outcome
from bide.model.job import Job, JobId, Spec
from bide.model.phase import Running
now = datetime.now(UTC)
job = Job(JobId("j0000000000"), Spec(("x",), "x", "/"), now, phase=Running(now, int(sys.argv[1])))
try:
    print(outcome(Killed(job, verified_empty=False), "SIGTERM", 0))
except Failure as failure:
    print(failure.kind)
"""


def test_170_a_signal_to_another_users_process_is_a_kill_that_failed() -> None:
    other, without = ["sh", "-c", "echo up; exec sleep 60"], list[str]()
    if os.geteuid() == 0:
        other = ["setpriv", "--reuid", "65534", "--clear-groups", *other]
        without = ["setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill", "--"]
    with subprocess.Popen(other, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pid = process.pid if without else 1
        asked = subprocess.run(
            [*without, sys.executable, "-c", ASK, str(pid)], capture_output=True, text=True, check=False
        )
        process.kill()
    assert asked.stdout.strip() == "KillFailed", asked.stderr


async def test_172_a_list_is_newest_first_within_its_limit_and_counts_all(ai: Agent, gate: Gate) -> None:
    ids = [(await ai.data("process.run", command=f"exit {number}"))["process_id"] for number in range(3)]
    running = await start(ai, gate.wait)
    timed_out = (await ai.data("process.run", command="sleep 1000", timeout=1))["process_id"]
    killed = await start(ai, "sleep 1000")
    await ai.data("process.kill", process_id=killed)
    everything = await ai.data("process.list")
    assert [row["process_id"] for row in everything["processes"]] == [killed, timed_out, running, *reversed(ids)]
    assert everything["total"] == 6
    assert set(everything["processes"][0]) == {
        *("process_id", "command", "state", "exit_code", "started_at", "duration_ms", "resource_usage"),
    }
    for state, expected in (("running", [running]), ("killed", [killed]), ("timed_out", [timed_out])):
        found = await ai.data("process.list", state_filter=state)
        assert ([row["process_id"] for row in found["processes"]], found["total"]) == (expected, 1)
    answer = await ai.ask("process.list", state_filter="completed", limit=2)
    assert answer.structured_content is not None
    assert [row["exit_code"] for row in answer.structured_content["processes"]] == [2, 1]
    assert answer.structured_content["total"] == 3
    assert text_of(answer).startswith("total: 3\n")
    assert ids[2] in text_of(answer)
    gate.open()


async def test_174_and_268_only_ones_own_processes_are_seen_or_touched(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with (
        agent(jobs_here, tmp_path, tools=("process",), owner="alice") as alice,
        agent(jobs_here, tmp_path, tools=("process",), owner="bob") as bob,
    ):
        process = await start(alice, gate.wait)
        assert await bob.data("process.list") == {"processes": [], "total": 0}
        for tool in ("process.monitor", "process.kill", "process.logs"):
            assert (await failed(bob, tool, process_id=process))["error"]["type"] == "ProcessNotFound"
        assert (await alice.data("process.monitor", process_id=process))["state"] == "running"
        gate.open()


async def test_175_logs_have_their_fields_and_only_the_stream_asked_for(ai: Agent) -> None:
    process = (await ai.data("process.run", command="printf out; printf error >&2"))["process_id"]
    for stream, out, err in (("both", "out", "error"), ("stdout", "out", ""), ("stderr", "", "error")):
        data = await ai.data("process.logs", process_id=process, stream=stream)
        assert (data["stdout"], data["stderr"]) == (out, err)
        assert (data["stdout_size"], data["stderr_size"], data["truncated"]) == (3, 5, False)
        assert (data["process_id"], data["state"]) == (process, "completed")


async def test_176_paging_while_it_runs_gives_every_byte_once(ai: Agent, gate: Gate) -> None:
    text = "".join(f"Zeile {number} für 漢字 🙂\n" for number in range(60))
    command = f"cat text; {gate.wait}; cat text"
    (await ai.data("process.run", command="cat > text", stdin=text))
    process = await start(ai, command)
    found, offset, opened = "", 0, False
    while True:
        data = await ai.data("process.logs", process_id=process, stream="stdout", offset=offset, limit=97)
        assert len(data["stdout"].encode()) <= 97
        assert data["truncated"] == (data["stdout_size"] - offset > 97)
        found += data["stdout"]
        offset = data["next_offset"]
        assert offset == data["stdout_next_offset"]
        if offset == len(text.encode()) and not opened:
            opened = True
            gate.open()
        if data["state"] == "completed" and offset == data["stdout_size"]:
            break
    assert found == text + text


async def test_176_both_streams_are_paged_by_their_own_offsets(ai: Agent, jobs_here: Jobs, gate: Gate) -> None:
    process = await start(ai, f"printf 12345; {gate.wait}; printf 678 >&2; printf 90")
    await jobs_here.wait([process], timeout=timedelta(seconds=0.05))
    while (first := await ai.data("process.logs", process_id=process))["stdout"] != "12345":
        pass
    # What comes on stderr would be missed by going on at 5 in both.
    assert (first["next_offset"], first["stdout_next_offset"], first["stderr_next_offset"]) == (None, 5, 0)
    gate.open()
    await jobs_here.wait([process])
    rest = await ai.data("process.logs", process_id=process, stdout_offset=5, stderr_offset=0)
    assert (rest["stdout"], rest["stderr"], rest["next_offset"]) == ("90", "678", 7)
    page = await ai.data("process.logs", process_id=process, offset=2, limit=2)
    assert (page["stdout"], page["stderr"], page["truncated"], page["next_offset"]) == ("34", "8", True, 4)


async def test_177_all_output_is_given_up_to_a_mebibyte_a_stream(ai: Agent) -> None:
    process = (await ai.data("process.run", command="yes 0123456 | head -c 2000000"))["process_id"]
    first = await ai.data("process.logs", process_id=process)
    assert (len(first["stdout"]), first["truncated"], first["next_offset"]) == (2**20, True, 2**20)
    (note,) = first["notes"]
    assert note.startswith("Bytes 1048576 to 2000000 of stdout are left out; the next: process__logs ")
    rest = await ai.data("process.logs", process_id=process, offset=first["next_offset"])
    assert (len(rest["stdout"]), rest["truncated"]) == (2000000 - 2**20, False)


async def test_178_an_offset_beyond_the_end_is_empty_and_characters_are_never_split(ai: Agent) -> None:
    process = (await ai.data("process.run", command="printf 'a漢b\\377'"))["process_id"]
    beyond = await ai.data("process.logs", process_id=process, offset=2**50)
    assert (beyond["stdout"], beyond["truncated"], beyond["next_offset"]) == ("", False, 6)
    found: list[str] = []
    offset = 0
    while offset < 6:
        data = await ai.data("process.logs", process_id=process, offset=offset, limit=1)
        found.append(data["stdout"])
        offset = data["next_offset"]
    assert found == ["a", "漢", "b", "\ufffd"]


async def test_182_agent_session_says_where_the_agent_may_work(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), owner="alice") as ai:
        await ai.data("process.run", command="true")
        data = await ai.data("agent.session")
    assert (data["agent"], data["workspace_path"]) == ("alice", str(tmp_path))
    assert data["accessible_directories"] == [str(tmp_path)]
    assert data["allocation"] == {"cpu_limit": 0.5, "memory_limit": 512 * 2**20, "max_pids": 100}
    assert (data["invocation_count"], data["processes"]) == (2, {"started": 1, "running": 0})
    assert data["resource_usage"]["memory_peak_bytes"] > 0
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(data["connected_at"])).total_seconds()) < 30


async def test_165_monitor_can_wait_for_the_end(ai: Agent, gate: Gate) -> None:
    process = await start(ai, gate.wait)
    answers: list[dict[str, Any]] = []
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            answers.append(await ai.data("process.monitor", process_id=process, wait=20))

        group.start_soon(wait)
        await ai.data("process.list")
        gate.open()
    assert [(found["state"], found["exit_code"]) for found in answers] == [("completed", 0)]
    assert (await ai.data("process.monitor", process_id=process, wait=3600))["state"] == "completed"


async def test_165_a_wait_that_a_client_cannot_stand_is_shorter_and_says_so(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process",), patience=0.3) as ai:
        process = await start(ai, gate.wait)
        found = await ai.data("process__monitor", process_id=process, wait=1)
        assert found["notes"] == ["One call can wait 0.3 s at most, and it still runs. Make the same call again."]
        gate.open()


async def test_usage_that_is_not_known_is_null(jobs_here: Jobs, tmp_path: Path) -> None:
    async with agent(jobs_here, tmp_path, tools=("process", "core"), owner="alice") as ai:
        turn = Turn(at=datetime.now().astimezone() + timedelta(hours=1))
        job = (await jobs_here.run("true", owner="alice", background=True, turn=turn)).job.id
        for data in (await ai.data("process.monitor", process_id=job), await ai.data("agent.session")):
            assert set(data["resource_usage"].values()) == {None}
        await ai.data("kill", jobs=[job])


async def test_269_a_job_of_another_vocabulary_is_seen_in_the_words_of_this_one(
    jobs_here: Jobs, tmp_path: Path, gate: Gate
) -> None:
    async with agent(jobs_here, tmp_path, tools=("process", "core"), owner="alice") as ai:
        other = (await ai.data("run", command=f"echo hi; {gate.wait}; exit 4", background=True, name="other"))["job"]
        found = await ai.data("process.monitor", process_id="other")
        assert (found["process_id"], found["state"]) == (other, "running")
        gate.open()
        await ai.data("await", jobs=[other])
        (row,) = (await ai.data("process.list"))["processes"]
        assert (row["process_id"], row["state"], row["exit_code"]) == (other, "completed", 4)
        assert (await ai.data("process.logs", process_id=other))["stdout"] == "hi\n"
        mine = await start(ai, "sleep 1000")
        with anyio.fail_after(20):
            await ai.data("kill", jobs=[mine])
        assert (await ai.data("process.monitor", process_id=mine))["state"] == "killed"
