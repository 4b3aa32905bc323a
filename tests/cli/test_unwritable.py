"""What is said can be written nowhere: one sentence, no traceback, and no job is lost or ended for it."""

import os
import subprocess

import pytest
from tests.cli.shell import PATIENCE, Shell


def into_a_full_disk(bide: Shell, *words: str, stderr: bool = False) -> tuple[int, str]:
    """The status, and what is said on the stream that is not full."""
    with open("/dev/full", "wb") as full:
        out, err = (subprocess.PIPE, full) if stderr else (full, subprocess.PIPE)
        done = subprocess.run(
            bide.command(*words), stdout=out, stderr=err, env=bide.env, cwd=bide.folder, timeout=PATIENCE, check=False
        )
    return done.returncode, (done.stdout if stderr else done.stderr).decode()


@pytest.mark.parametrize("words", [("ls",), ("ls", "--json"), ("--help",), ("version",), ("run", "--json", "-c", ":")])
def test_an_answer_that_cannot_be_written_is_said(bide: Shell, words: tuple[str, ...]) -> None:
    bide("run", "-c", ":")
    assert into_a_full_disk(bide, *words) == (74, "bide: the answer could not be written: No space left on device\n")


def test_a_foreground_run_says_where_the_output_is_kept(bide: Shell) -> None:
    status, said = into_a_full_disk(bide, "run", "-c", "echo kept")
    assert status == 74
    assert said.startswith("bide: the output cannot be written: No space left on device; ")
    assert bide.out("logs", said.split()[-1]) == "kept\n"


def test_a_background_run_tells_its_id_all_the_same(bide: Shell) -> None:
    status, said = into_a_full_disk(bide, "run", "--bg", "-c", "exit 3")
    assert status == 74
    first, second = said.splitlines()
    assert second == "bide: the answer could not be written: No space left on device"
    job = first.removeprefix("bide: job ").removesuffix(" was started")
    assert bide("wait", job).returncode == 3


def test_an_error_keeps_its_status_when_it_cannot_be_told(bide: Shell) -> None:
    assert into_a_full_disk(bide, "show", "nobody", "--json") == (97, "")
    assert into_a_full_disk(bide, "show", "nobody", stderr=True) == (97, "")


def test_a_job_keeps_its_status_when_its_end_cannot_be_told(bide: Shell) -> None:
    assert into_a_full_disk(bide, "run", "--timeout", "100ms", "--", "sleep", "30", stderr=True) == (124, "")


def test_a_reader_who_leaves_after_the_end_of_the_job_is_no_news(bide: Shell) -> None:
    with bide.started("run", "--name", "many", "--", "seq", "1000000") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.read(2) == b"1\n"
        assert bide("wait", "many").returncode == 0
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 141


def unread(bide: Shell, *words: str) -> int:
    """The status of a command whose output nobody reads."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as out:
        done = subprocess.run(
            bide.command(*words),
            check=False,
            stdout=out,
            stderr=subprocess.PIPE,
            env=bide.env,
            cwd=bide.folder,
            timeout=PATIENCE,
        )
    assert b"Traceback" not in done.stderr
    return done.returncode


PROJECT = """
[service.a]
command = "exec sleep 1000"
[service.b]
command = "exec sleep 1000"
depends_on = ["a"]
[service.c]
command = "exec sleep 1000"
depends_on = ["b"]
"""


def active(bide: Shell) -> int:
    return sum(job["phase"] != "ended" for job in bide.json("ls", "--all")["jobs"])


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["words", "json"])
def test_a_command_that_acts_on_several_things_does_all_of_it_unread(alone: Shell, as_json: tuple[str, ...]) -> None:
    (alone.folder / "bide.toml").write_text(PROJECT)
    assert unread(alone, "up", *as_json) == 141
    assert active(alone) == 3
    assert unread(alone, "service", "restart", "b", *as_json) == 141
    assert active(alone) == 3
    assert unread(alone, "down", *as_json) == 141
    assert active(alone) == 0
    jobs = [alone.background("exec sleep 1000") for _ in range(3)]
    assert unread(alone, "pause", *jobs, *as_json) == 141
    assert all(job["paused"] for job in alone.json("ls")["jobs"] if job["phase"] == "running")
    assert unread(alone, "resume", *jobs, *as_json) == 141
    assert unread(alone, "kill", jobs[0], "nobody", *jobs[1:], *as_json) == 97
    assert active(alone) == 0
    assert unread(alone, "forget", *jobs, *as_json) == 141
    assert not {job["id"] for job in alone.json("ls", "--all")["jobs"]} & set(jobs)
    alone.background("exec sleep 1000")
    assert unread(alone, "daemon", "stop", "--kill", *as_json) == 141
    assert active(alone) == 0
    assert unread(alone, "gc", *as_json) == 141


def test_a_full_disk_stops_no_command_that_acts_on_several_things(alone: Shell) -> None:
    (alone.folder / "bide.toml").write_text(PROJECT)
    assert alone("up").returncode == 0
    assert into_a_full_disk(alone, "down") == (74, "bide: the answer could not be written: No space left on device\n")
    assert active(alone) == 0
