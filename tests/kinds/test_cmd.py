"""`cmd()`: external commands as jobs of their own, from Python code. Checklist 82 and 83."""

import json
import os
from pathlib import Path

import pytest
from tests.support.code import err, out, printed, python
from tests.support.gates import Gate
from tests.support.patience import end_of, ended

from bide import Filter, Job, Reason, Until
from bide.api import Jobs


async def children(jobs: Jobs, parent: str) -> list[Job]:
    """What was started from a job, in order."""
    return list(reversed((await jobs.list(Filter(parent=parent))).jobs))


async def test_the_seeds_own_example_runs_as_written(shared_remote: Jobs, tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    ran = await python(shared_remote, "await cmd('ls', ['-la']).exec()", cwd=str(tmp_path))
    assert (ended(ran.job).end.exit_code, out(ran), err(ran)) == (0, "", "")
    (child,) = await children(shared_remote, ran.job.id)
    assert b"here" in (await shared_remote.read(child.id)).data


async def test_each_is_a_job_with_its_parent_pid_output_code_and_duration(shared_remote: Jobs) -> None:
    code = """
import json
r = await cmd("sh", "-c", "echo out; echo err >&2; echo $$; sleep 0.02; exit 3").exec()
print(json.dumps([r.id, r.pid, r.code, r.success, r.reason, r.stdout, r.stderr, r.duration, r.complete]))
"""
    ran = await python(shared_remote, code)
    job, pid, *rest, duration, complete = json.loads(out(ran))
    (child,) = await children(shared_remote, ran.job.id)
    assert (child.id, child.parent, ended(child).pid) == (job, ran.job.id, pid)
    assert child.spec.command == "sh -c 'echo out; echo err >&2; echo $$; sleep 0.02; exit 3'"
    assert rest == [3, False, "exited", f"out\n{pid}\n", "err\n"]
    assert duration == ended(child).end.duration.total_seconds() > 0
    assert complete
    assert (await shared_remote.read(job)).data == f"out\n{pid}\n".encode()


async def test_it_has_started_when_exec_returns_and_result_waits(shared_remote: Jobs, gate: Gate) -> None:
    code = f"""
run = cmd("sh", "-c", {gate.wait + "; echo $line"!r}).exec()
print(run.id, run.pid, run, flush=True)
print(run.result().stdout, run)
"""
    started = await python(shared_remote, code, background=True)
    await shared_remote.wait([started.job.id], until=Until(log="running>"))
    (child,) = await children(shared_remote, started.job.id)
    assert child.phase_name == "running"
    gate.open("through")
    assert (await end_of(shared_remote, started.job.id)).end.success
    printed_ = (await shared_remote.read(started.job.id)).data.decode()
    assert printed_.startswith(f"{child.id} ")
    assert "through\n" in printed_


async def test_several_at_once_run_at_the_same_time(shared_remote: Jobs, tmp_path: Path) -> None:
    fifo = tmp_path / "meet"
    os.mkfifo(fifo)
    code = f"""
import asyncio
a, b = await asyncio.gather(cmd("sh", "-c", "echo met > {fifo}").exec(), cmd("cat", "{fifo}").exec())
print(a.code, b.stdout)
"""
    assert await printed(shared_remote, code) == "0 met\n\n"


async def test_folder_and_environment_are_those_of_the_code_at_that_moment(shared_remote: Jobs, tmp_path: Path) -> None:
    code = f"""
import os
session.env["COLOUR"] = "blue"
del session.env["CI"]
session.cwd = {str(tmp_path)!r}
os.umask(0o027)
print(cmd("sh", "-c", "pwd; echo $COLOUR,$CI,$PAGER; umask").exec().result().stdout)
"""
    assert await printed(shared_remote, code) == f"{tmp_path}\nblue,,cat\n0027\n\n"


async def test_lines_come_as_they_are_written(shared_remote: Jobs, gate: Gate) -> None:
    script = f"echo one; {gate.wait}; printf 'two\\n\\nlast'"
    code = f"""
for line in cmd("sh", "-c", {script!r}):
    print(repr(line), flush=True)
async for line in cmd("printf", "a\\nb\\n"):
    print(line)
"""
    started = await python(shared_remote, code, background=True)
    await shared_remote.wait([started.job.id], until=Until(log="one"))
    gate.open()
    assert (await end_of(shared_remote, started.job.id)).end.success
    assert (await shared_remote.read(started.job.id)).data == b"'one'\n'two'\n''\n'last'\na\nb\n"


async def test_lines_that_were_gone_over_are_in_the_result_too(shared_remote: Jobs) -> None:
    code = """
run = cmd("seq", 3).exec()
print([line for line in run], repr((await run).stdout), [line async for line in cmd("seq", 2).exec()])
"""
    assert await printed(shared_remote, code) == "['1', '2', '3'] '1\\n2\\n3\\n' ['1', '2']\n"


async def test_input_is_given_as_text_or_bytes(shared_remote: Jobs) -> None:
    code = """
print(cmd("cat").exec(stdin="caf\\u00e9").result().stdout, (await cmd("wc", "-c").input(bytes(3_000_000))).stdout)
print(cmd("cat").exec().result().stdout_bytes, cmd("cat").input("").exec().result().stdout_bytes)
"""
    assert await printed(shared_remote, code) == "café 3000000\n\nb'' b''\n"


async def test_a_pipe_carries_every_byte_and_both_ends_are_jobs(shared_remote: Jobs, tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    (tmp_path / "data").write_bytes(data)
    code = """
run = (cmd("cat", "data") | cmd("tee", "copy") | cmd("wc", "-c")).exec()
print(run.result().stdout, run.source.result().code, run.source.source.result().code)
"""
    ran = await python(shared_remote, code, cwd=str(tmp_path))
    assert out(ran) == "5000000\n 0 0\n", err(ran)
    assert (tmp_path / "copy").read_bytes() == data
    assert {child.spec.command for child in await children(shared_remote, ran.job.id)} == {
        "cat data",
        "tee copy",
        "wc -c",
    }


async def test_a_pipe_passes_on_what_comes_before_the_source_is_over(shared_remote: Jobs, gate: Gate) -> None:
    script = f"echo one; {gate.wait}; echo two"
    code = f"""
first = cmd("sh", "-c", {script!r}).exec()
for line in (first | cmd("sed", "-u", "s/^/got /")).exec():
    print(line, flush=True)
"""
    started = await python(shared_remote, code, background=True)
    await shared_remote.wait([started.job.id], until=Until(log="got one"))
    gate.open()
    assert (await end_of(shared_remote, started.job.id)).end.success
    assert (await shared_remote.read(started.job.id)).data == b"got one\ngot two\n"


async def test_a_source_whose_target_is_over_is_ended(shared_remote: Jobs) -> None:
    ran = await python(shared_remote, "print((await cmd('yes').pipe(cmd('head', '-n1'))).stdout)")
    assert out(ran) == "y\n\n"
    source, target = await children(shared_remote, ran.job.id)
    assert (ended(source).end.reason, ended(source).end.by) == (Reason.KILLED, "pipe")
    assert ended(target).end.success


async def test_a_pipe_that_breaks_ends_its_target_and_its_result_says_why(shared_remote: Jobs, tmp_path: Path) -> None:
    code = f"""
source = cmd("seq", 5).exec()
source.result()
source.id = "j0000000000"
try: (source | cmd("sh", "-c", "cat; echo whole > {tmp_path}/whole")).exec().result()
except RuntimeError as error: print(error)
"""
    ran = await python(shared_remote, code)
    assert "no job 'j0000000000' here" in out(ran)
    _, target = await children(shared_remote, ran.job.id)
    assert (ended(target).end.by, (tmp_path / "whole").exists()) == ("pipe", False)


async def test_a_source_that_is_far_ahead_waits_and_loses_nothing(shared_remote: Jobs, gate: Gate) -> None:
    size = 30_000_000
    code = f"""
run = (cmd("head", "-c", {size}, "/dev/zero") | cmd("sh", "-c", {gate.wait + "; wc -c"!r})).exec()
print("begun", flush=True)
print(run.result().stdout)
"""
    started = await python(shared_remote, code, background=True)
    await shared_remote.wait([started.job.id], until=Until(log="begun"))
    gate.open()
    assert (await end_of(shared_remote, started.job.id)).end.success
    assert f"{size}\n".encode() in (await shared_remote.read(started.job.id)).data


async def test_kill_ends_the_command_and_its_result_says_so(shared_remote: Jobs) -> None:
    code = "run = cmd('sleep', '60').exec(); run.kill(); r = run.result(); print(r.code, r.success, r.reason)"
    assert await printed(shared_remote, code) == "143 False killed\n"


async def test_cancelling_whoever_awaits_leaves_the_job_running(shared_remote: Jobs, gate: Gate) -> None:
    code = f"""
import asyncio
run = cmd("sh", "-c", {gate.wait + "; echo $line"!r}).exec()
try: await asyncio.wait_for(run, 0.05)
except asyncio.TimeoutError: print("gave up", flush=True)
print((await run).stdout)
"""
    started = await python(shared_remote, code, background=True)
    await shared_remote.wait([started.job.id], until=Until(log="gave up"))
    assert (await children(shared_remote, started.job.id))[0].phase_name == "running"
    gate.open("went on")
    assert (await end_of(shared_remote, started.job.id)).end.success
    assert (await shared_remote.read(started.job.id)).data == b"gave up\nwent on\n\n"


async def test_a_failure_is_a_result_unless_it_is_checked(shared_remote: Jobs) -> None:
    code = """
r = await cmd("sh", "-c", "echo why >&2; exit 4").exec()
print(r.code, (await cmd("true").exec()).check().code)
try: r.check()
except RuntimeError as error: print(error, error.result.code)
"""
    assert await printed(shared_remote, code) == "4 0\nsh -c 'echo why >&2; exit 4' failed with 4 (exited): why 4\n"


async def test_a_command_that_is_not_there_says_so(shared_remote: Jobs) -> None:
    code = "r = await cmd('no-such-program').exec(); print(r.code, r.success, r.reason, r.stderr)"
    sentence = "no command 'no-such-program' was found; check the spelling and PATH"
    assert await printed(shared_remote, code) == f"127 False spawn_failed {sentence}\n\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("cmd('ls', None)", "TypeError: the words of a command are text, paths or numbers, not NoneType: None"),
        ("cmd('')", "ValueError: cmd() needs the name of a command, as in cmd('ls', '-la')"),
        ("cmd('ls') | 3", "TypeError: a command can be piped into a command, not into int"),
        ("(cmd('ls') | cmd('cat')).exec(stdin='x')", "ValueError: a command has its stdin from a pipe or from text"),
        ("import os; os.mkdir('d'); os.chdir('d'); os.rmdir('../d'); cmd('ls').exec()", "FileNotFoundError"),
    ],
)
async def test_what_cannot_be_meant_is_said_and_nothing_starts(
    shared_remote: Jobs, tmp_path: Path, code: str, why: str
) -> None:
    ran = await python(shared_remote, code, cwd=str(tmp_path))
    assert ended(ran.job).end.exit_code == 1
    assert why in err(ran)
    assert await children(shared_remote, ran.job.id) == []


async def test_what_the_daemon_refuses_is_raised_in_its_words(shared_remote: Jobs) -> None:
    ran = await python(shared_remote, "cmd('echo', 'a\\0b').exec()")
    assert "CommandError: a command cannot contain a NUL byte" in err(ran)


async def test_paths_and_numbers_are_words(shared_remote: Jobs) -> None:
    code = "import pathlib; print(cmd('echo', pathlib.Path('/tmp'), 3, 0.5, '').exec().result().stdout)"
    assert await printed(shared_remote, code) == "/tmp 3 0.5 \n\n"


async def test_a_command_outlives_code_that_does_not_wait_for_it(shared_remote: Jobs, gate: Gate) -> None:
    ran = await python(shared_remote, f"cmd('sh', '-c', {gate.wait + '; exit 6'!r}).exec()")
    assert ended(ran.job).end.success
    (child,) = await children(shared_remote, ran.job.id)
    gate.open()
    assert (await end_of(shared_remote, child.id)).end.exit_code == 6


async def test_it_works_from_threads_and_from_forks(shared_remote: Jobs) -> None:
    code = """
import multiprocessing, threading
def echo(n): return cmd("echo", n).exec().result().stdout.strip()
found = {}
threads = [threading.Thread(target=lambda n=n: found.update({n: echo(n)})) for n in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(found.items()), multiprocessing.get_context("fork").Pool(2).map(echo, "ab"))
"""
    assert await printed(shared_remote, code) == "[(0, '0'), (1, '1'), (2, '2'), (3, '3')] ['a', 'b']\n"


async def test_nothing_of_it_shows_in_the_output(shared_remote: Jobs) -> None:
    code = "import sys\nprint('a')\nawait cmd('echo', 'b').exec()\nprint('c', file=sys.stderr)"
    ran = await python(shared_remote, code)
    assert (out(ran), err(ran)) == ("a\n", "c\n")


async def test_without_a_daemon_it_says_who_serves_the_home(local: Jobs) -> None:
    ran = await python(local, "cmd('true').exec()")
    assert f"process {os.getpid()} serves" in err(ran)
    assert "use bide.connect() there" in err(ran)


async def test_modules_in_the_folder_that_hide_pythons_own_do_not_hide_them_from_us(
    shared_remote: Jobs, tmp_path: Path
) -> None:
    for name in ("json", "threading", "errno", "traceback", "linecache", "asyncio", "select", "tokenize", "base64"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')")
    code = "session.vars.x = 1\nprint((await (cmd('echo', 'a') | cmd('cat'))).stdout)\n1/0"
    ran = await python(shared_remote, code, cwd=str(tmp_path))
    assert out(ran) == "a\n\n"
    assert err(ran).endswith("ZeroDivisionError: division by zero\n"), err(ran)
    assert err(ran).startswith('Traceback (most recent call last):\n  File "<string>", line 3, in <module>\n    1/0\n')
