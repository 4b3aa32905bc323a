"""Seed 004: deferral, the tools for jobs, and how requests end (200-221)."""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

from seeds.checks.llm_requests import refused
from seeds.gateway import CLIS, TERMINAL, begin, calls, done, job_of, llm, over, result, status
from seeds.registry import check
from seeds.trial import Client, Json, Trial, brief

WORDS = ("status", "jobId", "cli", "correlationId", "message", "sessionId", "pollWith", "fetchWith", "cancelWith")


@check(200)
def in_time(t: Trial) -> None:
    """SYNC_DEADLINE_MS is 45,000 by default; what is done in time is a plain result."""
    c = llm(t)
    answer = c.call("claude_request", {"prompt": "quick [[sleep=2 say=in-time]]"})
    t.equal([answer.text.strip(), answer.data.get("status")], ["in-time", "completed"], "answer")
    t.claim("deferred" not in answer.all and 2 <= answer.seconds < 15, f"after {answer.seconds:.1f} s")
    bad = c.call("codex_request", {"prompt": "bad [[exit=3 err=broken_pipe_dream]]"})
    t.claim(bad.error and "3" in bad.all and "broken pipe dream" in bad.all, f"a failure is one: {brief(bad.text)}")


@check(201, seconds=120)
def deferred(t: Trial) -> None:
    """Past the deadline the answer is `deferred` with all it takes to go on."""
    c = llm(t)
    number = c.begin("codex_request", {"prompt": "default deadline [[sleep=52 say=after-all]]"})
    quick = t.other("quick")
    d = llm(quick, env={"SYNC_DEADLINE_MS": 1500})
    answer = d.call("claude_request", {"prompt": "slow [[sleep=4 say=slow-one]]", "correlationId": "slow"})
    found = answer.data
    t.claim(set(WORDS) <= set(found), f"{sorted(found)}")
    t.equal(
        [found.get(key) for key in ("status", "cli", "correlationId", "pollWith", "fetchWith", "cancelWith")],
        ["deferred", "claude", "slow", "llm_job_status", "llm_job_result", "llm_job_cancel"],
        "answer",
    )
    t.equal(
        found.get("message"),
        "Execution exceeded sync deadline (1500ms). Poll with llm_job_status, fetch with llm_job_result.",
        "message",
    )
    t.claim(1.4 < answer.seconds < 4, f"after {answer.seconds:.1f} s")
    t.claim(found.get("collectWith") == "llm_job_result", f"collectWith {found.get('collectWith')}")
    t.claim('"deferred"' in answer.text, f"the text is the same JSON: {brief(answer.text, 60)}")
    t.equal(status(d, found["jobId"])["status"], "running", "its job")
    t.equal(over(quick, d, found["jobId"])["status"], "completed", "later")
    last = c.answer(number, 90)
    t.claim(43 < last.seconds < 50, f"by default after {last.seconds:.1f} s")
    t.equal(
        last.data.get("message"),
        "Execution exceeded sync deadline (45000ms). Poll with llm_job_status, fetch with llm_job_result.",
        "its message",
    )
    over(t, c, last.data["jobId"])
    t.claim(
        "after-all" in str(c.call("llm_job_result", {"jobId": last.data["jobId"]}).data), "its answer is there later"
    )


@check(202, seconds=120)
def no_deadline(t: Trial) -> None:
    """With 0 it is never deferred; any other value is honoured."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 0})
    number = c.begin("claude_request", {"prompt": "long [[sleep=49 say=never-deferred]]"})
    for value in (300, 2500):
        d = t.client("llm", env={"SYNC_DEADLINE_MS": str(value)})
        answer = d.call("gemini_request", {"prompt": f"at {value} [[sleep=5]]"})
        t.claim(
            answer.data.get("status") == "deferred" and value / 1000 - 0.1 < answer.seconds < value / 1000 + 2.5,
            f"{value} ms: {answer.data.get('status')} after {answer.seconds:.1f} s",
        )
        t.claim(f"({value}ms)" in answer.all, f"{value} ms: said so")
    same = begin(c, "claude", "long [[sleep=49 say=never-deferred]]")
    last = c.answer(number, 90)
    t.equal(last.text.strip(), "never-deferred", "0: the answer")
    t.claim(last.seconds > 48, f"0: after {last.seconds:.1f} s")
    t.equal(job_of(same), last.data.get("jobId"), "0: an equal request joins it:")
    t.equal(len(calls(t, "never-deferred")), 1, "0: processes")


@check(203)
def goes_on(t: Trial) -> None:
    """A deferred job goes on, and its result is there later, also after a restart."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 500})
    one = c.call("claude_request", {"prompt": "first [[sleep=2 say=first-result]]"}).data["jobId"]
    two = c.call("gemini_request", {"prompt": "second [[sleep=6 say=second-result]]"}).data["jobId"]
    over(t, c, one)
    t.claim("first-result" in str(result(c, one)), "its result")

    os.kill(t.daemon(), 9)
    c.close()
    d = t.client("llm")
    t.claim("first-result" in str(result(d, one)), "after kill -9 of the server and with another client")
    t.equal(over(t, d, two)["status"], "completed", "one that ran meanwhile")
    t.claim("second-result" in str(result(d, two)), "its result too")
    t.equal(len(calls(t)), 2, "processes")


@check(204)
def memory_only(t: Trial) -> None:
    """With LLM_GATEWAY_JOBS_DB=none the tools are there, and no deferred answer has an id that cannot be polled."""
    c = llm(t, env={"LLM_GATEWAY_JOBS_DB": "none", "SYNC_DEADLINE_MS": 500})
    t.claim({"claude_request_async", "llm_job_status", "llm_job_result"} <= set(c.tools()), "the tools are there")
    late = c.call("claude_request", {"prompt": "memory [[sleep=2 say=kept-in-mind]]"}).data
    t.equal(late.get("status"), "deferred", "status")
    t.equal(over(t, c, late["jobId"])["status"], "completed", "it can be polled:")
    t.claim("kept-in-mind" in str(result(c, late["jobId"])), "and fetched")
    health = c.call("llm_process_health").data.get("persistence", {})
    t.claim(health.get("durable") is False or health.get("warning"), f"health says what is kept: {brief(health, 300)}")


@check(205)
def statuses(t: Trial) -> None:
    """llm_job_status tells running, completed, failed, canceled, orphaned."""
    c = llm(t)
    slow = job_of(begin(c, "claude", "slow [[sleep=60]]"))
    t.equal(status(c, slow)["status"], "running", "running")
    t.equal(done(t, c, "codex", "good")["status"], "completed", "completed")
    t.equal(done(t, c, "grok", "bad [[exit=2]]")["status"], "failed", "failed")
    c.call("llm_job_cancel", {"jobId": slow})
    t.equal(over(t, c, slow)["status"], "canceled", "canceled")
    lost = job_of(begin(c, "gemini", "lost [[hang=1 partial=some-words]]"))
    call = t.until(lambda: calls(t, "lost"), "its process")[-1]
    t.until(lambda: "some-words" in str(result(c, lost)) or status(c, lost)["stdoutBytes"], "its output")

    parent = int(Path(f"/proc/{call['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(t.daemon(), signal.SIGKILL)
    os.kill(parent, signal.SIGKILL) if parent > 1 else None
    os.kill(call["pid"], signal.SIGKILL)
    d = t.client("llm")
    last = over(t, d, lost)
    t.claim(last["status"] in ("orphaned", "failed"), f"what nobody knows: {last['status']}")
    t.claim("some-words" in str(result(d, lost)), "its partial output is readable")
    for odd in ("nothing", "", "../x", "j0"):
        answer = d.call("llm_job_status", {"jobId": odd})
        t.claim(answer.error or answer.data.get("success") is False, f"{odd!r}: {brief(answer.text, 70)}")
        t.claim("ot found" in answer.all or "jobId" in answer.all, f"{odd!r}: says so")


@check(206)
def snapshot(t: Trial) -> None:
    """A snapshot has id, cli, status, times, exitCode, correlationId, sizes, error and exited."""
    c = llm(t)
    job = job_of(begin(c, "claude", "x [[err=abc exit=7 sleep=1]]"))
    names = {
        "id",
        "cli",
        "status",
        "startedAt",
        "finishedAt",
        "exitCode",
        "correlationId",
        "outputTruncated",
        "stdoutBytes",
        "stderrBytes",
        "error",
        "exited",
    }
    now = status(c, job)
    t.claim(names <= set(now), f"{sorted(now)}")
    t.equal([now["finishedAt"], now["exitCode"], now["exited"]], [None, None, False], "while it runs")
    last = over(t, c, job)
    t.equal(
        [last["exitCode"], last["exited"], last["stderrBytes"], last["outputTruncated"]], [7, True, 4, False], "over"
    )
    t.claim(last["finishedAt"] > last["startedAt"] and last["error"], f"error {brief(last['error'])}")
    good = done(t, c, "codex", "y")
    t.claim(good["stdoutBytes"] > 0 and good["error"] is None, f"a good one: {good['stdoutBytes']} bytes, no error")


@check(207)
def max_chars(t: Trial) -> None:
    """maxChars is 1,000 to 2,000,000 (200,000); the tail is kept; both truncated flags tell."""
    c = llm(t)
    schema = c.tools()["llm_job_result"]["inputSchema"]["properties"]["maxChars"]
    t.equal([schema.get("minimum"), schema.get("maximum"), schema.get("default")], [1000, 2000000, 200000], "schema")
    job = job_of(begin(c, "grok", "big [[flood=400000 say=THE-END]]", outputFormat="plain"))
    over(t, c, job)
    full = result(c, job)
    t.equal(
        [len(full["stdout"]), full["stdoutTruncated"], full["stderrTruncated"]], [200000, True, False], "by default"
    )
    t.claim(full["stdout"].rstrip().endswith("THE-END"), "it is the tail")
    for most in (1000, 5000, 2_000_000):
        answer = c.call("llm_job_result", {"jobId": job, "maxChars": most})
        part = answer.data.get("result") or answer.data
        t.claim(
            len(part["stdout"]) <= most and part["stdout"].rstrip().endswith("THE-END"),
            f"{most}: {len(part['stdout'])} characters of the end",
        )
        t.equal(part["stdoutTruncated"], most < 400000, f"{most}: truncated")
        if most < 400000:
            t.claim(len(answer.text) < most * 2.5 + 3000, f"{most}: the whole answer has {len(answer.text)} characters")
            parsed = (answer.data.get("parsed") or {}).get("text") or ""
            t.claim(len(parsed) <= most, f"{most}: parsed.text has {len(parsed)}")
    for wrong in (999, 2_000_001, 0, -1, "all"):
        refused(t, c.call("llm_job_result", {"jobId": job, "maxChars": wrong}), "maxChars")
    wide = "w" * 30000
    job = job_of(begin(c, "claude", f"wide [[say={wide}]]"))
    over(t, c, job)
    answer = c.call("llm_job_result", {"jobId": job, "maxChars": 1000}).data
    t.claim(
        len((answer.get("parsed") or {}).get("text") or "") <= 1000,
        f"stream-json: parsed.text {len((answer.get('parsed') or {}).get('text') or '')} of 1000",
    )
    job = job_of(begin(c, "codex", "err [[flood=300000 flooderr=1]]"))
    over(t, c, job)
    both = result(c, job, maxChars=1000)
    t.equal([both["stdoutTruncated"], both["stderrTruncated"]], [True, True], "both streams cut: flags")


@check(208)
def any_end(t: Trial) -> None:
    """A result is readable whatever became of it; while it runs it is what there is."""
    c = llm(t)
    slow = job_of(begin(c, "gemini", "slow [[partial=first-part hang=1]]", outputFormat="text"))
    t.until(lambda: status(c, slow)["stdoutBytes"], "its first words")
    found = result(c, slow)
    t.claim("first-part" in found["stdout"] and found["status"] == "running", f"running: {brief(found['stdout'])}")
    c.call("llm_job_cancel", {"jobId": slow})
    over(t, c, slow)
    found = result(c, slow)
    t.claim("first-part" in found["stdout"] and found["status"] == "canceled", "canceled")
    bad = job_of(begin(c, "codex", "bad [[partial=bad-part err=bad-err exit=9]]"))
    over(t, c, bad)
    found = result(c, bad)
    t.claim("bad-part" in found["stdout"] and "bad-err" in found["stderr"] and found["exitCode"] == 9, "failed")
    answer = c.call("llm_job_result", {"jobId": bad})
    t.claim(not answer.error or "bad-part" in answer.all, "a failed one is no failed call")


@check(209)
def parsed(t: Trial) -> None:
    """`parsed` has text, costUsd, usage, model and numTurns."""
    c = llm(t)
    job = job_of(begin(c, "claude", "x [[say=parsed_text cread=900 ccreate=50]]"))
    over(t, c, job)
    data = c.call("llm_job_result", {"jobId": job}).data
    found = data.get("parsed") or (data.get("result") or {}).get("parsed") or {}
    t.equal(
        [found.get("text"), found.get("costUsd"), found.get("model"), found.get("numTurns")],
        ["parsed text", 0.0125, "fake-model", 2],
        "claude",
    )
    use = found.get("usage") or {}
    t.equal(
        [
            use.get("inputTokens"),
            use.get("outputTokens"),
            use.get("cacheReadInputTokens"),
            use.get("cacheCreationInputTokens"),
        ],
        [1000, 20, 900, 50],
        "usage",
    )
    for cli in ("codex", "gemini"):
        job = job_of(begin(c, cli, f"{cli} [[say=of_{cli}]]"))
        over(t, c, job)
        found = c.call("llm_job_result", {"jobId": job}).data.get("parsed") or {}
        t.equal([found.get("text"), (found.get("usage") or {}).get("inputTokens")], [f"of {cli}", 1000], f"{cli}:")
    noisy = t.root / "bin" / "claude"
    old = noisy.read_text()
    noisy.write_text(
        old.replace("exec ", 'case "$*" in *--version*|*--help*) ;; *) echo "not json {"; echo ;; esac\nexec ')
    )
    job = job_of(begin(c, "claude", "noisy [[say=still_read]]"))
    over(t, c, job)
    found = c.call("llm_job_result", {"jobId": job}).data.get("parsed") or {}
    t.equal(found.get("text"), "still read", "lines that are no JSON are passed over:")


@check(210)
def cancel(t: Trial) -> None:
    """llm_job_cancel sends SIGTERM, after 5 s SIGKILL; the status is canceled; else it says why not."""
    c = llm(t)
    polite = job_of(begin(c, "claude", "polite [[sleep=60]]"))
    deaf = job_of(begin(c, "codex", "deaf [[deaf=1 sleep=60 child=71.375]]"))
    t.until(lambda: len(calls(t)) == 2, "both processes")
    t.rest(0.5)
    pids = [one["pid"] for one in calls(t)]
    began = time.monotonic()
    answer = c.call("llm_job_cancel", {"jobId": polite})
    t.claim(not answer.error and answer.data.get("success") is not False, f"{brief(answer.data)}")
    t.equal(over(t, c, polite)["status"], "canceled", "polite: status")
    began = time.monotonic()
    c.call("llm_job_cancel", {"jobId": deaf})
    last = over(t, c, deaf)
    took = time.monotonic() - began
    t.claim(4.5 < took < 12 and last["status"] == "canceled", f"deaf: {last['status']} after {took:.1f} s")
    t.claim(not t.alive("sleep 71.375"), "its child is dead")
    t.claim(not any(str(pid) in map(str, t.alive("fake_cli.py")) for pid in pids), "both processes are dead")
    t.equal(last["exitCode"] == 0, False, "exit code 0")
    again = c.call("llm_job_cancel", {"jobId": deaf})
    t.claim("already canceled" in again.all, f"again: {brief(again.text, 90)}")
    over_one = done(t, c, "grok", "over")["id"]
    t.claim(
        "already completed" in (said := c.call("llm_job_cancel", {"jobId": over_one})).all,
        f"over: {brief(said.text, 90)}",
    )
    t.claim(
        "not found" in (said := c.call("llm_job_cancel", {"jobId": "nothing"})).all.lower(),
        f"unknown: {brief(said.text, 90)}",
    )


@check(211)
def last_words(t: Trial) -> None:
    """What is written between SIGTERM and exit is stored."""
    c = llm(t)
    job = job_of(begin(c, "claude", "late [[partial=early late=LAST-WORDS times=2000 sleep=60]]"))
    t.until(lambda: status(c, job)["stdoutBytes"], "its first words")
    c.call("llm_job_cancel", {"jobId": job})
    last = over(t, c, job)
    found = result(c, job)
    t.equal(found["stdout"].count("LAST-WORDS"), 2000, "last words kept")
    t.claim("early" in found["stdout"], "and the first ones")
    t.equal(last["status"], "canceled", "status, though it left with 0,")


@check(212)
def health(t: Trial) -> None:
    """llm_process_health tells pid, alive, zombie, cpu, memory, time and persistence of what runs."""
    c = llm(t)
    empty = c.call("llm_process_health").data
    t.equal([empty.get("success"), empty.get("jobs")], [True, []], "with nothing")
    t.claim(isinstance(empty.get("persistence"), dict), f"persistence {brief(empty.get('persistence'))}")
    for name in ("runningJobs", "deadJobs", "zombieJobs"):
        t.equal(empty.get(name), 0, name)
    job = job_of(begin(c, "claude", "run [[sleep=60]]"))
    call = t.until(lambda: calls(t, "run"), "its process")[-1]
    t.rest(1)
    found = c.call("llm_process_health").data
    t.equal(found.get("runningJobs"), 1, "runningJobs")
    one = found["jobs"][0]
    t.claim(job in str(one) and one.get("pid"), f"{brief(one, 300)}")
    t.claim(one.get("alive") is True or one.get("isDead") is False, "alive")
    t.equal(one.get("isZombie"), False, "isZombie")
    t.claim(
        (one.get("memoryRssKb") or 0) > 1000 and one.get("cpuPercent") is not None,
        f"memory {one.get('memoryRssKb')} kB, cpu {one.get('cpuPercent')}",
    )
    t.claim(900 < one.get("runningForMs", 0) < 30000, f"runningForMs {one.get('runningForMs')}")
    t.claim(call["pid"], "it is the process of the CLI")
    c.call("llm_job_cancel", {"jobId": job})
    over(t, c, job)
    t.equal(c.call("llm_process_health").data["jobs"], [], "after its end")
    for name in ("dbPath", "retentionDays", "dedupWindowMs"):
        t.claim(name in found["persistence"], f"persistence.{name} {found['persistence'].get(name)}")


@check(213)
def watch(t: Trial) -> None:
    """llm_job_watch waits for what is new; llm_request_result finds by correlation id."""
    c = llm(t)
    schema = c.tools()["llm_job_watch"]["inputSchema"]["properties"]
    t.claim({"jobId", "afterProgressSeq", "progressLimit", "waitMs"} <= set(schema), f"{sorted(schema)}")
    t.equal(
        [
            schema["progressLimit"].get("minimum"),
            schema["progressLimit"].get("maximum"),
            schema["progressLimit"].get("default"),
        ],
        [1, 64, 32],
        "progressLimit",
    )
    t.equal(schema["waitMs"].get("maximum"), 30000, "waitMs")
    job = job_of(begin(c, "claude", "watch [[sleep=3 say=secret-answer]]", correlationId="w-1"))
    seen: list[Json] = []
    after, turns = 0, 0
    while turns < 15:
        answer = c.call("llm_job_watch", {"jobId": job, "afterProgressSeq": after, "waitMs": 10000})
        turns += 1
        t.claim(
            "secret-answer" not in str(answer.data.get("progress")), "no word of what is said"
        ) if turns == 1 else None
        progress = answer.data.get("progress") or {}
        events = progress.get("events") or progress.get("entries") or []
        seen += events
        after = progress.get("nextAfterSeq", after)
        if (answer.data.get("job") or answer.data).get("status") in TERMINAL:
            break
    seqs = [one.get("seq") for one in seen]
    t.claim(seqs and seqs == sorted(set(seqs)), f"numbers grow: {seqs}")
    t.claim(2 <= turns <= 8, f"{turns} calls to its end, not a poll: {[one.get('phase') for one in seen]}")
    idle = job_of(begin(c, "codex", "idle [[sleep=20]]"))
    now = (
        c.call("llm_job_watch", {"jobId": idle, "afterProgressSeq": 0}).data.get("progress", {}).get("nextAfterSeq", 0)
    )
    answer = c.call("llm_job_watch", {"jobId": idle, "afterProgressSeq": now, "waitMs": 1500})
    t.claim(answer.seconds < 5, f"nothing new: answered after {answer.seconds:.1f} s")
    refused(t, c.call("llm_job_watch", {"jobId": idle, "waitMs": 30001}), "waitMs")
    refused(t, c.call("llm_job_watch", {"jobId": idle, "progressLimit": 65}), "progressLimit")
    found = c.call("llm_request_result", {"correlationId": "w-1"})
    t.claim("secret-answer" in found.all and job in found.all, "llm_request_result finds it")
    t.claim(
        c.call("llm_request_result", {"correlationId": "never"}).all.lower().count("not found"),
        "an unknown one: said so",
    )


@check(214)
def paging(t: Trial) -> None:
    """Pages by stdoutOffsetChars and stderrOffsetChars, with TotalChars and NextOffsetChars."""
    c = llm(t)
    job = job_of(begin(c, "grok", f"pages [[partial={'äb€' * 900} flood=200000 say=LAST]]", outputFormat="plain"))
    over(t, c, job)
    whole = result(c, job, maxChars=2_000_000)["stdout"]
    text, at = "", 0
    for _ in range(100):
        part = result(c, job, stdoutOffsetChars=at, maxChars=7000)
        text += part["stdout"]
        t.claim(part["stdoutTotalChars"] == len(whole), "total") if at == 0 else None
        if part["stdoutNextOffsetChars"] is None:
            break
        at = part["stdoutNextOffsetChars"]
    t.claim(
        text == whole and len(whole) > 200000,
        f"pages of 7,000 joined: {len(text)} of {len(whole)} characters, the same",
    )
    end = result(c, job, stdoutOffsetChars=len(whole) + 5)
    t.equal([end["stdout"], end["stdoutNextOffsetChars"]], ["", None], "beyond the end")
    refused(t, c.call("llm_job_result", {"jobId": job, "stdoutOffsetChars": -1}), "stdoutOffsetChars")


@check(215)
def only_zero(t: Trial) -> None:
    """Only exit 0 is completed."""
    c = llm(t, settings="attempts = 1\n")
    for code in (1, 2, 99, 137, 255):
        last = done(t, c, "codex", f"exit [[exit={code}]]")
        t.equal([last["status"], last["exitCode"]], ["failed", code], f"{code}:")
    last = done(t, c, "gemini", "signal [[signal=9]]")
    t.claim(last["status"] == "failed" and last["exitCode"] != 0, f"signal 9: {last['status']}, {last['exitCode']}")
    t.equal(done(t, c, "grok", "fine")["status"], "completed", "0:")
    sync = c.call("claude_request", {"prompt": "sync [[exit=4 err=why_so]]"})
    t.claim(sync.error and "4" in sync.all and "why so" in sync.all, f"sync: {brief(sync.text)}")


@check(216, seconds=150)
def codes(t: Trial) -> None:
    """124 is a timeout, 125 idle, 126 more than 50 MB, 127 not found, null a process error with job.error."""
    c = llm(t, clis=("claude", "codex", "grok", "mistral"))
    idle = job_of(begin(c, "codex", "idle [[partial=hm sleep=300]]", idleTimeoutMs=30000))
    big = job_of(begin(c, "grok", "big [[flood=60000000 sleep=100]]", outputFormat="plain"))
    both = job_of(begin(c, "claude", "both [[flood=60000000 flooderr=1 sleep=100]]"))
    late = c.call("claude_request", {"prompt": "late [[sleep=60]]", "timeoutMs": 2000}).data
    last = over(t, c, late["jobId"]) if late.get("jobId") else late
    t.equal([last.get("status"), last.get("exitCode")], ["failed", 124], "timeout:")
    for name, job in (("stdout", big), ("stdout and stderr together", both)):
        last = over(t, c, job, 60)
        t.equal([last["status"], last["exitCode"], last["outputTruncated"]], ["failed", 126, True], f"50 MB of {name}:")
        t.claim(
            "50MB" in last["error"] or "50 MB" in last["error"] or "52,428,800" in last["error"],
            f"error {brief(last['error'])}",
        )
    missing = c.call("gemini_request", {"prompt": "nobody"})
    t.claim(
        missing.error and "127" in missing.all and "install" in missing.all,
        f"not installed: {brief(missing.text, 200)}",
    )
    gone = job_of(begin(c, "codex", "gone [[signal=9]]"))
    last = over(t, c, gone)
    t.claim(
        last["exitCode"] is None and last["error"],
        f"a signal: exitCode {last['exitCode']}, error {brief(last['error'])}",
    )
    last = over(t, c, idle, 60)
    t.equal([last["status"], last["exitCode"]], ["failed", 125], "30 s of silence:")
    t.claim("30000" in last["error"] and "inactiv" in last["error"], f"error {brief(last['error'])}")
    t.claim(not t.alive("flood=60000000"), "the floods are dead")
    t.equal(len(calls(t, "idle [[")), 1, "the idle one was asked")


@check(217, seconds=120)
def never_again(t: Trial) -> None:
    """125 and 126 are never made again."""
    c = llm(t)
    idle = job_of(begin(c, "codex", "idle [[sleep=300]]", idleTimeoutMs=30000))
    own = job_of(begin(c, "mistral", "own125 [[exit=125]]"))
    also = job_of(begin(c, "mistral", "own126 [[exit=126]]"))
    big = job_of(begin(c, "grok", "big [[flood=60000000]]", outputFormat="plain"))
    for job, word in ((own, "own125"), (also, "own126"), (big, "big ["), (idle, "idle [")):
        last = over(t, c, job, 60)
        t.rest(2.5)
        t.equal([last["status"], len(calls(t, word))], ["failed", 1], f"{word} {last['exitCode']}: status, attempts")


@check(218, seconds=150)
def idle(t: Trial) -> None:
    """Bytes on either stream reset the idle timer; it is 10 minutes, and of Claude only with stream-json."""
    c = llm(t)
    err = job_of(begin(c, "codex", "err [[sleep=42 tick=5 say=lived]]", idleTimeoutMs=30000))
    out = job_of(begin(c, "claude", "out [[sleep=42 tick=5 on=out say=lived]]", idleTimeoutMs=30000))
    plain = {
        form: job_of(begin(c, "claude", f"{form} [[sleep=42 say=lived]]", idleTimeoutMs=30000, outputFormat=form))
        for form in ("text", "json")
    }
    dead = job_of(begin(c, "claude", "dead [[sleep=80]]", idleTimeoutMs=30000))
    limits = {one["id"]: one["limits"] for one in t.jobs()}
    for cli in CLIS:
        job = job_of(begin(c, cli, f"default of {cli} [[sleep=1]]"))
        found = next(one["limits"] for one in t.jobs() if one["id"] == job)
        t.equal(found["idle_ms"], 600000, f"{cli}: default")
    t.equal(limits[dead]["idle_ms"], 30000, "as asked")
    t.equal(over(t, c, err, 90)["status"], "completed", "bytes on stderr every 5 s:")
    t.equal(over(t, c, out, 90)["status"], "completed", "bytes on stdout every 5 s:")
    for form, job in plain.items():
        t.equal(over(t, c, job, 90)["status"], "completed", f"claude with {form}, 42 s of silence:")
    t.equal(over(t, c, dead, 60)["exitCode"], 125, "claude with stream-json, silent:")


@check(219)
def silent(t: Trial) -> None:
    """A CLI that is silent until its end has a bound of 3,600,000 ms on its runtime in place of the idle timer."""
    c = llm(t)
    for cli, form in (
        ("claude", "text"),
        ("claude", "json"),
        ("gemini", "json"),
        ("mistral", "json"),
        ("mistral", "text"),
        ("grok", "json"),
    ):
        job = job_of(begin(c, cli, f"{cli} {form} [[sleep=1]]", outputFormat=form))
        found = next(one["limits"] for one in t.jobs() if one["id"] == job)
        t.equal([found["timeout_ms"], found["idle_ms"]], [3600000, None], f"{cli} {form}: runtime, idle")


@check(220)
def no_clock(t: Trial) -> None:
    """There is no limit of time by default."""
    c = llm(t)
    for cli in CLIS:
        job = job_of(begin(c, cli, f"{cli} [[sleep=1]]"))
        found = next(one["limits"] for one in t.jobs() if one["id"] == job)
        t.equal(found["timeout_ms"], None, f"{cli}: limit")


@check(221, seconds=120)
def again(t: Trial) -> None:
    """What failed by the line is made again, 1 s, 2 s, 4 s, 8 s, five times at most; five failures give a CLI a rest."""
    c = llm(t)
    for cli, err, code in (("claude", "ECONNRESET", 1), ("codex", "ETIMEDOUT", 1), ("gemini", "ECONNREFUSED", 1)):
        word = f"tried {cli} [[fails=2 exit={code} err=Error:_{err} say=at-last]]"
        job = job_of(begin(c, cli, word))
        last = over(t, c, job)
        made = calls(t, f"tried {cli}")
        t.equal([last["status"], len(made)], ["completed", 3], f"{err} twice: status, attempts")
        gaps = [round(b["at"] - a["at"], 1) for a, b in itertools.pairwise(made)]
        t.claim(gaps and gaps[0] >= 0.9 and gaps[-1] >= 1.8, f"{err}: pauses {gaps}")
    job = job_of(begin(c, "grok", "plain [[exit=1 err=SyntaxError]]"))
    over(t, c, job)
    t.rest(1.5)
    t.equal(len(calls(t, "plain [[")), 1, "any other failure: attempts")
    job = job_of(begin(c, "grok", "always [[exit=1 err=ECONNRESET]]"))
    last = over(t, c, job, 40)
    t.equal([last["status"], len(calls(t, "always [["))], ["failed", 5], "always: status, attempts")
    said = c.call("grok_request", {"prompt": "one more"})
    t.claim(said.error and "60 s" in said.all, f"then it has a rest: {brief(said.text)}")
    found = [one for one in c.call("llm_process_health").data.get("clis", []) if one["cli"] == "grok"]
    t.claim(
        found and found[0].get("circuitBreaker") == "open" and 0 < found[0].get("retryInMs", 0) <= 60000,
        f"{brief(found)}",
    )
    t.claim(not c.call("claude_request", {"prompt": "another CLI"}).error, "another CLI is asked all the same")


__all__ = ["Client"]
