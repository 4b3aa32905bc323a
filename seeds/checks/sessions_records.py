"""Seed 001: records of sessions and jobs (69-74)."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from seeds.mcp import Client, Json
from seeds.registry import check
from seeds.trial import Trial, brief, left

JOB = {"id", "code", "pid", "status", "stdoutTruncated", "stderrTruncated", "startedAt", "background"}


def opened(t: Trial, name: str = "s1", **given: object) -> Client:
    """Start a client with an open session."""
    c = t.client("sessions")
    c.call("startSession", {"id": name, **given})
    return c


def jobs(c: Client, session: str = "s1", **filters: object) -> list[Json]:
    """List the jobs of a session."""
    return c.call("listJobs", {"sessionId": session, **({"filter": filters} if filters else {})}).data["jobs"]


def over(t: Trial, c: Client, job: str, session: str = "s1") -> Json:
    """Wait until a job is over, without waitJob."""
    return t.until(
        lambda: next((one for one in jobs(c, session) if one["id"] == job and one["status"] != "running"), None),
        f"the end of {job}",
        20,
    )


@check(69)
def numbers(t: Trial) -> None:
    """Job ids are job-{session}-{number}; numbers rise, also at once, and are never given twice."""
    c = opened(t, "my-s.1")
    with ThreadPoolExecutor(12) as pool:
        made = list(
            pool.map(
                lambda n: c.call("exec", {"sessionId": "my-s.1", "code": f"print({n})", "background": n % 2 == 0}).data[
                    "jobId"
                ],
                range(12),
            )
        )
    found = sorted(int(one.rpartition("-")[2]) for one in made)
    t.claim(all(one.startswith("job-my-s.1-") for one in made), f"ids {made[:2]}")
    t.claim(
        len(set(found)) == 12 and found == list(range(found[0], found[0] + 12)), f"numbers of twelve at once {found}"
    )
    os.kill(t.daemon(), 9)
    after = c.call("exec", {"sessionId": "my-s.1", "code": "1"}).data["jobId"]
    t.claim(int(after.rpartition("-")[2]) > max(found), f"after kill -9 of the daemon: {after}")
    before = int(after.rpartition("-")[2])
    for _ in range(3):
        c.call("exec", {"sessionId": "my-s.1", "code": "raise SystemExit(3)"})
    t.equal(
        c.call("exec", {"sessionId": "my-s.1", "code": "1"}).data["jobId"],
        f"job-my-s.1-{before + 4}",
        "after three failures:",
    )


@check(70)
def job_fields(t: Trial) -> None:
    """A job has id, code, pid, status, exitCode, stdout, stderr, truncation flags, times, duration and background."""
    c = opened(t)
    code = "import sys; print('o'); print('e', file=sys.stderr); sys.exit(3)"
    c.call("exec", {"sessionId": "s1", "code": code})
    c.call("exec", {"sessionId": "s1", "code": "import time; time.sleep(60)", "background": True})
    runs, ended = jobs(c)
    t.claim(set(runs) >= JOB and not {"exitCode", "completedAt", "duration"} & set(runs), f"running: {sorted(runs)}")
    t.claim(set(ended) >= JOB | {"exitCode", "completedAt", "duration"}, f"ended: {sorted(ended)}")
    t.equal(
        [ended["code"], ended["exitCode"], ended["status"], ended["background"]], [code, 3, "failed", False], "values"
    )
    t.claim(isinstance(ended["pid"], int) and ended["pid"] > 0 and runs["background"] is True, f"pid {ended['pid']}")
    t.claim(
        isinstance(ended["duration"], (int, float)) and 5 < ended["duration"] < 20000,
        f"duration {ended['duration']} ms",
    )
    whole = json.loads(c.read(f"job://{ended['id']}"))
    output = c.call("getJobOutput", {"sessionId": "s1", "jobId": ended["id"]}).data
    t.claim(output["stdout"] == "o\n" and output["stderr"] == "e\n", "stdout and stderr of getJobOutput")
    t.claim(isinstance(whole, dict), f"job://{ended['id']} can be read")


@check(71)
def pid_stays(t: Trial) -> None:
    """After the end the process is gone and its pid is kept."""
    c = opened(t)
    made = c.call("exec", {"sessionId": "s1", "code": "import os; print(os.getpid())", "background": True}).data
    one = over(t, c, made["jobId"])
    t.equal(one["pid"], made["pid"], "pid")
    t.equal(
        c.call("getJobOutput", {"sessionId": "s1", "jobId": made["jobId"]}).data["stdout"].strip(),
        str(made["pid"]),
        "it is that of the process:",
    )
    t.claim(made["pid"] not in left(t.root), "no process of it is left")


@check(72)
def session_fields(t: Trial) -> None:
    """A session has id, cwd, env, vars, createdAt, lastActivityAt, jobs, jobsByPid and jobSequence."""
    c = t.client("sessions")
    made = c.call(
        "startSession", {"id": "s1", "cwd": str(t.folder), "env": {"A": "1"}, "vars": {"n": [1, {"x": None}]}}
    ).data
    wanted = {"id", "cwd", "env", "vars", "createdAt", "lastActivityAt", "jobs", "jobsByPid", "jobSequence"}
    t.claim(wanted <= set(made), f"startSession: {sorted(made)}")
    job = c.call("exec", {"sessionId": "s1", "code": "import os; print(os.environ['A'], session.vars['n'])"}).data
    t.equal(job["stdout"], "1 [1, {'x': None}]\n", "env and vars reach the code:")
    (one,) = c.call("listSessions").data["sessions"]
    t.claim(wanted <= set(one), f"listSessions: {sorted(one)}")
    t.equal([one["env"], one["vars"], one["jobSequence"]], [{"A": "1"}, {"n": [1, {"x": None}]}, 1], "values")
    t.claim(
        list(one["jobs"]) == [job["jobId"]] and list(one["jobsByPid"].values()) == [job["jobId"]],
        f"indexes {brief(one['jobsByPid'])}",
    )


@check(73)
def lookup(t: Trial) -> None:
    """A job is found by id and by pid."""
    c = opened(t)
    made = c.call(
        "exec",
        {"sessionId": "s1", "code": "import time; print('here', flush=True); time.sleep(60)", "background": True},
    ).data
    t.until(lambda: "here" in c.call("getJobOutput", {"sessionId": "s1", "jobId": made["jobId"]}).data["stdout"])
    for key in (made["jobId"], made["pid"], str(made["pid"])):
        t.claim(
            "here" in c.call("getJobOutput", {"sessionId": "s1", "jobId": key}).data.get("stdout", ""), f"by {key!r}"
        )
    t.claim(not c.call("killJob", {"sessionId": "s1", "jobId": made["pid"]}).error, "killed by pid")
    t.equal(
        c.call("waitJob", {"sessionId": "s1", "jobId": made["pid"]}).data.get("code"), -1, "after the end, by pid: code"
    )
    t.claim(c.call("getJobOutput", {"sessionId": "s1", "jobId": 1}).error, "another pid is not found")


@check(74)
def ends(t: Trial) -> None:
    """Exit 0 is completed, all else failed; what cannot start is failed with completedAt."""
    c = opened(t)
    for code, status, number in (
        ("pass", "completed", 0),
        ("raise ValueError('x')", "failed", 1),
        ("import sys; sys.exit(9)", "failed", 9),
        ("def", "failed", 1),
        ("import os; os.kill(os.getpid(), 11)", "failed", 139),
    ):
        made = c.call("exec", {"sessionId": "s1", "code": code}).data
        one = next(j for j in jobs(c) if j["id"] == made["jobId"])
        t.equal([one["status"], one["exitCode"], made["success"]], [status, number, number == 0], f"{code}:")
        t.claim(one.get("completedAt"), "completedAt")
    c.call("exec", {"sessionId": "s1", "code": "r = await cmd('no-such-program').exec(); print(r.code)"})
    one = next(j for j in jobs(c) if j["code"].startswith("no-such"))
    t.claim(one["status"] == "failed" and one.get("completedAt"), f"a program that is not there: {brief(one, 150)}")
    gone = t.folder / "gone"
    gone.mkdir()
    c.call("startSession", {"id": "g", "cwd": str(gone)})
    shutil.rmtree(gone)
    answer = c.call("exec", {"sessionId": "g", "code": "print(1)"})
    t.claim(answer.error and "gone" in answer.all, f"a folder that is gone: {brief(answer.text, 120)}")
