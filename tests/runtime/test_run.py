"""`run`: from a request to a durable, started job."""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.support import homes
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, ended

from bide import Limits, Reason, Request, Running
from bide.api import Jobs
from bide.model.errors import BadRequest, FolderNotFound, NameInUse

KB = 1024
HARMLESS = {
    *(signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH),
    *(signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
    *range(signal.SIGRTMIN, signal.SIGRTMAX),
}
"""Signals that end nobody, and most of those without a name."""
ARG_MAX_ONE = 128 * KB - 1
"""The longest single argument that Linux passes on, without its final NUL."""


async def test_an_argument_of_127_kb_arrives_whole(jobs: Jobs) -> None:
    ran = await jobs.run([sys.executable, "-c", "import sys; print(len(sys.argv[1]))", "x" * (127 * KB)])
    assert ran.out is not None
    assert ran.out.data == b"130048\n"


async def test_an_argv_of_more_than_128_kb_arrives_whole(jobs: Jobs) -> None:
    words = ["y" * 1000] * 200
    program = "import sys; print(len(sys.argv), sum(map(len, sys.argv[1:])))"
    ran = await jobs.run([sys.executable, "-c", program, *words])
    assert ran.out is not None
    assert ran.out.data == b"201 200000\n"


@pytest.mark.parametrize("length", [ARG_MAX_ONE + 1, 2_000_000])
async def test_an_argument_that_the_system_refuses_is_a_failed_start(jobs: Jobs, length: int) -> None:
    ran = await jobs.run(["echo", "x" * length])
    end = ended(ran.job).end
    assert end.reason is Reason.SPAWN_FAILED
    assert end.error == "could not execute 'echo': Argument list too long; give what is large in a file or by stdin"
    assert end.status == 127


@pytest.mark.parametrize(
    ("kind", "sentence", "status"),
    [
        ("missing", "no command '{path}' was found; check the spelling and PATH", 127),
        ("two words", "no program is named '{path}'; shell code is given with -c (in Python: as one string)", 127),
        (
            "folder",
            "could not execute '{path}': Permission denied; it must be a program, or a script that may be executed (chmod +x)",
            126,
        ),
        (
            "file",
            "could not execute '{path}': Permission denied; it must be a program, or a script that may be executed (chmod +x)",
            126,
        ),
        (
            "script",
            "'{path}' exists, but its interpreter does not; correct its first line (#!), or install what it names",
            127,
        ),
    ],
)
async def test_what_cannot_be_executed_says_why(
    local: Jobs, tmp_path: Path, kind: str, sentence: str, status: int
) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("echo")
    elif kind == "script":
        path.write_text("#!/no/such/interpreter\n")
        path.chmod(0o755)
    end = ended((await local.run([str(path)])).job).end
    assert end.reason is Reason.SPAWN_FAILED
    assert end.error == sentence.format(path=path)
    assert end.exit_code is None
    assert end.status == status


async def test_a_folder_that_is_not_there_is_refused_and_no_job_is_made(jobs: Jobs, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    sentence = f"no folder '{missing}' to run in; create it or give another cwd"
    with pytest.raises(FolderNotFound, match=sentence) as refused:
        await jobs.run("true", cwd=str(missing))
    assert refused.value.code == "folder_not_found"
    assert (await jobs.list()).jobs == ()


async def test_a_job_runs_where_it_is_told_to(jobs: Jobs, tmp_path: Path) -> None:
    ran = await jobs.run("pwd", cwd=str(tmp_path))
    assert ran.out is not None
    assert ran.out.data.decode() == f"{tmp_path}\n"
    assert ran.job.spec.cwd == str(tmp_path)


async def test_a_job_runs_where_the_caller_is_if_it_is_not_told(jobs: Jobs) -> None:
    ran = await jobs.run("pwd -P")
    assert ran.out is not None
    assert ran.out.data.decode() == f"{os.path.realpath(os.getcwd())}\n"


@pytest.mark.parametrize("umask", [0o000, 0o027, 0o077])
async def test_a_job_has_the_umask_it_is_given(local: Jobs, umask: int) -> None:
    ran = await local.run("umask", umask=umask)
    assert ran.out is not None
    assert ran.out.data == f"{umask:04o}\n".encode()


async def test_a_job_has_the_umask_of_its_caller_if_it_is_not_told(jobs: Jobs) -> None:
    before = os.umask(0o037)
    try:
        ran = await jobs.run("umask")
    finally:
        os.umask(before)
    assert ran.out is not None
    assert ran.out.data == b"0037\n"


async def test_a_job_has_the_limit_of_open_files_that_its_caller_began_with(local: Jobs) -> None:
    ran = await local.run("ulimit -n")
    assert ran.out is not None
    assert int(ran.out.data) <= resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.parametrize("code", [0, 1, 2, 124, 125, 126, 127, 128, 137, 254, 255])
async def test_an_exit_code_is_told_as_it_was(local: Jobs, code: int) -> None:
    end = ended((await local.run(f"exit {code}")).job).end
    assert (end.reason, end.exit_code, end.signal, end.status) == (Reason.EXITED, code, None, code)


async def test_a_signal_is_told_as_it_was(local: Jobs) -> None:
    for number in sorted(signal.valid_signals() - HARMLESS):
        program = f"import os, resource, signal; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); s = {int(number)}\n"
        program += "if s not in (9, 19): signal.signal(s, signal.SIG_DFL)\nos.kill(os.getpid(), s)"
        end = ended((await local.run([sys.executable, "-I", "-S", "-c", program])).job).end
        assert (end.reason, end.exit_code, end.signal) == (Reason.SIGNALED, None, number)
        assert end.status == 128 + number


async def test_stdin_is_empty_unless_asked_for(jobs: Jobs) -> None:
    ran = await jobs.run("cat; readlink /proc/self/fd/0")
    assert ran.out is not None
    assert ran.out.data == b"/dev/null\n"


async def test_a_job_inherits_no_descriptor_of_ours(jobs: Jobs) -> None:
    ran = await jobs.run(["sh", "-c", "ls /proc/self/fd"])
    assert ran.out is not None
    assert ran.out.data == b"0\n1\n2\n3\n"  # 3 is the folder that ls itself reads


@pytest.fixture
def leak() -> Iterator[str]:
    """A file that this process has open for its children to inherit, as careless libraries do."""
    fd = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(fd, True)  # noqa: FBT003 - the standard library's own signature
    yield "/dev/zero"
    os.close(fd)


@pytest.mark.parametrize("door", [homes.local, homes.remote], ids=["local", "remote"])
async def test_a_job_inherits_no_descriptor_that_its_caller_leaks(home: Path, door: homes.Door, leak: str) -> None:
    async with door(home) as jobs:
        ran = await jobs.run(["sh", "-c", "readlink /proc/self/fd/*"])
        assert ran.out is not None
        assert leak not in ran.out.data.decode()


async def test_a_job_leads_a_session_and_a_group_of_its_own_with_plain_signals(jobs: Jobs) -> None:
    program = (
        "import os, signal; me = os.getpid(); "
        "print(os.getsid(0) == me, os.getpgid(0) == me, signal.pthread_sigmask(signal.SIG_BLOCK, []), "
        "[s for s in signal.valid_signals() if signal.getsignal(s) is signal.SIG_IGN and s not in (13, 25)])"
    )
    ran = await jobs.run([sys.executable, "-c", program])
    assert ran.out is not None
    assert ran.out.data == b"True True set() []\n"


async def test_the_times_of_a_job_are_in_order_and_recent(jobs: Jobs) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=2)
    job = (await jobs.run("sleep 0.1")).job
    phase = ended(job)
    assert phase.started_at is not None
    assert before <= job.created_at <= phase.started_at + timedelta(milliseconds=2)
    assert phase.started_at < phase.ended_at
    assert timedelta(seconds=0.1) <= phase.end.duration < timedelta(seconds=5)


async def test_a_job_reads_the_same_from_run_get_list_and_wait(jobs: Jobs) -> None:
    job = (await jobs.run("exit 3", label="a label", owner="me", name="one", key="k")).job
    assert await jobs.get(job.id) == job
    assert (await jobs.list()).jobs == (job,)
    assert (await jobs.wait([job.id])).jobs == (job,)


async def test_a_request_can_be_given_whole_but_not_with_options(jobs: Jobs) -> None:
    ran = await jobs.run(Request.of("echo $A", env={"A": "whole"}))
    assert ran.out is not None
    assert ran.out.data == b"whole\n"
    with pytest.raises(BadRequest, match="a Request already has its options; give one or the other"):
        await jobs.run(Request.of("true"), label="x")
    with pytest.raises(BadRequest, match="there is no command to run"):
        await jobs.run(Request(""))


async def test_the_same_key_joins_the_first_job(jobs: Jobs, gate: Gate) -> None:
    first = await jobs.run(f"{gate.wait}; exit 4", key="once", background=True)
    again = await jobs.run("exit 5", key="once", background=True)
    other = await jobs.run("exit 6", key="once", owner="somebody-else", background=True)

    assert not first.joined
    assert again.joined
    assert again.job.id == first.job.id
    assert other.job.id != first.job.id

    gate.open()
    assert (await end_of(jobs, first.job.id)).end.exit_code == 4
    late = await jobs.run("exit 7", key="once")
    assert late.joined
    assert ended(late.job).end.exit_code == 4


async def test_the_same_key_at_the_same_time_starts_one_job(jobs: Jobs, tmp_path: Path) -> None:
    ids: set[str] = set()

    async def ask() -> None:
        ids.add((await jobs.run(f"echo ran >> '{tmp_path}/runs'", key="once")).job.id)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask)
    assert len(ids) == 1
    assert (tmp_path / "runs").read_text() == "ran\n"


async def test_a_name_belongs_to_one_active_job_of_an_owner_and_then_to_the_newest(jobs: Jobs, gate: Gate) -> None:
    first = (await jobs.run(gate.wait, name="build", background=True)).job
    with pytest.raises(NameInUse, match=f"the name 'build' belongs to active job {first.id}; wait for it, kill it"):
        await jobs.run("true", name="build")
    theirs = (await jobs.run("true", name="build", owner="them")).job
    assert (await jobs.get("build")).id == first.id

    gate.open()
    await end_of(jobs, first.id)
    second = (await jobs.run("true", name="build")).job
    assert len({first.id, theirs.id, second.id}) == 3
    assert (await jobs.get("build")).id == second.id


async def test_cancelling_a_run_never_touches_the_job(jobs: Jobs, gate: Gate) -> None:
    await jobs.list()
    with anyio.move_on_after(0.3):
        await jobs.run(f"{gate.wait}; exit 9", name="goes-on")
    job = await jobs.get("goes-on")
    assert isinstance(job.phase, Running)
    gate.open()
    assert (await end_of(jobs, job.id)).end.exit_code == 9


async def test_a_run_without_a_deadline_waits_for_the_end(jobs: Jobs) -> None:
    ran = await jobs.run("sleep 0.2; exit 2", deadline=None)
    assert ended(ran.job).end.exit_code == 2


async def test_a_foreground_run_shows_the_tail_of_long_output(jobs: Jobs) -> None:
    ran = await jobs.run("seq 100000")
    assert ran.out is not None
    assert ran.out.data.endswith(b"99999\n100000\n")
    assert len(ran.out.data) == 64 * KB
    assert ran.out.offset == ran.out.size - 64 * KB


async def test_many_at_once_are_each_run_once(jobs: Jobs) -> None:
    codes: dict[int, int | None] = {}

    async def one(number: int) -> None:
        ran = await jobs.run(f"exit {number}", limits=Limits(timeout=LONG))
        codes[number] = ended(ran.job).end.exit_code

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(one, number)
    assert codes == {number: number for number in range(40)}
