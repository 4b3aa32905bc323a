"""`bide attend`: an owner is there while a program runs."""

import signal

import pytest
from tests.cli.shell import Shell
from tests.support import homes, past, processes


@pytest.fixture
def shell(alone: Shell) -> Shell:
    past.settle(alone.home, owner_grace="0.3s")
    return alone


def test_the_programs_status_and_output_are_passed_on(shell: Shell) -> None:
    done = shell("attend", "agent-1", "--", "sh", "-c", "echo hello; exit 3")
    assert (done.returncode, done.stdout) == (3, b"hello\n")
    assert shell("attend", "agent-1", "--", "sh", "-c", "kill -9 $$").returncode == 137


@pytest.mark.parametrize(("program", "status"), [("/no/such/program", 127), ("/", 126)])
def test_a_program_that_cannot_be_run_is_said(shell: Shell, program: str, status: int) -> None:
    done = shell("attend", "agent-1", "--", program)
    assert done.returncode == status
    assert f"bide: cannot run '{program}':".encode() in done.stderr


def test_a_job_ends_with_the_program(shell: Shell) -> None:
    start = "bide run --bg --name server --owner agent-1 --lifetime owner -- sleep 1000"
    script = f"{start.replace('bide', ' '.join(shell.command()))}; sleep 0.8; {' '.join(shell.command())} ls"
    done = shell("attend", "agent-1", "--", "sh", "-c", script)
    assert b"running" in done.stdout
    waited = shell("wait", "server")
    assert waited.returncode == 143
    assert shell.json("show", "server")["by"] == "owner gone"


def test_it_is_there_for_the_next_daemon_as_well(shell: Shell) -> None:
    with shell.started("attend", "agent-1", "--json") as attending:
        assert attending.stdout is not None
        assert attending.stdout.readline() == b'{"attending": "agent-1"}\n'
        shell("run", "--bg", "--name", "server", "--owner", "agent-1", "--lifetime", "owner", "--", "sleep", "1000")
        processes.end(homes.daemon_pid(shell.home), signal.SIGKILL)
        assert shell("wait", "server", "--timeout", "1s").returncode == 75
    assert shell("wait", "server", "--timeout", "15s").returncode == 143


def test_a_signal_reaches_the_program(shell: Shell) -> None:
    script = "trap 'echo told; exit 5' TERM; echo there; while :; do sleep 0.05; done"
    with shell.started("attend", "agent-1", "--", "sh", "-c", script) as attending:
        assert attending.stdout is not None
        assert attending.stdout.readline() == b"there\n"
        attending.send_signal(signal.SIGTERM)
        assert attending.stdout.readline() == b"told\n"
        assert attending.wait(20) == 5
