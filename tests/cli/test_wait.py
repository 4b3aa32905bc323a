"""Waiting: the status is the job's, and a timeout is a result."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A file that jobs wait for, removed at the end so that none is left."""
    path = tmp_path / "gate"
    yield path
    path.touch()


def held(gate: Path, then: str = "true") -> str:
    return f"while [ ! -e {gate} ]; do sleep 0.02; done; {then}"


def test_the_status_is_the_jobs(bide: Shell) -> None:
    done = bide("wait", bide.background("exit 5"))
    assert done.returncode == 5
    assert b"exited with 5, ran " in done.stdout
    assert done.stderr == b""


def test_a_name_works_wherever_an_id_does(bide: Shell) -> None:
    job = bide.background("echo by name; exit 4", "--name", "by-name")
    assert bide("wait", "by-name").returncode == 4
    assert bide.out("logs", "by-name") == "by name\n"
    assert bide.json("show", "by-name")["id"] == job


def test_for_any_the_status_is_of_the_one_that_ended(bide: Shell, gate: Path) -> None:
    slow, quick = bide.background(held(gate)), bide.background("exit 3")
    done = bide("wait", "--any", slow, quick)
    assert done.returncode == 3
    assert slow.encode() not in done.stdout
    gate.touch()
    bide("wait", slow)


def test_for_any_of_several_that_have_ended_the_status_is_of_the_first_to_end(bide: Shell, gate: Path) -> None:
    later, sooner = bide.background(held(gate, "exit 5")), bide.background("exit 3")
    bide("wait", sooner)
    gate.touch()
    bide("wait", later)
    assert bide("wait", "--any", later, sooner).returncode == 3


def test_for_all_the_status_is_the_first_that_is_not_0(bide: Shell) -> None:
    jobs = [bide.background(f"exit {status}") for status in (0, 6, 7)]
    assert bide("wait", *jobs).returncode == 6
    assert bide("wait", jobs[0], jobs[0]).returncode == 0


def test_a_timeout_is_said_and_the_job_goes_on(bide: Shell, gate: Path) -> None:
    job = bide.background(held(gate, "exit 8"))
    done = bide("wait", "--timeout", "100ms", job)
    assert (done.returncode, done.stdout) == (75, b"")
    assert done.stderr.decode() == f"bide: time is up after 100ms; not ended: {job} running\n"
    gate.touch()
    assert bide("wait", job).returncode == 8


def test_in_json_the_answer_is_the_waits(bide: Shell) -> None:
    job = bide.background("exit 2")
    answer = bide.json("wait", job)
    assert answer["met"] == "ended"
    assert not answer["timed_out"]
    assert answer["jobs"][0]["exit_code"] == 2


def test_a_line_of_output_can_be_waited_for(bide: Shell, gate: Path) -> None:
    job = bide.background(f"echo server ready on 80; {held(gate)}")
    done = bide("wait", "--until-log", r"ready on \d+", job)
    assert (done.returncode, done.stdout) == (0, b"matched: server ready on 80\n")
    gate.touch()
    bide("wait", job)


def test_a_long_line_is_shown_in_part_and_told_whole(bide: Shell) -> None:
    job = bide.background("printf '%09999d READY' 0")
    assert bide.out("wait", "--until-log", "READY", job) == f"matched: {'0' * 499}…\n"
    assert bide.json("wait", "--until-log", "READY", job)["match"]["line"] == f"{'0' * 9999} READY"


def test_quiet_can_be_waited_for(bide: Shell, gate: Path) -> None:
    job = bide.background(f"echo once; {held(gate)}")
    done = bide("wait", "--until-quiet", "50ms", job)
    assert (done.returncode, done.stdout) == (0, b"quiet for 50ms\n")
    gate.touch()
    bide("wait", job)


def test_a_port_and_a_url_can_be_waited_for(bide: Shell, gate: Path) -> None:
    job = bide.background(held(gate))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever).start()
        port = str(server.server_address[1])
        assert bide("wait", "--until-port", port, job).stdout == f"port {port} accepts\n".encode()
        assert b"answers" in bide("wait", "--until-http", f"http://127.0.0.1:{port}/", job).stdout
        server.shutdown()
    gate.touch()
    bide("wait", job)


def test_an_end_before_the_condition_never_reads_as_success(bide: Shell) -> None:
    done = bide("wait", "--until-log", "never written", bide.background("true"))
    assert done.returncode == 1
    assert done.stderr == b"bide: the jobs ended before the condition was met\n"
    assert bide("wait", "--until-log", "never written", bide.background("exit 9")).returncode == 9


def test_an_interrupted_wait_leaves_the_job_alone(bide: Shell, gate: Path) -> None:
    job = bide.background(held(gate, "exit 3"))
    with bide.terminal("wait", job) as terminal:
        terminal.until(b"running")
        terminal.interrupt()
        assert terminal.end() == 130
    gate.touch()
    assert bide("wait", job).returncode == 3
