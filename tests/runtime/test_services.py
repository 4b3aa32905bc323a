"""Services: ready, restarted, stopped. Checklist 68."""

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended, eventually
from tests.support.servers import free_port, server

from bide import Filter, Job, Mode, Reason, Restart, Running, Service, Until
from bide.api import Jobs, Ran
from bide.model.errors import BadRequest, NameInUse

SOON = timedelta(milliseconds=300)


def is_ready(job: Job) -> bool | None:
    return None if job.facts is None else job.facts.ready


async def start(jobs: Jobs, command: str | list[str], **service: Any) -> Ran:
    return await jobs.run(command, name="web", service=Service(**service))


async def runs(jobs: Jobs, name: str = "web") -> list[Job]:
    """Every run of a service, the first one first."""
    return list(reversed((await jobs.list(Filter(name=name))).jobs))


async def run_number(jobs: Jobs, number: int) -> Job:
    """The run of this number, once it runs or is over."""

    async def there() -> bool:
        found = await runs(jobs)
        return len(found) > number and found[number].phase_name != "queued"

    await eventually(there)
    return (await runs(jobs))[number]


@pytest.mark.parametrize("how", ["log", "port", "http", "command", "nothing"])
async def test_68_a_run_in_the_foreground_answers_when_the_service_is_ready(
    jobs: Jobs, gate: Gate, tmp_path: Path, how: str
) -> None:
    port, flag = free_port(), tmp_path / "flag"
    program = f"{gate.wait}; touch '{flag}'; exec {server(port)[0]} -c \"$SERVER\" {port}"
    conditions = {
        "log": Service(ready=Until(log="^listen.*g$")),
        "port": Service(ready=Until(port=port)),
        "http": Service(ready=Until(http=f"http://127.0.0.1:{port}/")),
        "command": Service(ready_command="test -e flag"),
        "nothing": Service(),
    }
    gate.open()
    ran = await jobs.run(
        program, name="web", service=conditions[how], env={"SERVER": server(port)[2]}, cwd=str(tmp_path)
    )
    assert not ran.deferred
    assert ran.job.phase_name == "running"
    assert ran.job.spec.kind == "service"
    assert ran.job.facts is not None
    assert ran.job.facts.ready
    assert ran.job.facts.ready_at is not None


async def test_a_service_that_is_not_ready_in_time_goes_on_and_the_answer_says_so(jobs: Jobs, gate: Gate) -> None:
    ran = await start(
        jobs, f"echo warming up; {gate.wait}; echo ready; sleep 100", ready=Until(log="^ready"), ready_timeout=SOON
    )
    assert ran.deferred
    assert ran.job.phase_name == "running"
    assert is_ready(ran.job) is False
    assert ran.out is not None
    assert ran.out.data == b"warming up\n"
    gate.open()
    waited = await jobs.wait(["web"], until=Until(ready=True), timeout=LONG)
    assert waited.met == "ready"
    assert is_ready(waited.jobs[0])


async def test_in_the_background_the_answer_comes_as_soon_as_it_runs(jobs: Jobs) -> None:
    service = Service(ready=Until(log="never"))
    ran = await jobs.run("sleep 100", name="web", service=service, background=True)
    assert ran.job.phase_name == "running"
    assert is_ready(await jobs.get("web")) is False


async def test_a_service_that_ends_before_it_is_ready_is_told_with_its_end(jobs: Jobs) -> None:
    ran = await start(jobs, "echo cannot >&2; exit 3", ready=Until(log="ready"))
    assert not ran.deferred
    assert ended(ran.job).end.exit_code == 3
    assert ran.err is not None
    assert ran.err.data == b"cannot\n"


async def test_what_tries_whether_a_service_is_ready_ends_with_it(jobs: Jobs) -> None:
    await jobs.run("sleep 100", name="web", service=Service(ready_command="exit 1"), background=True)

    async def probes() -> list[Job]:
        return list((await jobs.list(Filter(label="ready of web"))).jobs)

    async def running() -> bool:
        return [probe.phase_name for probe in await probes()] == ["running"]

    await eventually(running)
    assert [probe.spec.command for probe in await probes()] == ["exit 1"]
    await jobs.kill("web")

    async def over() -> bool:
        return [probe.phase_name for probe in await probes()] == ["ended"]

    await eventually(over)


async def test_a_failed_service_comes_back_as_a_new_job_of_the_same_name(jobs: Jobs, tmp_path: Path) -> None:
    script = 'echo "run in $PWD with $WORD" ; echo . >> runs ; test $(wc -l < runs) = 3 && exec sleep 100; exit 7'
    service = Service(restart=Restart.ON_FAILURE)
    options: dict[str, Any] = {"cwd": str(tmp_path), "env": {"WORD": "käse"}}
    await jobs.run(script, name="web", service=service, background=True, label="mine", **options)

    third = await run_number(jobs, 2)

    assert isinstance(third.phase, Running)
    first, second, third = [await jobs.get(job.id) for job in await runs(jobs)]
    assert [ended(job).end.exit_code for job in (first, second)] == [7, 7]
    assert first.facts is not None
    assert second.facts is not None
    assert (first.facts.successor, second.facts.successor) == (second.id, third.id)
    assert [job.spec.service and job.spec.service.run for job in (first, second, third)] == [0, 1, 2]
    assert {(job.label, job.spec.cwd, job.spec.command) for job in (first, second, third)} == {
        ("mine", str(tmp_path), script)
    }
    assert (await jobs.read("web")).data == f"run in {tmp_path} with käse\n".encode()
    assert isinstance(third.phase, Running)
    assert third.created_at - ended(second).ended_at < timedelta(seconds=1)
    assert third.phase.started_at - ended(second).ended_at >= timedelta(seconds=1)


@pytest.mark.parametrize(
    ("policy", "code", "comes_back"),
    [("no", 1, False), ("on-failure", 0, False), ("on-failure", 1, True), ("always", 0, True)],
)
async def test_68_the_policy_says_who_comes_back(jobs: Jobs, policy: str, code: int, *, comes_back: bool) -> None:
    await start(jobs, f"exit {code}", restart=Restart(policy), ready=Until(log="x"))
    assert len(await runs(jobs)) == (2 if comes_back else 1)
    if comes_back:
        await jobs.kill("web")


async def test_a_service_that_keeps_failing_is_given_up(jobs: Jobs) -> None:
    await start(jobs, "exit 1", restart=Restart.ALWAYS, restarts=1, ready=Until(log="never"))
    second = await run_number(jobs, 1)
    await end_of(jobs, second.id)

    last = await jobs.get("web")

    assert last.id == second.id
    assert last.facts is not None
    assert last.facts.successor is None
    assert "started again 1 times in a row" in last.facts.gave_up


async def test_a_kill_stops_a_service_for_good(jobs: Jobs) -> None:
    await start(
        jobs, "trap 'exit 1' TERM; echo up; while :; do sleep 0.05; done", restart=Restart.ALWAYS, ready=Until(log="up")
    )
    killed = await jobs.kill("web")
    assert killed.verified_empty
    assert ended(killed.job).end.reason is Reason.KILLED
    assert len(await runs(jobs)) == 1
    assert (await jobs.get("web")).facts is not None


async def test_a_kill_of_the_name_ends_a_restart_that_waits(jobs: Jobs) -> None:
    await start(jobs, "exit 1", restart=Restart.ALWAYS, ready=Until(log="never"), tries=6)
    waiting = (await runs(jobs))[1]
    assert waiting.phase_name == "queued"

    killed = await jobs.kill("web", by="me")

    assert killed.job.id == waiting.id
    end = ended(killed.job)
    assert (end.end.reason, end.end.by, end.started_at) == (Reason.KILLED, "me", None)
    assert len(await runs(jobs)) == 2
    assert (await jobs.read(waiting.id)).data == b""
    assert (await jobs.run("exit 0", name="web")).job.id != waiting.id


async def test_a_signal_from_elsewhere_is_a_failure(jobs: Jobs) -> None:
    ran = await start(jobs, "exec sleep 100", restart=Restart.ON_FAILURE)
    assert isinstance(ran.job.phase, Running)
    os.kill(ran.job.phase.pid, signal.SIGKILL)
    again = await run_number(jobs, 1)
    assert isinstance(again.phase, Running)


async def test_what_outlives_a_crash_does_not_keep_the_port_from_the_next_run(jobs: Jobs) -> None:
    """The server is a child of the leader, as with many a development server."""
    port = free_port()
    words = " ".join(f"'{word}'" for word in server(port))
    ran = await start(jobs, f"{words} & wait", restart=Restart.ON_FAILURE, ready=Until(port=port))
    assert is_ready(ran.job)
    assert isinstance(ran.job.phase, Running)
    os.kill(ran.job.phase.pid, signal.SIGKILL)
    await run_number(jobs, 1)
    waited = await jobs.wait(["web"], until=Until(ready=True), timeout=LONG)
    assert waited.met == "ready"
    assert waited.jobs[0].spec.service is not None
    assert waited.jobs[0].spec.service.run == 1


async def test_a_service_is_restarted_as_it_was(jobs: Jobs, tmp_path: Path) -> None:
    options: dict[str, Any] = {"cwd": str(tmp_path), "env": {"WORD": "same"}}
    service = Service(ready=Until(log="same"))
    first = await jobs.run("echo $WORD; exec sleep 100", name="web", service=service, **options)

    ran = await jobs.services.restart("web")

    assert is_ready(ran.job)
    assert ended(await jobs.get(first.job.id)).end.by == "restart"
    assert ran.job.name == "web"
    assert ran.out is not None
    assert ran.out.data == b"same\n"
    await jobs.kill("web")
    assert is_ready((await jobs.services.restart("web")).job)
    assert len(await runs(jobs)) == 3


async def test_only_services_are_restarted_or_ready(jobs: Jobs) -> None:
    job = (await jobs.run("exit 0")).job
    with pytest.raises(BadRequest, match="no service"):
        await jobs.services.restart(job.id)
    with pytest.raises(BadRequest, match="no service"):
        await jobs.wait([job.id], until=Until(ready=True))
    assert is_ready(job) is None


async def test_waiting_for_services_to_be_ready_ends_when_that_cannot_be_any_more(jobs: Jobs, gate: Gate) -> None:
    silent = Service(ready=Until(log="never"))
    await jobs.run("exec sleep 100", name="good", service=Service())
    await jobs.run("exec sleep 100", name="slow", service=silent, background=True)
    await jobs.run(f"{gate.wait}; exit 3", name="bad", service=silent, background=True)
    assert (await jobs.wait(["slow", "good"], mode=Mode.ANY, until=Until(ready=True))).met == "ready"
    assert (await jobs.wait(["slow", "good"], until=Until(ready=True), timeout=SOON)).met == "timeout"
    gate.open()
    assert (await jobs.wait(["good", "slow", "bad"], until=Until(ready=True), timeout=LONG)).met == "ended"
    await jobs.kill("good")
    waited = await jobs.wait(["good"], until=Until(ready=True), timeout=LONG)
    assert waited.met == "ended"
    facts = waited.jobs[0].facts
    assert facts is not None
    assert facts.ready is False
    assert facts.ready_at is not None


async def test_a_service_needs_its_name_to_be_free(jobs: Jobs) -> None:
    await start(jobs, "sleep 100")
    with pytest.raises(NameInUse):
        await start(jobs, "sleep 100")


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (Service(ready=Until(log="(")), "not a regular expression"),
        (Service(ready=Until(port=70000)), "port 70000 is out of range"),
        (Service(port=0), "port 0 is out of range"),
        (Service(ready=Until(http="ftp://x")), "not an http"),
        (Service(ready=Until(quiet_seconds=1)), "give one of these"),
        (Service(ready=Until(port=80, log="x")), "give only one"),
        (Service(ready_command=" "), "cannot be empty"),
        (Service(ready_timeout=timedelta(0)), "above 0"),
        (Service(restarts=-1), "cannot be negative"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_service_that_cannot_be_meant_is_refused(jobs: Jobs, service: Service, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        await jobs.run("sleep 100", name="web", service=service)
    assert (await jobs.list()).jobs == ()
