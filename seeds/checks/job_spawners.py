"""Seed 000: what starts background jobs (57-68)."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path

from seeds.checks.job_cancel import listed, start
from seeds.registry import check
from seeds.trial import Trial, brief


@check(57)
def explicit(t: Trial) -> None:
    """`bash async:true` always registers a job of type bash and answers with its id."""
    c = t.client("job")
    for command in ("sleep 60", "true # quick"):
        answer = c.call("bash", {"command": command, "async": True})
        name = answer.data.get("async", {}).get("jobId")
        t.claim(
            name and name in answer.text and answer.seconds < 2,
            f"{command}: {brief(answer.text, 60)} after {answer.seconds:.2f} s",
        )
        t.equal(listed(c).get(name, {}).get("type"), "bash", "type")
    t.ended("true # quick")
    t.claim(
        not c.call("bash", {"command": "echo x", "async": False}).data.get("async"), "async:false is in the foreground"
    )


@check(58, seconds=110)
def auto_background(t: Trial) -> None:
    """Auto-background, off by default, gives a command min(threshold, timeout - 1 s); then it is a job."""
    two = t.other("two")
    two.settings("[mcp.job]\nauto_background = true\nauto_background_after = '2s'\n")
    c = two.client("job")
    answer = c.call("bash", {"command": "sleep 1; echo inline"})
    t.claim("inline" in answer.text and not answer.data.get("async"), "quicker than the threshold: its output")
    answer = c.call("bash", {"command": "sleep 30"})
    t.claim(
        answer.data.get("async", {}).get("state") == "running" and 1.8 < answer.seconds < 4,
        f"slower: a job after {answer.seconds:.1f} s",
    )
    t.claim(answer.data["async"]["jobId"] in listed(c) if answer.data.get("async") else False, "which is listed")
    answer = c.call("bash", {"command": "sleep 30", "timeout": 2})
    t.claim(
        answer.data.get("async") and 0.8 < answer.seconds < 2,
        f"with a timeout of 2 s: a job after {answer.seconds:.1f} s",
    )
    answer = c.call("bash", {"command": "sleep 4; echo tty", "pty": True})
    t.claim(not answer.data.get("async") and "tty" in answer.text, f"in a terminal: never ({answer.seconds:.1f} s)")
    zero = t.other("zero")
    zero.settings("[mcp.job]\nauto_background = true\nauto_background_after = '0s'\n")
    answer = zero.client("job").call("bash", {"command": "sleep 30"})
    t.claim(answer.data.get("async") and answer.seconds < 1.5, f"threshold 0: at once ({answer.seconds:.2f} s)")
    default = t.other("default")
    default.settings("[mcp.job]\nauto_background = true\n")
    d = default.client("job", name="claude-code")
    number = d.begin("bash", {"command": "sleep 75"})
    off = t.client("job", name="claude-code").call("bash", {"command": "sleep 62; echo off"}, seconds=90)
    t.claim("off" in off.text and not off.data.get("async"), f"off by default: {off.seconds:.0f} s in the foreground")
    answer = d.answer(number)
    t.claim(answer.data.get("async") and 59 < answer.seconds < 63, f"threshold by default: {answer.seconds:.1f} s")


@check(59)
def not_told_twice(t: Trial) -> None:
    """What ended within the wait is not delivered again, also after a reconnect."""
    t.settings("[mcp.job]\nauto_background = true\nauto_background_after = '20s'\n")
    for name in ("gemini-cli-mcp-client", "claude-code", "seeds-client"):
        c = t.client("job", name=name)
        t.claim("INLINE-WORDS" in c.call("bash", {"command": "sleep 0.5; echo INLINE-WORDS"}).all, f"{name}: inline")
        said = c.call("bash", {"command": "echo next"}).all + c.call("bash", {"command": "echo next"}).all
        t.claim("INLINE-WORDS" not in said, f"{name}: not in the next answers")
        c.call("bash", {"command": "echo LAST-WORDS"})
        c.close()
        d = t.client("job", name=name)
        said = d.call("bash", {"command": "echo next"}).all + d.call("bash", {"command": "echo next"}).all
        t.claim("LAST-WORDS" not in said and "INLINE-WORDS" not in said, f"{name}: not after a reconnect")
        hook = t.bide("inbox", "--owner", f"{name}@{t.folder}").out
        t.claim("WORDS" not in hook, f"{name}: nothing due")


@check(60)
def at_the_limit(t: Trial) -> None:
    """At the limit auto-background falls back to the foreground."""
    t.settings("[mcp.job]\nauto_background = true\nauto_background_after = '1s'\nmost = 1\n")
    c = t.client("job")
    start(c, "full", "sleep 60")
    answer = c.call("bash", {"command": "sleep 3; echo plain"})
    t.claim(
        "plain" in answer.text and not answer.data.get("async") and not answer.error,
        f"{brief(answer.text, 60)} after {answer.seconds:.1f} s",
    )
    t.claim("limit reached" in c.call("bash", {"command": "true", "async": True}).text, "while async:true is refused")


@check(61)
def timeouts(t: Trial) -> None:
    """The timeout of bash is 300 s, clamped to 1..3600 with a notice, 0 for none; async does not extend it."""
    c = t.client("job")
    limits: dict[str, float | None] = {}
    for name, given in (
        ("none given", {}),
        ("0", {"timeout": 0}),
        ("async", {"async": True}),
        ("9999", {"timeout": 9999}),
        ("0.2", {"timeout": 0.2}),
    ):
        answer = c.call("bash", {"command": f"true # t-{name}", **given})
        job = t.ended(f"# t-{name}")
        limits[name] = job["limits"]["timeout_ms"]
        if name in ("9999", "0.2"):
            t.claim("clamped" in answer.text, f"{name}: {brief(answer.text, 90)}")
            t.claim("clamp" in str(answer.structured), f"{name}: the notice is in the details too")
    t.equal(limits, {"none given": 300000, "0": None, "async": 300000, "9999": 3600000, "0.2": 1000}, "limits in ms")
    answer = c.call("bash", {"command": "echo part; sleep 60", "timeout": 1})
    t.claim(
        answer.error and "timed out" in answer.text and "part" in answer.text and answer.seconds < 8,
        f"{brief(answer.text, 70)} after {answer.seconds:.1f} s",
    )
    c.call("bash", {"command": "echo part; sleep 60", "timeout": 1, "async": True, "id": "bg"})
    one = c.call("job", {"poll": ["bg"]}).data["jobs"][0]
    t.claim(
        one["status"] == "failed" and one["durationMs"] < 8000 and "timed out" in one["errorText"],
        f"async: {brief(one, 120)}",
    )
    bad = c.call("bash", {"command": "true", "timeout": -1})
    t.claim((bad.error and "timeout" in bad.text) or "clamped" in bad.text, f"-1: {brief(bad.text, 80)}")


@check(62)
def labels(t: Trial) -> None:
    """The label is the command, at most 120 characters; a code other than 0 is a failure that says so."""
    c = t.client("job")
    for size in (119, 120, 121, 400):
        command = ("true " + "x" * 500)[:size]
        start(c, f"n{size}", command)
        label = listed(c)[f"n{size}"]["label"]
        wanted = command if size <= 120 else command[:117] + "..."
        t.equal(label, wanted, f"{size} characters:")
    for code in (1, 42, 255):
        start(c, f"c{code}", f"echo some; exit {code}")
        t.ended(f"exit {code}")
        one = listed(c)[f"c{code}"]
        text = one.get("errorText", "")
        t.claim(
            one["status"] == "failed" and text.rstrip().endswith(f"Command exited with code {code}"),
            f"{code}: {brief(text[-60:])}",
        )
        answer = c.call("bash", {"command": f"exit {code}"})
        t.claim(
            answer.own.endswith(f"Command exited with code {code}"),
            f"in the foreground: {brief(answer.text, 60)}",
        )


@check(63)
def tails(t: Trial) -> None:
    """A long output shows its end, at most 50 KiB and 3,000 lines; all of it is kept."""
    c = t.client("job")
    command = "seq 1 100000; echo ERRLINE >&2; exit 1"
    answer = c.call("bash", {"command": command})
    body = answer.text
    t.claim("ERRLINE" in body, "the foreground answer has the error line at the end of 100,000")
    t.claim("100000" in body or "99999" in body, "and the last lines")
    t.claim(
        len(body) <= 51 * 1024 + 500 and body.count("\n") <= 3010,
        f"{len(body)} characters, {body.count(chr(10))} lines",
    )
    start(c, "bg", command)
    t.ended("exit 1")
    t.until(lambda: all(one["phase"] == "ended" for one in t.jobs()))
    polled = c.call("job", {"poll": ["bg"]})
    t.claim("ERRLINE" in polled.text.replace(command, ""), "so has the poll's")
    t.claim("ERRLINE" in polled.data["jobs"][0]["errorText"], "and its errorText")
    links = re.findall(r"job://[^\s)\]`>]+", body)
    whole = c.read(links[0]) if links else ""
    if "resource" in whole or len(whole) < 500_000:
        whole += c.read(links[0].replace("stdout", "stderr")) if links else ""
    t.claim(len(whole) > 580_000 and "\n50000\n" in whole, f"all of it is at {links[:1]}: {len(whole)} characters")


@check(64)
def tasks(t: Trial) -> None:
    """Tasks of a program are jobs of type task, with their progress."""
    t.settings("[queue]\ngroups = { one = 1 }\n")
    facts = t.host("tasks")
    t.equal(facts.get("progress"), ["running", "completed", "failed", "aborted"], "progress")
    t.equal(facts.get("pending"), "pending", "before its turn:")
    c = t.client("job", "--owner", "tasks-owner")
    found = {one["label"]: (one["type"], one["status"]) for one in listed(c).values()}
    t.equal(found.get("good one"), ("task", "completed"), "job list:")
    t.equal(found.get("bad one"), ("task", "failed"), "job list:")
    t.equal(found.get("aborted one"), ("task", "cancelled"), "job list:")
    t.equal(len(found), facts.get("count"), "one job for each item:")


@check(65)
def promoted(t: Trial) -> None:
    """`async:"auto"` is inline for a second, then the same process is a job."""
    c = t.client("job")
    answer = c.call("bash", {"command": "sleep 0.2; echo quick", "async": "auto"})
    t.claim("quick" in answer.text and not answer.data.get("async"), "0.2 s: inline")
    count = t.folder / "count"
    answer = c.call("bash", {"command": f"echo $$ >> {count}; sleep 3; echo slow", "async": "auto"})
    t.claim(answer.data.get("async") and 0.9 < answer.seconds < 2.5, f"3 s: a job after {answer.seconds:.2f} s")
    name = answer.data.get("async", {}).get("jobId")
    done = c.call("job", {"poll": [name]})
    t.claim("slow" in done.text, "its end comes")
    t.equal(len(count.read_text().split()), 1, "processes that ran it:")


@check(66)
def progress(t: Trial) -> None:
    """Progress of a job: whole lines, gathered, ten batches at once and then one each 2 s, at most 3,000 bytes."""
    c = t.client("job", name="gemini-cli-mcp-client")
    schema = c.tools()["bash"]["inputSchema"]["properties"]
    t.claim(schema.get("progress"), f"bash takes progress: {brief(schema.get('progress') or sorted(schema), 100)}")
    answer = c.call(
        "bash",
        {
            "command": "for i in 1 2 3; do echo STEP-$i; sleep 0.6; done; sleep 60",
            "async": True,
            "progress": "wake",
            "id": "p",
        },
    )
    t.claim(not answer.error, f"progress:wake: {brief(answer.text, 80)}")
    t.rest(3)
    said = c.call("bash", {"command": "echo"}).all
    t.claim(all(f"STEP-{n}" in said for n in (1, 2, 3)), f"new lines are told of: {brief(said, 120)}")
    flood = "i=0; while [ $i -lt 400 ]; do echo LINE-$i-$(head -c 60 /dev/zero | tr '\\0' z); i=$((i+1)); sleep 0.02; done; sleep 60"
    t.bide(
        "run",
        "--bg",
        "--name",
        "flood",
        "--owner",
        "me",
        "--notify",
        "content",
        "--",
        "bash",
        "-c",
        flood,
        env={"BIDE_OWNER": "me"},
    )
    t.rest(10)
    _, pulled = t.http("POST", "/v1/outbox/me/pull", {"limit": 250, "room": 100000}, owner="me")
    output = [one for one in pulled.get("notices", []) if one["what"] == "output"]
    t.claim(10 <= len(output) <= 16, f"8 s of flood: {len(output)} batches")
    t.claim(
        output and all(len(one["extract"].encode()) <= 3000 for one in output),
        f"at most {max((len(o['extract'].encode()) for o in output), default=0)} bytes in one",
    )


@check(67)
def held_pipe(t: Trial) -> None:
    """A job is over when its process is, also while a child holds its output."""
    c = t.client("job")
    answer = c.call("bash", {"command": "sleep 97.5 & echo started"})
    t.claim("started" in answer.text and answer.seconds < 5 and not answer.error, f"foreground: {answer.seconds:.1f} s")
    start(c, "bg", "sleep 98.5 & echo bg-started")
    answer = c.call("job", {"poll": ["bg"]})
    t.claim(
        answer.data["jobs"][0]["status"] == "completed" and answer.seconds < 5,
        f"background: completed after {answer.seconds:.1f} s",
    )
    answer = c.call("bash", {"command": "setsid sleep 99.5 >/dev/null 2>&1 & echo detached"})
    t.claim("detached" in answer.text and answer.seconds < 5, f"setsid: {answer.seconds:.1f} s")


@check(68)
def services(t: Trial) -> None:
    """Services: start, ps, logs, stop, restart; ready by log or port; restarts; the whole tree is stopped."""
    (t.folder / "web.sh").write_text(
        "echo booting; sleep 0.5; echo READY now; sleep 81.5 & trap '' TERM; wait; sleep 81.5\n"
    )
    began = time.monotonic()
    done = t.bide("service", "start", "web", "--ready-log", "READY", "--restart", "always", "--", "bash", "web.sh")
    t.claim(
        done.code == 0 and 0.4 < time.monotonic() - began < 15, f"start returns when it is ready: {brief(done.out, 80)}"
    )
    t.claim("web" in t.bide("service", "ps").out and "READY now" in t.bide("service", "logs", "web").out, "ps and logs")
    first = t.alive("bash web.sh")
    for pid in first:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    t.until(lambda: (now := t.alive("bash web.sh")) and not set(now) & set(first), "it comes back after a kill -9", 20)
    t.claim(True, "restart always: back after kill -9")
    t.claim(t.bide("service", "restart", "web", "--grace", "1s").code == 0, "restart")
    began = time.monotonic()
    stopped = t.bide("service", "stop", "web", "--grace", "1s")
    t.claim(
        stopped.code == 0 and not t.alive("sleep 81.5"),
        f"stop: nothing of its tree is left after {time.monotonic() - began:.1f} s",
    )
    t.rest(1.5)
    t.claim(not t.alive("bash web.sh"), "and it stays stopped")
    (t.folder / "bad.sh").write_text(f"echo x >> {t.folder}/tries; exit 1\n")
    t.bide("service", "start", "bad", "--restart", "on-failure", "--restarts", "2", "--", "sh", "bad.sh")
    tries: Path = t.folder / "tries"
    t.until(lambda: tries.exists() and len(tries.read_text().split()) >= 3, "two restarts of a failing one", 20)
    t.claim(True, "on-failure: started again")
    late = t.bide("service", "start", "never", "--ready-port", "1", "--ready-timeout", "1s", "--", "sleep", "82.5")
    t.claim(late.code != 0, f"never ready: {brief(late.err or late.out, 80)}")
