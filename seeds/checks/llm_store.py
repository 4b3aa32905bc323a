"""Seed 004: durability and equal requests (222-234)."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

from seeds.gateway import CLIS, begin, calls, done, job_of, llm, over, result, status
from seeds.registry import check
from seeds.trial import Client, Json, Trial, brief


def crash(t: Trial) -> None:
    """Kill the server as a crash does."""
    os.kill(t.daemon(), signal.SIGKILL)


@check(222)
def on_disk(t: Trial) -> None:
    """Start, output while it runs, and completion are on disk."""
    c = llm(t)
    job = job_of(begin(c, "claude", "durable [[partial=half-way sleep=12 say=the-end]]", correlationId="d-1"))
    crash(t)
    d = t.client("llm")
    t.equal(status(d, job)["status"], "running", "killed right after the start, it is known:")
    t.until(lambda: "half-way" in result(d, job)["stdout"], "its output while it runs", 5)
    crash(t)
    d = t.client("llm")
    t.claim("half-way" in result(d, job)["stdout"], "killed while it runs, its output is there")
    last = over(t, d, job)
    t.equal([last["status"], last["exitCode"], last["correlationId"]], ["completed", 0, "d-1"], "completion")
    crash(t)
    d = t.client("llm")
    t.claim("the-end" in result(d, job)["stdout"], "killed after the end, its result is there")
    path = Path(d.call("llm_process_health").data["persistence"]["dbPath"])
    t.claim(path.exists(), f"dbPath {path.name} exists")
    t.equal(len(calls(t)), 1, "processes")


@check(223)
def path(t: Trial) -> None:
    """The database is mode 0600 and WAL; the gateway's variables for its place are told of; empty means unset."""
    c = llm(t)
    done(t, c, "claude", "x")
    health = c.call("llm_process_health").data["persistence"]
    base = Path(health["dbPath"])
    t.equal(oct(stat.S_IMODE(base.stat().st_mode)), "0o600", "mode")
    t.equal(list(base.read_bytes()[18:20]), [2, 2], "journal by the file's head (2 is WAL)")
    t.equal([health.get("warning"), health.get("durable")], [None, True], "without variables: warning, durable")
    for name in ("LLM_GATEWAY_JOBS_DB", "LLM_GATEWAY_LOGS_DB"):
        d = t.client("llm", env={name: str(t.root / "elsewhere.db")})
        said = str(d.call("llm_process_health").data["persistence"]) + str(begin(d, "codex", f"y {name}"))
        t.claim(name in said, f"{name}=PATH: told that it is not used: {brief(said, 160)}")
        t.claim("dbPath" in said and str(base) in said, f"{name}: health names the real one")
    for name, value in (("LLM_GATEWAY_JOBS_DB", ""), ("LLM_GATEWAY_LOGS_DB", "")):
        d = t.client("llm", env={name: value})
        t.equal(d.call("llm_process_health").data["persistence"].get("warning"), None, f"{name} empty: warning")
    d = t.client("llm", env={"LLM_GATEWAY_JOBS_DB": "none"})
    job = job_of(begin(d, "gemini", "in memory [[say=memory-words]]"))
    over(t, d, job)
    t.claim("memory-words" in str(result(d, job)), "none: results can be read")
    t.equal(d.call("llm_process_health").data["persistence"].get("backend"), "memory", "none: backend")


@check(224, seconds=100)
def retention(t: Trial) -> None:
    """Answers are kept 30 days, or as LLM_GATEWAY_JOB_RETENTION_DAYS says; what runs never expires."""
    c = llm(t)
    t.equal(c.call("llm_process_health").data["persistence"].get("retentionDays"), 30, "by default")
    d = t.client("llm", env={"LLM_GATEWAY_JOB_RETENTION_DAYS": "7"})
    t.equal(d.call("llm_process_health").data["persistence"].get("retentionDays"), 7, "by the variable")
    for wrong in ("0", "-1", "soon"):
        d = t.client("llm", env={"LLM_GATEWAY_JOB_RETENTION_DAYS": wrong})
        answer = d.call("claude_request", {"prompt": f"keep {wrong}"})
        t.claim("LLM_GATEWAY_JOB_RETENTION_DAYS" in answer.all + str(answer.data), f"{wrong}: {brief(answer.text, 90)}")
    short = t.other("short")
    c = llm(short, settings="keep = '1s'\n")
    running = job_of(begin(c, "claude", "runs [[sleep=45 say=lasted]]"))
    gone = job_of(begin(c, "codex", "goes [[say=fleeting]]"))
    over(short, c, gone)
    short.until(
        lambda: "fleeting" not in str(c.call("llm_job_result", {"jobId": gone}).data), "the end of a kept answer", 70
    )
    t.claim(True, "kept for 1 s, it is gone afterwards")
    said = c.call("llm_job_status", {"jobId": gone})
    t.claim("forgotten" in said.all or "ot found" in said.all, f"and told: {brief(said.text, 120)}")
    t.claim(status(c, running)["status"] in ("running", "completed"), "what runs stays")


@check(225)
def from_store(t: Trial) -> None:
    """Reads are the same whether the server has the job in memory or only in its store."""
    c = llm(t)
    jobs: dict[str, str] = {}
    for word, more in (("good", ""), ("bad", "exit=4 err=oh-no"), ("big", "flood=300000")):
        jobs[word] = job_of(begin(c, "codex", f"{word} [[{more} say=W-{word}]]", correlationId=f"c-{word}"))
        over(t, c, jobs[word])
    before = {word: (status(c, job), result(c, job)) for word, job in jobs.items()}
    t.bide("daemon", "restart")
    d = t.client("llm")
    for word, job in jobs.items():
        t.claim((status(d, job), result(d, job)) == before[word], f"{word}: status and result are the same")
    t.claim(jobs["good"] in d.call("llm_request_result", {"correlationId": "c-good"}).all, "by correlation id too")
    again = t.client("llm")
    t.claim("W-good" in str(result(again, jobs["good"])), "and for the next client")


@check(226)
def orphans(t: Trial) -> None:
    """What ran when the server died keeps its true end; only what nobody can know is orphaned, with its output."""
    c = llm(t)
    lives = job_of(begin(c, "claude", "lives [[sleep=4 say=true-end]]"))
    fails = job_of(begin(c, "codex", "fails [[sleep=2 exit=7]]"))
    lost = job_of(begin(c, "gemini", "lost [[partial=last-seen hang=1]]"))
    call = t.until(lambda: calls(t, "lost [["), "its process")[-1]
    t.until(lambda: "last-seen" in result(c, lost)["stdout"], "its output")
    crash(t)
    parent = int(Path(f"/proc/{call['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in (parent, call["pid"]):
        if pid > 1:
            os.kill(pid, signal.SIGKILL)
    t.rest(3)
    d = t.client("llm")
    last = over(t, d, lives)
    t.equal([last["status"], last["exitCode"]], ["completed", 0], "one that went on:")
    t.claim("true-end" in result(d, lives)["stdout"], "with its answer")
    last = over(t, d, fails)
    t.equal([last["status"], last["exitCode"]], ["failed", 7], "one that ended while no server was there:")
    last = over(t, d, lost)
    t.claim(
        last["status"] in ("orphaned", "failed") and last["exitCode"] != 0,
        f"one whose keeper died too: {last['status']}",
    )
    t.claim(last["error"], f"with a reason: {brief(last['error'], 90)}")
    t.claim("last-seen" in result(d, lost)["stdout"], "and its partial output")


@check(227)
def second(t: Trial) -> None:
    """Another instance does not orphan the first one's jobs."""
    c = llm(t)
    job = job_of(begin(c, "claude", "first [[sleep=5 say=unharmed]]"))
    first = t.daemon()
    for _ in range(3):
        other = t.client("llm", name="another-client")
        other.call("llm_process_health")
    started = t.bide("daemon", "run", seconds=20) if "run" in t.bide("daemon", "--help").out else None
    t.claim(
        started is None or started.code != 0,
        f"a second server of the home is refused: {brief(started.err if started else '-')}",
    )
    t.equal([t.daemon(), status(c, job)["status"]], [first, "running"], "the first one and its job:")
    for one in t.clients[1:]:
        one.close()
    last = over(t, c, job)
    t.equal([last["status"], last["exitCode"]], ["completed", 0], "its end")
    t.claim("unharmed" in result(c, job)["stdout"], "with its answer")


@check(228)
def shutdown(t: Trial) -> None:
    """At the shutdown all groups get SIGTERM, then SIGKILL; no child is left."""
    c = llm(t)
    for at, cli in enumerate(CLIS):
        begin(c, cli, f"one {at} [[deaf=1 sleep=300 child=88.125]]")
    t.until(lambda: len(calls(t)) == 5 and len(t.alive("sleep 88.125")) == 5, "five with children")
    pids = [one["pid"] for one in calls(t)]
    found = t.bide("daemon", "stop", "--kill", seconds=40)
    t.equal(found.code, 0, "stop --kill: exit")
    t.until(lambda: not t.alive("sleep 88.125"), "the death of the children", 10)
    t.claim(
        not any(
            Path(f"/proc/{pid}").exists() and "fake_cli" in Path(f"/proc/{pid}/cmdline").read_text() for pid in pids
        ),
        "five deaf CLIs and their children are dead",
    )
    d = t.client("llm")
    ended = [one for one in t.jobs() if one["phase"] != "ended"]
    t.equal(ended, [], "still running afterwards")
    t.claim("llm_job_status" in d.tools(), "the next server answers")


@check(229)
def same(t: Trial) -> None:
    """An equal request within the window is the same job; sync and async share it."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 800})
    for cli in CLIS:
        words = f"same {cli} [[sleep=1.5 say=one-answer]]"
        one = begin(c, cli, words)
        two = begin(c, cli, words)
        sync = c.call(f"{cli}_request", {"prompt": words})
        t.equal([job_of(two), sync.data.get("jobId")], [job_of(one)] * 2, f"{cli}: ids while it runs")
        over(t, c, job_of(one))
        late = c.call(f"{cli}_request", {"prompt": words})
        t.equal(
            [late.text.strip().splitlines()[0], late.data.get("jobId")],
            ["one-answer", job_of(one)],
            f"{cli}: when it is over",
        )
        t.equal(len(calls(t, f"same {cli}")), 1, f"{cli}: processes")
    health = c.call("llm_process_health").data["persistence"]
    t.equal(health.get("dedupWindowMs"), 3600000, "window")
    short = t.client("llm", env={"LLM_GATEWAY_DEDUP_WINDOW_MS": "1500"})
    one = job_of(begin(short, "claude", "short window"))
    over(t, short, one)
    t.equal(job_of(begin(short, "claude", "short window")), one, "within a window of 1.5 s: the same")
    t.rest(2.5)
    t.claim(job_of(begin(short, "claude", "short window")) != one, "past it another")


@check(230)
def which(t: Trial) -> None:
    """Running and completed ones are joined; failed, canceled and orphaned never."""
    c = llm(t)
    bad = done(t, c, "codex", "bad [[exit=3]]")
    t.claim(job_of(begin(c, "codex", "bad [[exit=3]]")) != bad["id"], "a failed one is asked again")
    gone = job_of(begin(c, "claude", "gone [[sleep=60]]"))
    c.call("llm_job_cancel", {"jobId": gone})
    at_once = job_of(begin(c, "claude", "gone [[sleep=60]]"))
    t.claim(at_once != gone, "a canceled one is asked again, also while it is being ended")
    over(t, c, gone)
    t.equal(job_of(begin(c, "claude", "gone [[sleep=60]]")), at_once, "the new one is joined:")
    t.equal(len(calls(t, "bad [[")), 2, "processes of the failed one")


@check(231)
def off(t: Trial) -> None:
    """Window 0 switches it off; forceRefresh for one call."""
    c = llm(t)
    one = job_of(begin(c, "claude", "x [[sleep=2]]"))
    two = job_of(begin(c, "claude", "x [[sleep=2]]", forceRefresh=True))
    t.claim(one != two, "forceRefresh beside one that runs: another")
    three = c.call("claude_request", {"prompt": "x [[sleep=2]]", "forceRefresh": True}).data.get("jobId")
    t.claim(three not in (one, two), "sync as well")
    t.claim(job_of(begin(c, "claude", "x [[sleep=2]]")) in (one, two, three), "without it one of them")
    d = t.client("llm", env={"LLM_GATEWAY_DEDUP_WINDOW_MS": "0"})
    made = {job_of(begin(d, "codex", "y")) for _ in range(3)}
    t.equal(len(made), 3, "window 0: jobs of three requests")
    file = t.other("file")
    e = llm(file, settings="dedup_window = '0s'\n")
    t.equal(len({job_of(begin(e, "codex", "y")) for _ in range(2)}), 2, "by settings: jobs of two")


@check(232)
def key(t: Trial) -> None:
    """What makes requests equal: CLI, words, environment, input and folder; not the correlation id."""
    c = llm(t)
    (t.folder / "sub").mkdir()
    base = job_of(begin(c, "claude", "k", correlationId="a"))
    t.equal(job_of(begin(c, "claude", "k", correlationId="b")), base, "another correlation id:")
    t.equal(job_of(begin(c, "claude", "k")), base, "none:")
    t.equal(
        job_of(c.call("claude_request_async", {"promptParts": {"task": "k"}}).data), base, "the same words as parts:"
    )
    for name, more in (
        ("folder", {"cwd": str(t.folder / "sub")}),
        ("model", {"model": "m"}),
        ("format", {"outputFormat": "json"}),
        ("strategy", {"approvalStrategy": "mcp_managed"}),
        ("session", {"sessionId": "11111111-2222-3333-4444-555555555555"}),
    ):
        t.claim(job_of(begin(c, "claude", "k", **more)) != base, f"another {name}: another job")
    t.claim(
        job_of(begin(c, "claude", "K")) != base and job_of(begin(c, "codex", "k")) != base,
        "another prompt, another CLI",
    )
    one = job_of(begin(c, "mistral", "env", model="a"))
    t.claim(job_of(begin(c, "mistral", "env", model="b")) != one, "another environment (Vibe's model)")
    big = "z" * 99_000 + "ü" * 900
    wide = "€" * 60_000
    t.claim(job_of(begin(c, "claude", wide)) == job_of(begin(c, "claude", wide)), "input by stdin: the same")
    t.claim(job_of(begin(c, "claude", wide + "!")) != job_of(begin(c, "claude", wide)), "other input: another")
    t.claim(job_of(begin(c, "codex", big)), "a long one")


@check(233)
def recovered(t: Trial) -> None:
    """The recovery pattern: re-issued after a restart and with another correlation id it is the same job."""
    c = llm(t)
    first = job_of(
        begin(
            c, "codex", "ended [[say=found-again]]", fullAuto=True, approvalStrategy="mcp_managed", correlationId="r1"
        )
    )
    over(t, c, first)
    runs = job_of(begin(c, "claude", "runs [[sleep=5 say=still-there]]", correlationId="r2"))
    crash(t)
    c.kill()
    d = t.client("llm")
    again = begin(
        d, "codex", "ended [[say=found-again]]", fullAuto=True, approvalStrategy="mcp_managed", correlationId="r1"
    )
    t.equal(job_of(again), first, "the completed one:")
    t.equal(
        job_of(
            begin(
                d,
                "codex",
                "ended [[say=found-again]]",
                fullAuto=True,
                approvalStrategy="mcp_managed",
                correlationId="new",
            )
        ),
        first,
        "with another id:",
    )
    t.equal(
        job_of(begin(d, "claude", "runs [[sleep=5 say=still-there]]", correlationId="r2")), runs, "the running one:"
    )
    over(t, d, runs)
    t.claim("still-there" in result(d, runs)["stdout"], "its answer")
    t.equal(len(calls(t)), 2, "processes")


@check(234)
def at_once(t: Trial) -> None:
    """Equal calls at the same moment start one process."""
    c = llm(t)
    d = t.client("llm")
    for cli in ("claude", "gemini"):
        words = {"prompt": f"together {cli} [[sleep=1]]"}
        numbers = [(one, one.begin(f"{cli}_request_async", words)) for _ in range(6) for one in (c, d)]
        numbers += [(one, one.begin(f"{cli}_request", words)) for one in (c, d)]
        answers: list[Json] = [one.answer(number).data for one, number in numbers]
        ids = {job_of(one) or one.get("jobId") for one in answers}
        t.equal([len(ids), len(calls(t, f"together {cli}"))], [1, 1], f"{cli}: 14 calls: jobs, processes")


__all__ = ["Client"]
