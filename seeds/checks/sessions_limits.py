"""Seed 001: limits and the life of sessions (92-98)."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from seeds.checks.sessions_records import jobs, opened, over
from seeds.mcp import Client
from seeds.registry import check
from seeds.trial import Trial, brief

MIB = 1 << 20


@check(92)
def a_mebibyte(t: Trial) -> None:
    """Of a stream 1 MiB is shown, from its end; the flag is set and the cut is logged."""
    c = opened(t)
    code = "import sys\nfor n in range(150000):\n    sys.stdout.write(f'{n:09d}\\n')\nsys.stderr.write('small')"
    answer = c.call("exec", {"sessionId": "s1", "code": code})
    job = answer.data["jobId"]
    one = c.call("getJobOutput", {"sessionId": "s1", "jobId": job}).data
    t.claim(
        one["stdout"].endswith("000149999\n") and len(one["stdout"]) <= MIB,
        f"{len(one['stdout'])} bytes, the last ones intact",
    )
    t.claim(len(one["stdout"]) > MIB - 100, "and as many as fit")
    t.equal(one["truncated"], {"stdout": True, "stderr": False}, "truncated")
    listed = next(o for o in jobs(c) if o["id"] == job)
    t.equal([listed["stdoutTruncated"], listed["stderrTruncated"]], [True, False], "flags of the list")
    exact = c.call("exec", {"sessionId": "s1", "code": f"print('x' * {MIB - 1})"}).data["jobId"]
    t.equal(next(o["stdoutTruncated"] for o in jobs(c) if o["id"] == exact), False, "exactly 1 MiB: truncated")
    t.claim(
        len(json.dumps(answer.raw)) < 1.6 * MIB,
        f"the answer of exec has {len(json.dumps(answer.raw)) // 1024} KiB, not the output twice",
    )
    logs = t.bide("daemon", "logs").out + t.bide("events", "--all").out
    t.claim(job in logs, "the daemon's log or events tell of it")


def print_bytes(c: Client, size: int, session: str = "s1") -> str:
    """Run code that prints so many bytes."""
    return str(c.call("exec", {"sessionId": session, "code": f"print('y' * {size})"}).data["jobId"])


@check(93)
def fifty_mebibytes(t: Trial) -> None:
    """Past the limit of a session, jobs and vars together, the oldest completed jobs go; running ones never."""
    t.settings("[sessions]\nbytes = '3M'\nkeep = '0s'\n")
    c = opened(t)
    runs = c.call(
        "exec",
        {"sessionId": "s1", "code": "print('r' * 500000, flush=True); import time; time.sleep(60)", "background": True},
    ).data["jobId"]
    made = [print_bytes(c, 700_000) for _ in range(6)]
    t.until(lambda: made[0] not in [one["id"] for one in jobs(c)], "the first to go", 25)
    t.rest(2)
    left = [one["id"] for one in jobs(c)]
    t.claim(runs in left, "the running one, the oldest of all, stays")
    kept = [one for one in made if one in left]
    t.claim(
        kept == made[-len(kept) :] and 3 <= len(kept) <= 4, f"the newest stay: {len(kept)} of 6 of 700 kB, limit 3 MiB"
    )
    d = t.client("sessions")
    d.call("startSession", {"id": "v"})
    made = [print_bytes(d, 700_000, "v") for _ in range(3)]
    t.rest(2)
    t.equal([one in [o["id"] for o in jobs(d, "v")] for one in made], [True] * 3, "2.1 MB of jobs alone: kept")
    d.call(
        "exec", {"sessionId": "v", "code": "session.vars['big'] = 'z' * 900_000\nsession.vars['big2'] = 'z' * 900_000"}
    )
    t.until(lambda: made[0] not in [one["id"] for one in jobs(d, "v")], "with 1.8 MB of vars: the oldest to go", 25)
    t.claim(True, "vars count")
    e = t.client("sessions")
    e.call("startSession", {"id": "w"})
    made = [print_bytes(e, 700_000, "w") for _ in range(3)]
    e.call("updateSession", {"sessionId": "w", "vars": {"big": "z" * 1_900_000}})
    t.until(
        lambda: made[0] not in [one["id"] for one in jobs(e, "w")],
        "with vars set by updateSession: the oldest to go",
        25,
    )


@check(94)
def five_minutes(t: Trial) -> None:
    """Ended jobs are kept five minutes, even over the limit."""
    t.settings("[sessions]\nbytes = '1M'\n")
    c = opened(t)
    made = [print_bytes(c, 700_000) for _ in range(5)]
    t.rest(4)
    left = [one["id"] for one in jobs(c)]
    t.claim(all(one in left for one in made), f"{len(left)} of 5 are kept at 3.5 MB of 1 MiB")
    t.claim(
        len(c.call("getJobOutput", {"sessionId": "s1", "jobId": made[0]}).data["stdout"]) > 699_999, "with their output"
    )


@check(95)
def ten_sessions(t: Trial) -> None:
    """The eleventh session evicts the least recently active one, whatever runs in it."""
    c = t.client("sessions")
    for n in range(10):
        c.call("startSession", {"id": f"s{n}"})
        c.call("exec", {"sessionId": f"s{n}", "code": "1"})
    c.call("exec", {"sessionId": "s0", "code": "1"})
    busy = c.call("exec", {"sessionId": "s1", "code": "import time; time.sleep(60)", "background": True}).data
    for n in range(2, 10):
        c.call("exec", {"sessionId": f"s{n}", "code": "1"})
    c.call("exec", {"sessionId": "s0", "code": "1"})
    made = c.call("startSession", {"id": "s10"})
    ids = {one["id"] for one in c.call("listSessions").data["sessions"]}
    t.equal(
        sorted(ids),
        sorted({f"s{n}" for n in range(11)} - {"s1"}),
        "left: the least recently active one, though busy, went;",
    )
    t.claim("s1" in json.dumps(made.data.get("evicted", "")), f"named: {made.data.get('evicted')}")
    made = c.call("startSession", {"id": "s11"})
    t.claim("s2" in json.dumps(made.data.get("evicted", "")), f"then s2: {made.data.get('evicted')}")
    gone = c.call("exec", {"sessionId": "s2", "code": "1"})
    t.claim(gone.error and "evict" in gone.text, f"it says what happened: {brief(gone.text, 100)}")
    status = next((one["phase"] for one in t.jobs() if one["pid"] == busy["pid"]), None)
    dead = status == "ended"
    said = c.call("getJobOutput", {"sessionId": "s1", "jobId": busy["jobId"]})
    t.claim(dead or not said.error, f"its job is killed ({dead}) or still within reach ({not said.error})")
    other = t.client("sessions", name="other")
    other.call("startSession", {"id": "theirs"})
    t.equal(len(c.call("listSessions").data["sessions"]), 10, "another client's session counts for itself:")


@check(96)
def lifecycle(t: Trial) -> None:
    """startSession, updateSession, listSessions, endSession, which removes the session with all its jobs."""
    c = t.client("sessions")
    made = c.call("startSession", {}).data
    name = made.get("id")
    t.claim(name and made.get("sessionId") == name, f"an id is made: {name}")
    (t.folder / "sub").mkdir()
    c.call(
        "updateSession",
        {"sessionId": name, "cwd": str(t.folder / "sub"), "env": {"A": "1", "B": "2"}, "vars": {"v": 1, "w": 2}},
    )
    c.call("updateSession", {"sessionId": name, "unset": ["B"], "drop": ["w"]})
    said = c.call(
        "exec",
        {
            "sessionId": name,
            "code": "import os; print(os.path.basename(os.getcwd()), os.environ.get('A'), os.environ.get('B'), dict(session.vars))",
        },
    ).data["stdout"]
    t.equal(said, "sub 1 None {'v': 1}\n", "updated")
    back = c.call(
        "exec",
        {
            "sessionId": name,
            "code": "import subprocess, time; subprocess.Popen(['sleep', '84.5']); time.sleep(60)",
            "background": True,
        },
    ).data
    t.until(lambda: t.alive("sleep 84.5"))
    ended = c.call("endSession", {"sessionId": name})
    t.claim(not ended.error and not t.alive("sleep 84.5"), f"ended, running ones killed: {brief(ended.data, 100)}")
    t.equal(c.call("listSessions").data["sessions"], [], "sessions left")
    t.claim(
        c.call("getJobOutput", {"sessionId": name, "jobId": back["jobId"]}).error
        and c.call("listJobs", {"sessionId": name}).error,
        "its jobs are gone with it",
    )
    t.claim(c.call("endSession", {"sessionId": name}).error, "twice is an error")


@check(97)
def activity(t: Trial) -> None:
    """lastActivityAt moves with every exec and not with looking."""
    c = opened(t)

    def at() -> str:
        return str(c.call("listSessions").data["sessions"][0]["lastActivityAt"])

    seen = [at()]
    for given in ({"code": "1"}, {"code": "1/0"}, {"code": "1", "background": True}, {"code": "def"}):
        t.rest(0.05)
        c.call("exec", {"sessionId": "s1", **given})
        seen.append(at())
    t.claim(seen == sorted(set(seen)), f"{len(set(seen))} times after 4 execs")
    t.rest(0.3)
    before = at()
    jobs(c)
    c.call("getJobOutput", {"sessionId": "s1", "jobId": "job-s1-1"})
    t.equal(at(), before, "looking moves nothing:")


@check(98)
def reloaded(t: Trial) -> None:
    """Sessions survive kill -9 of the host; a job whose process is gone then is failed."""
    c = opened(t, env={"E": "1"})
    c.call("exec", {"sessionId": "s1", "code": "session.vars['v'] = [1]; session.cwd = '/'"})
    runs = c.call(
        "exec", {"sessionId": "s1", "code": "import time; print('up', flush=True); time.sleep(60)", "background": True}
    ).data
    lives = c.call("exec", {"sessionId": "s1", "code": "import time; time.sleep(60)", "background": True}).data
    before = c.call("listSessions").data["sessions"][0]
    daemon = t.daemon()
    keepers = [pid for pid in t.alive(str(t.home)) if pid not in (daemon, c.pid)]
    os.kill(daemon, signal.SIGKILL)
    parent = int(Path(f"/proc/{runs['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in (parent, runs["pid"]):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    after = c.call("listSessions").data["sessions"][0]
    same = {
        key: (before[key], after[key])
        for key in ("id", "cwd", "env", "vars", "createdAt", "jobSequence")
        if before[key] != after[key]
    }
    t.equal(same, {}, f"({len(keepers)} processes of the home) changed by kill -9:")
    one = over(t, c, runs["jobId"])
    t.equal(one["status"], "failed", "the job whose processes died meanwhile")
    t.equal(next(o["status"] for o in jobs(c) if o["id"] == lives["jobId"]), "running", "the other one")
    os.kill(t.daemon(), signal.SIGTERM)
    t.equal(
        c.call("exec", {"sessionId": "s1", "code": "print(session.vars['v'], session.cwd)"}).data.get("stdout"),
        "[1] /\n",
        "after SIGTERM, state",
    )
