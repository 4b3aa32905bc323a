"""Somebody started several things and waits for some of them."""

import socket
import sys
from datetime import timedelta

from tests.support.gates import Gate
from tests.support.patience import LONG

from bide import Mode, Until
from bide.api import Jobs


async def test_waiting_for_any_returns_at_the_first_end(jobs: Jobs, gate: Gate) -> None:
    slow = (await jobs.run(gate.wait, background=True)).job.id
    quick = (await jobs.run("exit 4", background=True)).job.id

    waited = await jobs.wait([slow, quick], mode=Mode.ANY, timeout=LONG)

    assert waited.met == "ended"
    assert [job.phase_name for job in waited.jobs] == ["running", "ended"]


async def test_waiting_for_all_returns_at_the_last_end(jobs: Jobs, gate: Gate) -> None:
    names = [(await jobs.run(gate.wait, background=True, name=f"part-{n}")).job.id for n in range(3)]
    for _ in names:
        gate.open()

    waited = await jobs.wait(names, timeout=LONG)

    assert waited.met == "ended"
    assert [job.name for job in waited.jobs] == ["part-0", "part-1", "part-2"]
    assert {job.phase_name for job in waited.jobs} == {"ended"}


async def test_running_out_of_time_is_an_answer_and_leaves_the_job_alone(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id

    waited = await jobs.wait([job], timeout=timedelta(seconds=0.1))

    assert waited.timed_out
    assert waited.jobs[0].phase_name == "running"


async def test_a_server_is_waited_for_until_it_says_that_it_is_ready(jobs: Jobs, gate: Gate) -> None:
    server = (await jobs.run(f"echo starting; echo ready on 1234; {gate.wait}", background=True)).job.id

    waited = await jobs.wait([server], until=Until(log=r"ready on \d+"), timeout=LONG)

    assert waited.met == "log"
    assert waited.match is not None
    assert waited.match.line == b"ready on 1234"
    assert waited.match.offset == len("starting\n")


async def test_a_server_is_waited_for_until_its_port_accepts(jobs: Jobs, gate: Gate) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = (
        f"import socket; open({str(gate.path)!r}).readline()\n"
        f"server = socket.create_server(('127.0.0.1', {port}))\n"
        "while True: server.accept()\n"
    )
    server = (await jobs.run([sys.executable, "-c", program], background=True)).job.id

    gate.open()
    waited = await jobs.wait([server], until=Until(port=port), timeout=LONG)

    assert waited.met == "port"
    assert waited.jobs[0].phase_name == "running"
