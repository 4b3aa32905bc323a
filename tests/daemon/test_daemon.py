"""The daemon: one per home, for its owner alone, replaceable at any moment."""

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.support import homes, processes
from tests.support.gates import Gate
from tests.support.http import Http
from tests.support.patience import LONG, end_of, ended, eventually

import bide
from bide import Reason, Until
from bide.api import Jobs
from bide.daemon import main
from bide.model.errors import DaemonUnavailable, HomeBusy

DAEMON = [sys.executable, "-P", "-m", "bide.daemon", "--home"]


def said(daemon: subprocess.Popen[bytes]) -> Any:
    """The one line that a daemon says."""
    assert daemon.stdout is not None
    return json.loads(daemon.stdout.readline())


@pytest.fixture
def started(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that somebody started by hand and that said it is ready."""
    with subprocess.Popen([*DAEMON, str(home)], stdout=subprocess.PIPE) as daemon:
        assert said(daemon) == {"ready": True, "pid": daemon.pid}
        yield daemon
        daemon.terminate()


def test_a_second_start_is_harmless_and_says_who_serves(started: subprocess.Popen[bytes], home: Path) -> None:
    second = subprocess.run([*DAEMON, str(home)], stdout=subprocess.PIPE, timeout=20, check=False)
    assert second.returncode == 0
    assert json.loads(second.stdout) == {"ready": True, "pid": started.pid}
    assert started.poll() is None
    with closing(Http(home)) as http:
        assert http.ask("GET", "/v1/daemon")[1]["pid"] == started.pid


@pytest.fixture
def zombie() -> Iterator[int]:
    """A process that has ended and is not collected, as a daemon is while the client that started it lives."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield process.pid


async def test_whoever_finds_the_home_taken_knows_a_daemon_that_serves_from_one_that_is_gone(
    started: subprocess.Popen[bytes], home: Path, zombie: int
) -> None:
    busy = HomeBusy(home=str(home), pid="")
    assert await main.serving_pid(busy) == started.pid
    (home / "lock").write_text(f"{zombie}\n")
    assert await main.serving_pid(busy) is None, "the next one has the lock, and writes its pid a moment later"
    (home / "lock").write_text(f"{os.getpid()}\n")
    with pytest.raises(HomeBusy):
        await main.serving_pid(busy)


def test_who_starts_while_a_daemon_is_going_serves_when_it_is_gone(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen([*DAEMON, str(home)], stdout=subprocess.PIPE) as daemon:
            anyio.run(eventually, (home / "sessions").exists)  # it is about to find the lock taken
            anyio.run(eventually, lambda: processes.state(daemon.pid) == "S")
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert said(daemon) == {"ready": True, "pid": daemon.pid}
            daemon.terminate()


def test_of_many_started_at_once_one_serves_and_all_are_ready(home: Path) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(subprocess.Popen([*DAEMON, str(home)], stdout=subprocess.PIPE)) for _ in range(4)]
        pids = {said(daemon)["pid"] for daemon in crowd}
        assert len(pids) == 1
        with closing(Http(home)) as http:
            assert http.ask("GET", "/v1/daemon")[1]["pid"] == pids.pop()
        for daemon in crowd:
            daemon.terminate()


def test_the_socket_is_for_its_owner_alone(started: subprocess.Popen[bytes], home: Path) -> None:
    assert started.poll() is None
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for name in ("bide.sock", "notify.sock"):
        assert stat.S_ISSOCK((home / name).stat().st_mode)
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600


@pytest.mark.root
def test_another_user_is_hung_up_on_even_if_the_socket_lets_him_in(
    started: subprocess.Popen[bytes], home: Path
) -> None:
    for path in (home, *list(home.parents)[:-2]):
        path.chmod(path.stat().st_mode | 0o055)
    (home / "bide.sock").chmod(0o666)
    program = (
        "import os, socket, sys; os.setgid(1234); os.setuid(1234); s = socket.socket(socket.AF_UNIX)\n"
        "s.connect(sys.argv[1])\n"
        "try: s.sendall(b'GET /v1/daemon HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(100))\n"
        "except (ConnectionResetError, BrokenPipeError): print(b'')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, home / "bide.sock"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "b''\n", done.stderr
    assert started.poll() is None


def test_a_daemon_is_detached_from_who_started_it(home: Path) -> None:
    program = "import sys; from bide.client.start import ensure_daemon; ensure_daemon(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(home)], check=True, start_new_session=True)
    (pid,) = processes.daemons(home)
    try:
        assert os.getsid(pid) == pid
        assert processes.cwd(pid) == "/"
        targets = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)}
        assert targets == {0: "/dev/null", 1: "/dev/null", 2: str(home / "daemon.log")}
    finally:
        anyio.run(homes.stop_daemon, home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_daemon_told_to_stop_leaves_the_jobs_running(home: Path, gate: Gate, number: int) -> None:
    async with homes.remote(home) as jobs:
        job = (await jobs.run(f"{gate.wait}; exit 4", background=True)).job
        pid = homes.daemon_pid(home)
        os.kill(pid, number)
        await eventually(lambda: not processes.daemons(home))
        assert "told to stop" in (home / "daemon.log").read_text()

        assert (await jobs.get(job.id)).phase == job.phase
        assert homes.daemon_pid(home) != pid
        gate.open()
        assert (await end_of(jobs, job.id)).end.exit_code == 4


async def test_a_hangup_changes_nothing(remote: Jobs, home: Path) -> None:
    await remote.list()
    pid = homes.daemon_pid(home)
    os.kill(pid, signal.SIGHUP)
    assert ended((await remote.run("true")).job).end.success
    assert homes.daemon_pid(home) == pid


async def test_the_stop_route_says_how_many_run_on(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs:
        for _ in range(3):
            await jobs.run(gate.wait, background=True)
        with closing(Http(home)) as http:
            assert http.ask("POST", "/v1/daemon/stop", {}) == (200, {"running": 3, "unverified": [], "undelivered": {}})
        await eventually(lambda: not processes.daemons(home))
        assert len(processes.keepers(home)) == 3


async def test_the_stop_route_ends_the_jobs_if_asked(home: Path) -> None:
    """Checklist 228, 263: no orphan is left."""
    async with homes.remote(home) as jobs:
        script = "(setsid sleep 1000 &) ; echo up; while :; do sleep 0.05; done"
        job = (await jobs.run(script, background=True)).job.id
        await jobs.wait([job], until=Until(log="up"), timeout=LONG)
        with closing(Http(home)) as http:
            answer = await anyio.to_thread.run_sync(http.ask, "POST", "/v1/daemon/stop", {"kill": True})
        assert answer == (200, {"running": 1, "unverified": [], "undelivered": {}})
        await eventually(lambda: not processes.of_folder(home))
        end = (await end_of(jobs, job)).end
        assert (end.reason, end.by) == (Reason.KILLED, "daemon stop --kill")


async def test_a_crashed_daemon_is_replaced_and_its_socket_with_it(remote: Jobs, home: Path) -> None:
    """Checklist 263."""
    await remote.run("true", name="before")
    first = homes.daemon_pid(home)
    await homes.kill_daemon(home)
    assert (home / "bide.sock").exists()
    assert (await remote.get("before")).phase_name == "ended"
    assert homes.daemon_pid(home) != first


async def test_a_wait_in_progress_survives_the_daemon(remote: Jobs, home: Path, gate: Gate) -> None:
    job = (await remote.run(f"{gate.wait}; exit 6", background=True)).job.id
    codes: list[int | None] = []

    async def wait() -> None:
        codes.append((await end_of(remote, job)).end.exit_code)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await remote.wait([job], timeout=timedelta(seconds=0.2))
        await homes.kill_daemon(home)
        gate.open()
    assert codes == [6]


async def test_a_foreground_run_in_progress_survives_the_daemon_and_runs_once(
    remote: Jobs, home: Path, gate: Gate, tmp_path: Path
) -> None:
    codes: list[int | None] = []

    async def run() -> None:
        ran = await remote.run(f"echo ran >> '{tmp_path}/ran'; {gate.wait}; exit 7", name="once")
        codes.append(ended(ran.job).end.exit_code)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await eventually((tmp_path / "ran").exists)
        await homes.kill_daemon(home)
        gate.open()
    assert codes == [7]
    assert (tmp_path / "ran").read_text() == "ran\n"


async def test_what_may_be_done_once_only_is_not_done_again(remote: Jobs, home: Path) -> None:
    job = (await remote.run("cat", stdin=True, background=True)).job.id
    pid = homes.daemon_pid(home)
    os.kill(pid, signal.SIGSTOP)
    sentence = "it ended before it answered, so it is not known whether this was done"
    failures: list[str] = []

    async def send() -> None:
        try:
            await remote.send(job, data=b"once\n")
        except DaemonUnavailable as error:
            failures.append(str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(send)
        await anyio.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
    assert sentence in failures[0]
    await remote.send(job, eof=True)
    await end_of(remote, job)
    assert (await remote.read(job)).data == b""


async def test_two_programs_share_a_daemon(home: Path, gate: Gate) -> None:
    async with homes.remote(home) as jobs, bide.connect(home) as others:
        job = (await jobs.run(f"{gate.wait}; exit 3", name="shared", background=True)).job
        assert (await others.get("shared")).id == job.id
        gate.open()
        assert (await end_of(others, "shared")).end.exit_code == 3


async def test_a_job_that_uses_bide_starts_the_daemon_outside_its_own_fence(home: Path, gate: Gate) -> None:
    """A daemon below a job would end with the job's tree."""
    program = (
        "import anyio, bide, sys\n"
        "open(sys.argv[1]).readline()\n"
        "async def main():\n"
        " async with bide.connect() as jobs: print((await jobs.run('echo from within')).out.data.decode(), end='')\n"
        "anyio.run(main)"
    )
    async with homes.remote(home) as jobs:
        job = (await jobs.run([sys.executable, "-c", program, str(gate.path)], background=True)).job
        await homes.stop_daemon(home)
        gate.open()
        await eventually((home / "jobs" / job.id / "end").exists)
        (daemon,) = processes.daemons(home)
        assert os.getsid(daemon) != getattr(job.phase, "pid", 0)
        end = (await end_of(jobs, job.id)).end
        assert end.success
        assert end.survivors == ()
        assert (await jobs.read(job.id)).data == b"from within\n"
        assert homes.daemon_pid(home) == daemon


@pytest.mark.parametrize("name", ["bide.sock", "mcp.sock", "notify.sock", "lock", "jobs"])
def test_what_stands_in_the_way_is_said(home: Path, name: str) -> None:
    home.mkdir()
    if name == "jobs":
        (home / name).write_text("in the way")
    else:
        (home / name).mkdir()
    done = subprocess.run([*DAEMON, str(home)], capture_output=True, timeout=20, check=False)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "home_unusable", error
    assert "Traceback" not in done.stderr.decode()
