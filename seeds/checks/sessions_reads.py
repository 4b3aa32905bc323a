"""Seed 001: listJobs, getJobOutput, killJob, waitJob (84-91)."""

from __future__ import annotations

import json

from seeds.checks.sessions_records import jobs, opened, over
from seeds.mcp import Client, Json
from seeds.registry import check
from seeds.trial import Trial, brief

SLEEP = "import time; time.sleep(60)"


@check(84)
def filters(t: Trial) -> None:
    """`listJobs` filters by status and background; newest first, the limit after the filters."""
    c = opened(t)
    for code, back in (("1", False), ("1/0", False), ("2", True), (SLEEP, True), ("1/0 #b", True), ("3", False)):
        made = c.call("exec", {"sessionId": "s1", "code": code, "background": back}).data
        if code != SLEEP:
            over(t, c, made["jobId"])

    def numbers(**given: object) -> list[int]:
        return [int(one["id"].rpartition("-")[2]) for one in jobs(c, **given)]

    t.equal(numbers(), [6, 5, 4, 3, 2, 1], "newest first")
    t.equal(numbers(status="running"), [4], "running")
    t.equal(numbers(status="completed"), [6, 3, 1], "completed")
    t.equal(numbers(status="failed"), [5, 2], "failed")
    t.equal(numbers(background=True), [5, 4, 3], "background")
    t.equal(numbers(background=False, status="completed"), [6, 1], "foreground and completed")
    t.equal(numbers(status="completed", limit=2), [6, 3], "limit after the filter")
    t.equal(numbers(status="failed", background=False, limit=5), [2], "all three")
    t.claim(
        "status" in c.call("listJobs", {"sessionId": "s1", "filter": {"status": "done"}}).text,
        "a bad status is refused by name",
    )


@check(85)
def previews(t: Trial) -> None:
    """Code in lists has at most 100 characters and three dots."""
    c = opened(t)
    for size in (99, 100, 101, 5000):
        c.call("exec", {"sessionId": "s1", "code": ("#" * 6000)[:size]})
    found = {len(one["code"]) for one in jobs(c)}
    codes = [one["code"] for one in reversed(jobs(c))]
    t.equal([len(one) for one in codes], [99, 100, 103, 103], "lengths")
    t.claim(codes[2].endswith("#...") and codes[3].endswith("#..."), f"cut with dots {sorted(found)}")


@check(86)
def output(t: Trial) -> None:
    """`getJobOutput` answers stdout, stderr, offset, status, exitCode, truncated; `since` only what is newer."""
    c = opened(t)
    gate = t.gate()
    made = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": f"print('one', flush=True); open('{gate}').read(); print('two'); import sys; print('err', file=sys.stderr)",
            "background": True,
        },
    ).data

    def read(**given: object) -> Json:
        return c.call("getJobOutput", {"sessionId": "s1", "jobId": made["jobId"], **given}).data

    first = t.until(lambda: (one := read())["stdout"] and one)
    t.claim({"stdout", "stderr", "offset", "status", "truncated"} <= set(first), f"fields {sorted(first)}")
    t.equal(
        [first["stdout"], first["status"], first.get("exitCode"), first["truncated"]],
        ["one\n", "running", None, {"stdout": False, "stderr": False}],
        "running",
    )
    t.equal(read(since=first["offset"])["stdout"], "", "nothing newer:")
    t.open_gate(gate)
    over(t, c, made["jobId"])
    later = read(since=first["offset"])
    t.equal(
        [later["stdout"], later["stderr"], later["status"], later["exitCode"]],
        ["two\n", "err\n", "completed", 0],
        "newer",
    )
    t.equal(read()["stdout"], "one\ntwo\n", "without since: all")
    t.equal(read(since=0)["stdout"], "one\ntwo\n", "since 0: all")
    plain = c.call("exec", {"sessionId": "s1", "code": "print('0123456789', end='')"}).data["jobId"]
    t.equal(
        c.call("getJobOutput", {"sessionId": "s1", "jobId": plain, "since": 4}).data["stdout"],
        "456789",
        "since is bytes:",
    )


def joined(c: Client, job: str, *, done: bool) -> tuple[str, str, int, list[str]]:
    """Read on until a job is over; join what came."""
    out = err = ""
    since, reads, notes = 0, 0, list[str]()
    while True:
        one = c.call("getJobOutput", {"sessionId": "s1", "jobId": job, "since": since}).data
        out, err, reads = out + one["stdout"], err + one["stderr"], reads + 1
        notes += [key for key in ("note", "dropped") if one.get(key)]
        same, since = one["offset"] == since, one["offset"]
        if one["status"] != "running" and same:
            return out, err, reads, notes
        if done and reads > 400:
            return out, err, reads, notes


@check(87)
def incremental(t: Trial) -> None:
    """Reading on joins to exactly the output of each stream, with characters of several bytes, while it runs and when it is long."""
    c = opened(t)
    code = (
        "import sys, time\nfor n in range(400):\n    sys.stdout.write(f'äöü€𝄞{n}'); sys.stderr.write(f'ß{n}·')\n"
        "    sys.stdout.buffer.write(b'\\xf0\\x9d'); sys.stdout.flush(); time.sleep(0.004); sys.stdout.buffer.write(b'\\x84\\x9e\\n'); sys.stdout.flush(); sys.stderr.flush()"
    )
    code = code.replace(
        "sys.stdout.buffer.write(b'\\xf0\\x9d'); sys.stdout.flush()",
        "sys.stdout.flush(); sys.stdout.buffer.write(b'\\xf0\\x9d'); sys.stdout.buffer.flush()",
    )
    made = c.call("exec", {"sessionId": "s1", "code": code, "background": True}).data
    out, err, reads, _ = joined(c, made["jobId"], done=False)
    t.claim(out == "".join(f"äöü€𝄞{n}𝄞\n" for n in range(400)), f"stdout of {len(out)} characters in {reads} reads")
    t.claim(err == "".join(f"ß{n}·" for n in range(400)), f"stderr of {len(err)} characters")
    long = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "import sys\nfor n in range(150000):\n    print(f'{n:09d}€')\n    if n % 3 == 0: print(n, file=sys.stderr)",
            "background": True,
        },
    ).data
    out, err, reads, notes = joined(c, long["jobId"], done=True)
    t.claim(
        out == "".join(f"{n:09d}€\n" for n in range(150000)),
        f"2 MB of stdout, read while it runs, in {reads} reads {notes[:2]}",
    )
    t.claim(err == "".join(f"{n}\n" for n in range(0, 150000, 3)), f"stderr of {len(err)}")
    tail = c.call("getJobOutput", {"sessionId": "s1", "jobId": long["jobId"]}).data
    t.claim(
        tail["truncated"]["stdout"] and tail["stdout"].endswith("000149999€\n"),
        "without since: its end, and says it is cut",
    )


@check(88)
def kill(t: Trial) -> None:
    """`killJob` sends SIGTERM, after 5 s SIGKILL; failed with exit code -1; on an ended job an error."""
    c = opened(t)
    made = c.call("exec", {"sessionId": "s1", "code": SLEEP, "background": True}).data
    answer = c.call("killJob", {"sessionId": "s1", "jobId": made["jobId"]})
    t.claim(answer.seconds < 3, f"SIGTERM: {answer.seconds:.1f} s")
    one = over(t, c, made["jobId"])
    t.equal([one["status"], one["exitCode"]], ["failed", -1], "then")
    deaf = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
            "background": True,
        },
    ).data
    t.until(lambda: "deaf" in c.call("getJobOutput", {"sessionId": "s1", "jobId": deaf["jobId"]}).data["stdout"])
    answer = c.call("killJob", {"sessionId": "s1", "jobId": deaf["jobId"]})
    one = over(t, c, deaf["jobId"])
    t.claim(4500 < one["duration"] < 12000 and one["status"] == "failed", f"one that ignores it: {one['duration']} ms")
    again = c.call("killJob", {"sessionId": "s1", "jobId": deaf["jobId"]})
    t.claim(again.error and "failed" in again.text, f"again: {brief(again.text, 80)}")
    good = c.call("exec", {"sessionId": "s1", "code": "1"}).data["jobId"]
    again = c.call("killJob", {"sessionId": "s1", "jobId": good})
    t.claim(again.error and "completed" in again.text, f"a completed one: {brief(again.text, 80)}")
    asked = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "import time\ntry:\n    print('up', flush=True); time.sleep(60)\nexcept KeyboardInterrupt:\n    print('INT')",
            "background": True,
        },
    ).data
    t.until(lambda: "up" in c.call("getJobOutput", {"sessionId": "s1", "jobId": asked["jobId"]}).data["stdout"])
    c.call("killJob", {"sessionId": "s1", "jobId": asked["jobId"], "signal": "SIGINT"})
    over(t, c, asked["jobId"])
    t.claim(
        "INT" in c.call("getJobOutput", {"sessionId": "s1", "jobId": asked["jobId"]}).data["stdout"],
        "SIGINT reaches it as SIGINT",
    )
    bad = c.call("killJob", {"sessionId": "s1", "jobId": asked["jobId"], "signal": "SIGBANANA"})
    t.claim(bad.error and "signal" in bad.text.lower(), f"a signal that is none: {brief(bad.text, 80)}")


@check(89)
def wait(t: Trial) -> None:
    """`waitJob` answers stdout, stderr, code, success and duration; past its timeout an error, and the job goes on."""
    c = opened(t)
    made = c.call(
        "exec",
        {
            "sessionId": "s1",
            "code": "import time, sys; time.sleep(1.5); print('o'); print('e', file=sys.stderr); sys.exit(5)",
            "background": True,
        },
    ).data
    answer = c.call("waitJob", {"sessionId": "s1", "jobId": made["jobId"], "timeout": 60000})
    t.equal(
        {k: answer.data.get(k) for k in ("stdout", "stderr", "code", "success")},
        {"stdout": "o\n", "stderr": "e\n", "code": 5, "success": False},
        "answer",
    )
    t.claim(1400 < answer.data.get("duration", 0) < 15000, f"duration {answer.data.get('duration')} ms")
    t.claim(
        (again := c.call("waitJob", {"sessionId": "s1", "jobId": made["jobId"]})).seconds < 2
        and again.data.get("code") == 5,
        "ended: at once",
    )
    long = c.call("exec", {"sessionId": "s1", "code": SLEEP, "background": True}).data
    late = c.call("waitJob", {"sessionId": "s1", "jobId": long["jobId"], "timeout": 700})
    t.claim(
        late.error and 0.6 < late.seconds < 4, f"timeout of 700 ms: {brief(late.text, 100)} after {late.seconds:.1f} s"
    )
    t.equal(next(one["status"] for one in jobs(c) if one["id"] == long["jobId"]), "running", "it goes on:")
    t.claim("120000" in json.dumps(c.tools()["waitJob"]), "the default of 120000 ms is in its schema")


@check(90)
def old_tools(t: Trial) -> None:
    """bg, jobs, fg, jobOutput and kill are not there."""
    c = t.client("sessions")
    names = set(c.tools())
    t.claim(not names & {"bg", "jobs", "fg", "jobOutput", "kill"}, f"tools {sorted(names)}")
    t.claim(
        {
            "exec",
            "listJobs",
            "getJobOutput",
            "killJob",
            "waitJob",
            "startSession",
            "endSession",
            "updateSession",
            "listSessions",
        }
        <= names,
        "the new ones are",
    )
    said = str(c.opening.get("instructions", ""))
    for word in ("`run`", "`await`", "`kill`", "`logs`", " run;", " await ", "jobs lists"):
        t.claim(word not in said, f"instructions do not name {word.strip()}")


@check(91)
def errors(t: Trial) -> None:
    """Unknown sessions and jobs are clear errors; a job of another session is not found."""
    c = opened(t)
    c.call("startSession", {"id": "s2"})
    job = c.call("exec", {"sessionId": "s1", "code": "1"}).data["jobId"]
    for tool in ("getJobOutput", "killJob", "waitJob"):
        for session, name in (("nowhere", job), ("s1", "job-s1-99"), ("s2", job)):
            answer = c.call(tool, {"sessionId": session, "jobId": name})
            wanted = session if session == "nowhere" else name
            t.claim(
                answer.error and wanted in answer.text and len(answer.text) < 500,
                f"{tool} {session} {name}: {brief(answer.text, 90)}",
            )
    for tool in ("exec", "listJobs", "updateSession", "endSession"):
        answer = c.call(tool, {"sessionId": "nowhere", **({"code": "1"} if tool == "exec" else {})})
        t.claim(answer.error and "nowhere" in answer.text, f"{tool}: {brief(answer.text, 90)}")
    other = t.client("sessions", name="other")
    t.claim(
        other.call("getJobOutput", {"sessionId": "s1", "jobId": job}).error, "another client's session is not found"
    )
    taken = other.call("startSession", {"id": "s1"})
    t.claim(not taken.error or "end it first" not in taken.text, f"another owner's id: {brief(taken.text, 120)}")
