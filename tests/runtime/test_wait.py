"""`wait`: for ends and for conditions; a timeout is a result."""

import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import pytest
from tests.support import processes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of

from bide import Mode, Stream, Until
from bide.api import Jobs
from bide.model.errors import BadRequest, JobNotFound

NOW = timedelta(0)
SHORT = timedelta(seconds=0.2)


async def test_waiting_for_a_job_that_has_ended_answers_at_once(jobs: Jobs) -> None:
    job = (await jobs.run("exit 3")).job
    waited = await jobs.wait([job.id], timeout=NOW)
    assert waited.met == "ended"
    assert waited.jobs == (job,)


async def test_looking_without_waiting_is_a_wait_of_no_time(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job
    waited = await jobs.wait([job.id], timeout=NOW)
    assert waited.timed_out
    assert waited.jobs[0].phase == job.phase


async def test_the_same_job_can_be_waited_for_twice_and_by_many(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, name="one", background=True)).job.id
    met: list[str] = []

    async def wait() -> None:
        met.append((await jobs.wait([job, "one", job], timeout=LONG)).met)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(wait)
        await jobs.wait([job], timeout=SHORT)
        gate.open()
    assert met == ["ended"] * 5


async def test_cancelling_a_wait_never_touches_the_job(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; exit 4", background=True)).job.id
    with anyio.move_on_after(0.1):
        await jobs.wait([job])
    assert (await jobs.get(job)).phase_name == "running"
    gate.open()
    assert (await end_of(jobs, job)).end.exit_code == 4


async def test_a_line_written_before_the_wait_counts(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"echo ready >&2; {gate.wait}", background=True)).job.id
    await jobs.read(job, stream=Stream.ERR, follow=LONG)
    waited = await jobs.wait([job], until=Until(log="^ready$"), timeout=LONG)
    assert waited.met == "log"
    assert waited.match is not None
    assert waited.match.stream is Stream.ERR


async def test_a_line_counts_before_it_has_its_newline(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"printf 'almost rea'; {gate.wait}; printf dy; {gate.wait}", background=True)).job.id
    waited = await jobs.wait([job], until=Until(log="ready"), timeout=SHORT)
    assert waited.timed_out
    gate.open()
    waited = await jobs.wait([job], until=Until(log="ready"), timeout=LONG)
    assert waited.met == "log"
    assert waited.match is not None
    assert waited.match.line == b"almost ready"


async def test_a_line_counts_even_if_the_job_is_over_by_then(jobs: Jobs) -> None:
    job = (await jobs.run("echo ready; exit 1")).job.id
    waited = await jobs.wait([job], until=Until(log="ready"), timeout=LONG)
    assert waited.met == "log"
    assert waited.jobs[0].phase_name == "ended"


async def test_a_line_written_long_after_the_wait_began_wakes_it(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"seq 50000; {gate.wait}; echo ready; {gate.wait}", background=True)).job.id
    met: list[str] = []

    async def wait() -> None:
        met.append((await jobs.wait([job], until=Until(log="ready"), timeout=LONG)).met)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await jobs.wait([job], timeout=SHORT)
        gate.open()
    assert met == ["log"]


async def test_the_end_ends_a_wait_whose_condition_never_holds(jobs: Jobs) -> None:
    job = (await jobs.run("echo something else", background=True)).job.id
    waited = await jobs.wait([job], until=Until(log="ready"), timeout=LONG)
    assert waited.met == "ended"
    assert waited.match is None


async def test_any_of_several_jobs_may_write_the_line(jobs: Jobs, gate: Gate) -> None:
    silent = (await jobs.run(gate.wait, background=True)).job.id
    speaks = (await jobs.run(f"echo ready; {gate.wait}", background=True)).job.id
    waited = await jobs.wait([silent, speaks], until=Until(log="ready"), timeout=LONG)
    assert waited.met == "log"
    assert [job.phase_name for job in waited.jobs] == ["running", "running"]


async def test_quiet_is_no_output_for_so_long(jobs: Jobs) -> None:
    script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; sleep 1000"
    job = (await jobs.run(script, background=True)).job.id
    waited = await jobs.wait([job], until=Until(quiet_seconds=0.4), timeout=LONG)
    assert waited.met == "quiet"
    assert (await jobs.read(job)).data == b"1\n2\n3\n4\n5\n6\n"


@pytest.fixture
def port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


async def test_a_port_is_waited_for_until_it_accepts(jobs: Jobs, gate: Gate, port: int) -> None:
    program = (
        f"import socket; open({str(gate.path)!r}).readline()\n"
        f"s = socket.create_server(('127.0.0.1', {port})); print('up', flush=True)\n"
        "while True: s.accept()"
    )
    job = (await jobs.run([sys.executable, "-c", program], background=True)).job.id
    waited = await jobs.wait([job], until=Until(port=port), timeout=SHORT)
    assert waited.timed_out
    gate.open()
    waited = await jobs.wait([job], until=Until(port=port), timeout=LONG)
    assert waited.met == "port"


class Answers(BaseHTTPRequestHandler):
    """503 at first, then what the path says."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(503 if self.asked < 3 else int(self.path[1:4]))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's word
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    Answers.asked = 0
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("path", "met"), [("/200", "http"), ("/302?x=1", "http"), ("/404", "timeout")])
async def test_a_url_is_waited_for_until_it_answers_below_400(
    jobs: Jobs, gate: Gate, url: str, path: str, met: str
) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    patience = LONG if met == "http" else timedelta(seconds=0.6)
    waited = await jobs.wait([job], until=Until(http=url + path), timeout=patience)
    assert waited.met == met
    assert Answers.asked >= 3


async def test_a_url_that_nobody_serves_is_a_timeout(jobs: Jobs, gate: Gate, port: int) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    waited = await jobs.wait([job], until=Until(http=f"http://localhost:{port}/"), timeout=SHORT)
    assert waited.timed_out


async def test_waiting_for_an_unknown_job_says_which(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    with pytest.raises(JobNotFound, match="no job 'nobody' here"):
        await jobs.wait([job, "nobody"])


@pytest.mark.parametrize(
    ("ids", "until", "sentence"),
    [
        ([], Until(), "wait needs at least one job; give an id or a name"),
        (["x"], Until(port=0), "port 0 is out of range; use 1 to 65535"),
        (["x"], Until(http="ftp://x"), "'ftp://x' is not an http:// URL"),
        (["x"], Until(quiet_seconds=-1), "quiet must be longer than 0 seconds"),
        (["x"], Until(log="["), "'[' is not a regular expression: missing ]: ["),
    ],
)
async def test_a_wait_that_cannot_be_meant_is_refused(local: Jobs, ids: list[str], until: Until, sentence: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(sentence)) as refused:
        await local.wait(ids, until=until)
    assert refused.value.code == "bad_request"


async def test_a_name_in_place_of_a_list_is_not_taken_for_its_letters(jobs: Jobs) -> None:
    with pytest.raises(BadRequest, match=r"wait takes a list of ids or names, not 'build'; write \['build'\]"):
        await jobs.wait("build")


async def test_waiting_costs_nothing_meanwhile(remote: Jobs, home: Path) -> None:
    """Checklist 264: no polling inside, idle CPU is none, with 100 running jobs and as many waits."""
    names = [f"n{number}" for number in range(100)]
    for name in names:
        await remote.run(["sleep", "1000"], name=name, background=True)
    pid = processes.daemons(home)[0]

    async def wait(name: str) -> None:
        await remote.wait([name], mode=Mode.ANY, until=Until(log="never"))

    async with anyio.create_task_group() as group:
        for name in names[:20]:
            group.start_soon(wait, name)
        await remote.wait(names, timeout=SHORT)
        before, switches = _cpu(pid), _switches(pid)
        await remote.wait(names, timeout=timedelta(seconds=2))
        assert _cpu(pid) - before <= 0.05
        assert _switches(pid) - switches < 20
        group.cancel_scope.cancel()


def _cpu(pid: int) -> float:
    fields = processes.read(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _switches(pid: int) -> int:
    lines = processes.read(pid, "status").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"voluntary_ctxt_switches"))
