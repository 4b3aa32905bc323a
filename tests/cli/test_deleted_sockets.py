"""A job deletes the sockets of its home: the daemon makes them anew, and no command misleads."""

import os
import signal

import anyio
from tests.cli.shell import Shell
from tests.support import homes, processes
from tests.support.patience import eventually

SOCKETS = ("bide.sock", "mcp.sock", "notify.sock")


def delete_sockets(shell: Shell) -> str:
    """Have a job delete them; its id."""
    return shell.background("rm $BIDE_HOME/*.sock; echo deleted; exec sleep 1000")


def test_deleted_sockets_are_made_anew_by_the_daemon_that_runs(alone: Shell) -> None:
    other = alone.background("exec sleep 1000")
    pid = homes.daemon_pid(alone.home)
    with alone.started("run", "-c", "sleep 1000") as run:
        anyio.run(eventually, lambda: len(alone.json("ls")["jobs"]) == 2)
        job = delete_sockets(alone)
        assert alone("wait", "--until-log", "deleted", job).returncode == 0
        anyio.run(eventually, lambda: all((alone.home / name).is_socket() for name in SOCKETS))
        assert alone.json("daemon", "status")["pid"] == pid
        assert run.poll() is None, "connections stay"
        # An end is heard by the socket for notes, also of a job that was there before.
        assert alone("kill", other).returncode == 0
        assert alone.json("show", other)["reason"] == "killed"
        assert alone.out("run", "-c", "echo on") == "on\n"
        assert {one["check"]: one["level"] for one in alone.json("doctor")["checks"]}["daemon"] == "ok"
    assert homes.daemon_pid(alone.home) == pid


def test_a_stop_finds_the_daemon_whose_sockets_were_deleted(alone: Shell) -> None:
    delete_sockets(alone)
    pid = homes.daemon_pid(alone.home)
    assert "goes on" in alone.out("daemon", "stop")
    assert not processes.is_alive(pid)


def test_a_daemon_that_cannot_make_its_socket_is_named(alone: Shell) -> None:
    alone.out("daemon", "start")
    pid = homes.daemon_pid(alone.home)
    os.kill(pid, signal.SIGSTOP)
    try:
        (alone.home / "bide.sock").unlink()
        for words in (("daemon", "stop"), ("daemon", "status")):
            done = alone(*words)
            assert done.returncode == 99
            assert f"process {pid} serves it, and nobody listens at" in done.stderr.decode()
            assert f"kill -9 {pid}" in done.stderr.decode()
        doctor = {one["check"]: one for one in alone.json("doctor")["checks"]}["daemon"]
        assert doctor["level"] == "fail"
        assert f"process {pid}" in doctor["text"]
    finally:
        os.kill(pid, signal.SIGCONT)
    anyio.run(eventually, (alone.home / "bide.sock").exists)
