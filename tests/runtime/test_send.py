"""`send`: text, keys, the end of input, and signals."""

import contextlib
import signal
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.gates import Gate
from tests.support.patience import LONG, end_of, eventually

from bide import Reason, Stream, Until
from bide.api import Jobs
from bide.keeper import told
from bide.model.errors import BadRequest, JobEnded, JobNotFound, NoStdin


async def test_input_sent_before_the_program_reads_is_not_lost(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; cat", stdin=True, background=True)).job.id
    for number in range(20):
        await jobs.send(job, data=b"%d\n" % number)
    await jobs.send(job, eof=True)
    gate.open()
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data == b"".join(b"%d\n" % number for number in range(20))


async def test_input_larger_than_a_pipe_arrives_whole(jobs: Jobs) -> None:
    data = bytes(range(256)) * 4096
    job = (await jobs.run("cat", stdin=True, background=True)).job.id
    await jobs.send(job, data=data, eof=True)
    await end_of(jobs, job)
    assert (await jobs.read(job, limit=2 * len(data))).data == data


async def test_input_closed_at_once_is_the_end_of_input(jobs: Jobs) -> None:
    job = (await jobs.run("cat; echo over", stdin=True, background=True)).job.id
    await jobs.send(job, eof=True)
    await end_of(jobs, job)
    assert (await jobs.read(job)).data == b"over\n"


async def test_a_signal_reaches_the_process_group(jobs: Jobs) -> None:
    script = "trap 'echo heard' USR1; echo up; while :; do sleep 0.05; done"
    job = (await jobs.run(script, background=True)).job.id
    await jobs.wait([job], until=Until(log="up"), timeout=LONG)
    sent = await jobs.send(job, signal=signal.SIGUSR1)
    assert sent.phase_name == "running"
    waited = await jobs.wait([job], until=Until(log="heard"), timeout=LONG)
    assert waited.met == "log"


async def test_a_signal_that_ends_a_job_is_not_a_kill(jobs: Jobs) -> None:
    job = (await jobs.run("sleep 1000", background=True)).job.id
    await jobs.send(job, signal=signal.SIGINT)
    end = (await end_of(jobs, job)).end
    assert (end.reason, end.signal, end.exit_code, end.by) == (Reason.SIGNALED, signal.SIGINT, None, "")
    assert end.status == 130


async def test_a_job_can_be_stopped_and_continued(local: Jobs) -> None:
    script = "echo up; for i in 1 2 3; do sleep 0.02; done; exit 5"
    job = (await local.run(script, background=True)).job.id
    await local.send(job, signal=signal.SIGSTOP)
    await local.send(job, signal=signal.SIGCONT)
    assert (await end_of(local, job)).end.exit_code == 5


async def test_keys_on_a_terminal_are_signals_and_the_end_of_input(jobs: Jobs) -> None:
    script = "trap 'echo interrupted' INT; echo up; read -r line; cat; echo over"
    job = (await jobs.run(script, pty=True, background=True)).job.id
    await jobs.wait([job], until=Until(log="up"), timeout=LONG)
    await jobs.send(job, data=b"\x03")
    await jobs.wait([job], until=Until(log="interrupted"), timeout=LONG)
    await jobs.send(job, data=b"first\nsecond\n")
    await jobs.send(job, data=b"\x04")
    await end_of(jobs, job)
    assert (await jobs.read(job)).data.endswith(b"over\r\n")


async def test_a_terminal_is_closed_with_eof(jobs: Jobs) -> None:
    job = (await jobs.run("cat; echo over", pty=True, background=True)).job.id
    await jobs.send(job, data=b"x\n", eof=True)
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data.endswith(b"over\r\n")


async def test_a_terminal_has_a_size_and_stderr_is_on_it(jobs: Jobs) -> None:
    ran = await jobs.run("stty size; echo err >&2", pty=True)
    assert ran.out is not None
    assert ran.err is not None
    assert ran.out.data == b"40 120\r\nerr\r\n"
    assert ran.err.data == b""


@pytest.mark.parametrize(
    ("lines", "columns", "size"), [("24", "80", b"24 80"), ("", "x", b"40 120"), ("0", "1001", b"40 120")]
)
async def test_the_environment_says_how_large_a_terminal_is(local: Jobs, lines: str, columns: str, size: bytes) -> None:
    ran = await local.run("stty size", pty=True, env={"LINES": lines, "COLUMNS": columns})
    assert ran.out is not None
    assert ran.out.data == size + b"\r\n"


async def test_much_output_on_a_terminal_is_not_lost(local: Jobs) -> None:
    ran = await local.run("seq 50000", pty=True)
    found = await local.read(ran.job.id, limit=1 << 20)
    assert found.data == b"".join(b"%d\r\n" % number for number in range(1, 50001))


async def test_a_job_without_stdin_cannot_be_sent_text(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    sentence = rf"job {job} has no open stdin \(it was started without one\); start it with stdin or a pty to send it"
    with pytest.raises(NoStdin, match=sentence) as refused:
        await jobs.send(job, data=b"x")
    assert refused.value.code == "no_stdin"


async def test_a_closed_stdin_cannot_be_sent_text(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, stdin=True, background=True)).job.id
    await jobs.send(job, eof=True)
    with pytest.raises(NoStdin, match=r"has no open stdin \(it was closed\)"):
        await jobs.send(job, data=b"x")
    with pytest.raises(NoStdin, match=r"has no open stdin \(it was closed\)"):
        await jobs.send(job, eof=True)


async def test_an_ended_job_cannot_be_sent_anything(jobs: Jobs) -> None:
    job = (await jobs.run("exit 1", stdin=True, background=True)).job.id
    await end_of(jobs, job)
    with pytest.raises(JobEnded, match=rf"job {job} has ended \(exited\); nothing can be sent to it") as refused:
        await jobs.send(job, data=b"x")
    assert refused.value.code == "job_ended"
    with pytest.raises(JobEnded):
        await jobs.send(job, signal=15)


async def test_what_is_no_signal_is_refused(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(gate.wait, background=True)).job.id
    for number in (0, -1, 65, 4096):
        with pytest.raises(BadRequest, match=f"{number} is not a signal; use 1 to 64"):
            await jobs.send(job, signal=number)


async def test_sending_to_an_unknown_job_says_so(jobs: Jobs) -> None:
    with pytest.raises(JobNotFound, match="no job 'nobody' here"):
        await jobs.send("nobody", data=b"x")


async def test_a_program_that_never_reads_gets_ten_megabytes_when_it_does(local: Jobs, gate: Gate) -> None:
    job = (await local.run(f"{gate.wait}; wc -c", stdin=True, background=True)).job.id
    for _ in range(10):
        await local.send(job, data=bytes(1_000_000))
    await local.send(job, eof=True)
    gate.open()
    await end_of(local, job)
    assert (await local.read(job)).data == b"10000000\n"


async def test_a_reader_of_two_lines_leaves_the_rest_and_ends(jobs: Jobs) -> None:
    program = "import sys; print(input() + input(), file=sys.stderr)"
    job = (await jobs.run([sys.executable, "-c", program], stdin=True, background=True)).job.id
    await jobs.send(job, data=b"a\nb\nc\n")
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job, stream=Stream.ERR)).data == b"ab\n"


async def test_an_interactive_shell_is_talked_to_line_by_line(jobs: Jobs) -> None:
    job = (await jobs.run(["bash", "--norc", "-i"], pty=True, env={"PS1": "$ "}, background=True)).job.id

    async def shown(text: bytes) -> None:
        async def holds() -> bool:
            return text in (await jobs.read(job)).data

        await eventually(holds)

    await shown(b"$ ")
    await jobs.send(job, data=b"echo $((6 * 7))\n")
    await shown(b"\r42\r\n")
    await jobs.send(job, data=b"exit 3\n")
    assert (await end_of(jobs, job)).end.exit_code == 3


async def test_input_with_its_place_arrives_once_however_often_it_is_sent(jobs: Jobs) -> None:
    job = (await jobs.run("cat", stdin=True, background=True)).job.id
    for data, at in ((b"one ", 0), (b"one ", 0), (b"one two ", 0), (b"two three", 4), (b"", 13)):
        await jobs.send(job, data=data, at=at)
    with pytest.raises(BadRequest, match="has 13 bytes so far; nothing can be added at 20"):
        await jobs.send(job, data=b"far", at=20)
    sent = await jobs.send(job, at=13, eof=True)
    assert sent.facts is None or sent.facts.input is None or sent.facts.input.size == 13
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data == b"one two three"


async def test_input_with_a_key_arrives_once_however_often_it_is_sent(jobs: Jobs) -> None:
    job = (await jobs.run("cat", stdin=True, background=True)).job.id
    for key, data in (("a", b"one "), ("a", b"one "), ("b", b"one "), ("a", b"one "), ("c", b"two"), ("b", b"one ")):
        await jobs.send(job, data=data, key=key)
    for _ in range(2):
        with contextlib.suppress(JobEnded):
            await jobs.send(job, data=b"!", eof=True, key="d")
    assert (await end_of(jobs, job)).end.success
    assert (await jobs.read(job)).data == b"one one two!"


async def test_a_key_that_was_put_on_record_alone_does_not_lose_its_input(local: Jobs, home: Path) -> None:
    job = (await local.run("cat", stdin=True, background=True)).job.id
    told.mark(str(home / "jobs" / job), "a", 0)
    await local.send(job, data=b"from another\n")
    await local.send(job, data=b"mine\n", key="a")
    await local.send(job, data=b"mine\n", key="a", eof=True)
    assert (await end_of(local, job)).end.success
    assert (await local.read(job)).data == b"from another\nmine\n"


@pytest.mark.parametrize("key", ["", "x" * 201, "two\nlines"])
async def test_what_cannot_be_a_key_is_refused(jobs: Jobs, key: str) -> None:
    job = (await jobs.run("cat", stdin=True, background=True)).job.id
    with pytest.raises(BadRequest, match="a key has 1 to 200 printable characters"):
        await jobs.send(job, data=b"x", key=key)


async def test_how_much_input_was_taken_is_told(jobs: Jobs, gate: Gate) -> None:
    job = (await jobs.run(f"{gate.wait}; cat > /dev/null", stdin=True, background=True)).job.id
    sent = await jobs.send(job, data=bytes(1_000_000))
    assert sent.facts is not None
    assert sent.facts.input is not None
    assert sent.facts.input.size == 1_000_000
    assert sent.facts.input.taken < 1_000_000
    gate.open()

    async def all_taken() -> bool:
        facts = (await jobs.get(job)).facts
        return facts is not None and facts.input is not None and facts.input.taken == 1_000_000

    await eventually(all_taken)


async def test_input_that_is_larger_than_a_request_arrives_whole(jobs: Jobs) -> None:
    data = bytes(range(256)) * 4 * 1024 * 12
    job = (await jobs.run("sha256sum; sha256sum >/dev/null", stdin=True, background=True)).job.id
    await jobs.send(job, data=data, eof=True)
    await jobs.wait([job])
    assert (await jobs.read(job)).data.decode().split()[0] == sha256(data).hexdigest()
