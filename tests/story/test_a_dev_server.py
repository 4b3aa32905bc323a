"""Somebody has a development server that is to be there until it is told otherwise. Checklist 68."""

import os
import signal
from datetime import timedelta

from tests.support.patience import LONG, ended, eventually
from tests.support.servers import free_port, is_free, server

from bide import Filter, Reason, Restart, Running, Service, Until
from bide.api import Jobs


async def test_a_dev_server_is_awaited_by_port_restarted_after_a_crash_and_stopped(jobs: Jobs) -> None:
    port = free_port()
    service = Service(ready=Until(port=port), restart=Restart.ON_FAILURE)

    first = (await jobs.run(server(port), name="web", service=service)).job

    assert first.facts is not None
    assert first.facts.ready
    assert isinstance(first.phase, Running)
    seen = (await jobs.get("web")).facts
    assert seen is not None
    assert [(one.address, one.port, one.pid) for one in seen.ports or ()] == [("127.0.0.1", port, first.phase.pid)]

    os.kill(first.phase.pid, signal.SIGKILL)
    await jobs.wait([first.id], timeout=LONG)

    async def is_back() -> bool:
        return (await jobs.get("web")).id != first.id

    await eventually(is_back)
    waited = await jobs.wait(["web"], until=Until(ready=True), timeout=LONG)
    second = waited.jobs[0]
    assert waited.met == "ready"
    crashed = await jobs.get(first.id)
    assert (ended(crashed).end.reason, ended(crashed).end.signal) == (Reason.SIGNALED, signal.SIGKILL)
    assert crashed.facts is not None
    assert crashed.facts.successor == second.id
    assert (await jobs.read(first.id)).data == (await jobs.read("web")).data == b"listening\n"

    killed = await jobs.kill("web", grace=timedelta(seconds=5))

    assert killed.verified_empty
    assert is_free(port)
    runs = (await jobs.list(Filter(name="web"))).jobs
    assert [job.id for job in runs] == [second.id, first.id]
