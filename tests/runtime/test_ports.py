"""What jobs listen on, and who holds a port that a service needs."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from tests.support import processes
from tests.support.gates import Gate
from tests.support.patience import eventually
from tests.support.servers import SERVER, free_port, is_free, server

from bide import Filter, Job, Port, Running, Service, Stream, Until
from bide.api import Jobs
from bide.model.errors import PortInUse


async def ports(jobs: Jobs, job: str) -> tuple[Port, ...]:
    facts = (await jobs.get(job)).facts
    assert facts is not None
    assert facts.ports is not None
    return facts.ports


def pid(job: Job) -> int:
    assert isinstance(job.phase, Running)
    return job.phase.pid


async def test_the_ports_of_every_running_job_are_shown(jobs: Jobs) -> None:
    port = free_port()
    job = (await jobs.run(server(port), background=True)).job
    await jobs.wait([job.id], until=Until(port=port))
    assert await ports(jobs, job.id) == (Port("127.0.0.1", port, pid(job)),)


async def test_a_job_that_listens_on_nothing_has_no_ports_and_an_ended_one_was_not_looked_at(
    jobs: Jobs, gate: Gate
) -> None:
    job = (await jobs.run(gate.wait, background=True)).job
    assert await ports(jobs, job.id) == ()
    gate.open()
    await jobs.wait([job.id])
    assert (await jobs.get(job.id)).facts is None


async def test_ports_of_descendants_and_of_both_kinds_of_address_are_found(jobs: Jobs) -> None:
    program = """
import os, signal, socket
if os.fork():
    os.wait()
    signal.pause()
os.setsid()
if os.fork():
    os._exit(0)
four = socket.create_server(("0.0.0.0", 0))
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(os.getpid(), four.getsockname()[1], six.getsockname()[1], flush=True)
signal.pause()
"""
    job = (await jobs.run([sys.executable, "-c", program], background=True)).job
    waited = await jobs.wait([job.id], until=Until(log=r"^\d+ \d+ \d+$"))
    assert waited.match is not None
    found, four, six = map(int, waited.match.line.split())
    wanted = {Port("0.0.0.0", four, found), Port("::1", six, found)}
    assert set(await ports(jobs, job.id)) == wanted


async def test_ports_are_found_after_the_keeper_was_replaced(remote: Jobs, home: Path) -> None:
    port = free_port()
    words = " ".join(f"'{word}'" for word in server(port))
    job = (await remote.run(f"{words} & wait", background=True)).job
    await remote.wait([job.id], until=Until(port=port))
    (found,) = await ports(remote, job.id)
    (keeper,) = processes.keepers(home)
    os.kill(keeper, signal.SIGKILL)
    await eventually(lambda: keeper not in processes.keepers(home) and len(processes.keepers(home)) == 1)
    assert await ports(remote, job.id) == (found,)


async def test_a_port_that_a_job_has_is_told_before_anything_starts(jobs: Jobs, tmp_path: Path) -> None:
    port = free_port()
    first = (await jobs.run(server(port), name="first", service=Service(port=port), cwd=str(tmp_path))).job
    await jobs.wait(["first"], until=Until(port=port))
    for service in (
        Service(port=port),
        Service(ready=Until(port=port)),
        Service(ready=Until(http=f"http://localhost:{port}/x")),
    ):
        with pytest.raises(PortInUse) as told:
            await jobs.run(server(port), name="second", service=service)
        words = str(told.value)
        assert f"port {port} is held by job {first.id} (first), pid {pid(first)}, running " in words
        assert repr(str(tmp_path)) in words
        assert sys.executable in words
        assert told.value.facts["job"] == first.id
    assert (await jobs.list(Filter(name="second"))).jobs == ()


async def test_a_port_that_another_process_has_is_told(jobs: Jobs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours:
        port = ours.getsockname()[1]
        with pytest.raises(PortInUse) as told:
            await jobs.run(server(port), name="web", service=Service(port=port))
        assert f"held by process {os.getpid()}, running " in str(told.value)
        assert repr(os.getcwd()) in str(told.value)
    assert not (await jobs.run(server(port), name="web", service=Service(ready=Until(port=port)))).deferred


async def test_a_port_on_another_address_is_not_in_the_way(jobs: Jobs) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.2", port)):
        ran = await jobs.run(server(port), name="web", service=Service(ready=Until(port=port)))
        assert ran.job.facts is not None
        assert ran.job.facts.ready


async def test_a_race_for_a_port_is_told_by_the_jobs_own_failing(jobs: Jobs, gate: Gate) -> None:
    port = free_port()
    program = f'{gate.wait}; exec {sys.executable} -c "$SERVER" {port}'
    service = Service(ready=Until(port=port))
    second = await jobs.run(program, name="slow", service=service, background=True, env={"SERVER": SERVER})
    await jobs.run(server(port), name="quick", service=service)
    gate.open()
    waited = await jobs.wait([second.job.id], until=Until(ready=True))
    assert waited.met == "ended"
    assert b"Address already in use" in (await jobs.read("slow", stream=Stream.ERR)).data
    await jobs.kill("quick")
    assert is_free(port)
