"""Lists and details, in a pipe."""

from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from tests.cli.shell import Shell

from bide import connect
from bide.cli.details import details
from bide.cli.table import cells, fit, pad
from bide.cli.times import local, parse_instant, seconds_since


def test_a_list_has_a_line_per_job_with_its_true_status(bide: Shell) -> None:
    jobs = {
        bide.background("exit 3", "--name", "listed"): "exit 3",
        bide.background("kill -SEGV $$"): "SIGSEGV",
        bide.background("sleep 60", "--timeout", "50ms"): "timed out",
    }
    bide("wait", *jobs)
    rows = {line.split()[0]: line for line in bide.out("ls", "--limit", "20").splitlines()}
    assert rows["ID"].split() == ["ID", "NAME", "STATUS", "AGE", "TIME", "COMMAND"]
    assert all(status in rows[job] for job, status in jobs.items())
    assert "\x1b" not in "".join(rows.values())


async def _run_some(home: Path, number: int) -> None:
    async with connect(home) as jobs:
        for _ in range(number):
            await jobs.run("true")


def test_the_plain_list_has_what_is_active_and_what_is_new(alone: Shell) -> None:
    active = alone.background("sleep 60", "--name", "old-but-active")
    anyio.run(_run_some, alone.home, 22)
    ids = [line.split()[0] for line in alone.out("ls").splitlines()[1:]]
    assert len(ids) == 21
    assert ids[-1] == active
    assert len(alone.json("ls", "--all")["jobs"]) == 23
    assert alone.json("ls")["next"]
    assert len(alone.json("ls", "--limit", "5")["jobs"]) == 5


def test_a_list_can_go_on_where_another_stopped(bide: Shell) -> None:
    for _ in range(3):
        bide("run", "--label", "paged", "--", "true")
    first = bide.json("ls", "--label", "paged", "--limit", "2")
    second = bide.json("ls", "--label", "paged", "--limit", "2", "--before", first["next"])
    assert [len(first["jobs"]), len(second["jobs"])] == [2, 1]
    assert {job["id"] for job in first["jobs"]}.isdisjoint(job["id"] for job in second["jobs"])


def test_filters_pick(bide: Shell) -> None:
    done, failed = bide.background("true", "--label", "picked"), bide.background("exit 2", "--label", "picked")
    bide("wait", done, failed)
    picked = ("ls", "--label", "picked")
    assert [job["id"] for job in bide.json(*picked, "--phase", "ended")["jobs"]] == [failed, done]
    assert bide.json(*picked, "--reason", "killed")["jobs"] == []
    assert bide.json(*picked, "--since", "1h", "--until", "0s")["jobs"]
    assert bide.json(*picked, "--until", "1h")["jobs"] == []
    assert b"no jobs" in bide(*picked, "--name", "nobody").stderr
    done = bide(*picked, "--reason", "timedout")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"bide: there is no reason 'timedout'; use exited, signaled, killed, timed_out, ")


def test_an_empty_home_says_how_to_begin(alone: Shell) -> None:
    done = alone("ls")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"bide: no jobs yet; start one with: bide run -- CMD\n"


def test_a_command_cannot_break_the_list(bide: Shell) -> None:
    job = bide.background("true\n\n# \x1b[2J\x07 evil")
    bide("wait", job)
    line = next(line for line in bide.out("ls").splitlines() if line.startswith(job))
    assert line.endswith(r"true # \x07 evil")


def test_the_object_of_a_job_has_what_scripts_rely_on(bide: Shell) -> None:
    job = bide.background("echo x; exit 3", "--name", "shown", "--label", "l")
    bide("wait", job)
    shown = bide.json("show", job)
    fields = "id name kind phase exit_code signal reason by label owner session started_at ended_at duration_ms usage"
    assert set(fields.split()) <= set(shown)
    assert (shown["id"], shown["name"], shown["label"]) == (job, "shown", "l")
    assert (shown["phase"], shown["exit_code"], shown["reason"]) == ("ended", 3, "exited")


def test_the_details_are_readable(bide: Shell) -> None:
    job = bide.background(
        "echo x; exit 3", "--name", "read", "--timeout", "1m", "--stdin", "--no-fence", "--pids", "500", "--cpus", "1.5"
    )
    bide("wait", job)
    page = dict(line.split(None, 1) for line in bide.out("show", job).splitlines())
    assert page["job"] == job
    assert page["name"] == "read"
    assert page["status"] == "exited with 3"
    assert page["with"] == "stdin, no fence"
    assert "timeout 1m 00s" in page["limits"]
    assert "pids 500 (" in page["limits"]
    assert "cpus 1.5 (" in page["limits"], "and by what, or that it is not"
    assert page["stdout"] == "2 B"
    assert page["used"].startswith("cpu ")


def test_usage_that_is_not_known_is_not_shown_as_zero(bide: Shell) -> None:
    job = bide.json("show", bide.json("run", "-c", "true")["job"]["id"])
    unknown = {"usage": job["usage"] | dict.fromkeys(("cpu_ms", "memory_peak_bytes", "read_bytes", "written_bytes"))}
    assert dict(details(job | unknown))["used"] == "unknown"
    assert dict(details(job | unknown | {"phase": "running"}))["used"] == "not sampled yet"


def test_of_a_lost_job_nobody_says_how_long_it_ran(bide: Shell) -> None:
    job = bide.json("show", bide.json("run", "-c", "true")["job"]["id"])
    page = dict(details(job | {"reason": "lost", "error": "nobody saw it", "taken_over": 1}))
    assert page["ended"].endswith(", or before")
    assert page["keeper"] == "replaced once"
    assert ", ran " in dict(details(job))["ended"]
    assert dict(details(job | {"taken_over": 2}))["keeper"] == "replaced 2 times"


def test_what_outlived_a_job_is_shown(bide: Shell) -> None:
    job = bide.background("sleep 61 > /dev/null 2>&1 &")
    bide("wait", job)
    (pid,) = [process["pid"] for process in bide.json("show", job)["alive"]]
    assert f"\nalive     {pid} " in bide.out("show", job)
    assert bide("kill", job).returncode == 0


def test_a_question_is_shown_with_how_to_answer(bide: Shell) -> None:
    job = bide.background("printf 'Continue? '; read answer; echo $answer", "--pty")
    bide("wait", "--until-quiet", "10ms", "--timeout", "5s", job)
    shown = bide.json("show", job)
    while shown["waiting"] is None:
        bide("wait", "--timeout", "50ms", job)
        shown = bide.json("show", job)
    assert f"Continue?  (answer: bide send {job} TEXT)" in bide.out("show", job)
    assert [job, "-", "waiting"] in [line.split()[:3] for line in bide.out("ls").splitlines()]
    bide("send", job, "yes")
    assert bide("wait", job).returncode == 0


def test_instants_are_read_in_every_usual_form() -> None:
    assert parse_instant("2026-01-31T08:00:00Z") == "2026-01-31T08:00:00.000Z"
    assert parse_instant("2026-01-31T08:00:00+02:00") == "2026-01-31T06:00:00.000Z"
    assert seconds_since(parse_instant("2h")) == pytest.approx(7200, abs=5)
    assert seconds_since(datetime.now(UTC).isoformat()) == pytest.approx(0, abs=5)
    assert local(None) == "-"


def test_wide_characters_take_two_columns() -> None:
    assert cells("世界") == 4
    assert fit("世界世界", 5) == "世界…"
    assert fit("abc", 3) == "abc"
    assert pad("世", 4) == "世  "
