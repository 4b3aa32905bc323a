"""Seed 004: conversations, versions, the gate, reviews, limits (245-255)."""

from __future__ import annotations

import json
import os
import stat

from seeds.checks.llm_requests import refused
from seeds.gateway import CLIS, argv_of, begin, calls, done, fake, job_of, llm, over, status
from seeds.registry import check
from seeds.trial import Client, Json, Trial, brief


@check(245)
def sessions(t: Trial) -> None:
    """session_create, list, get, set_active, delete and clear_all."""
    c = llm(t)

    def made(cli: str, **more: object) -> str:
        found = c.call("session_create", {"cli": cli, **more}).data
        return (found.get("session") or found)["id"]

    one, two = made("claude", description="first"), made("claude", setAsActive=False)
    codex = made("codex")
    listed = c.call("session_list").data
    t.equal({row["id"] for row in listed["sessions"]}, {one, two, codex}, "list")
    t.equal([listed["activeSessions"]["claude"], listed["activeSessions"]["codex"]], [one, codex], "active")
    t.equal([row["id"] for row in c.call("session_list", {"cli": "codex"}).data["sessions"]], [codex], "of one CLI")
    t.equal(c.call("session_get", {"sessionId": one}).data["session"]["description"], "first", "get: description")
    c.call("session_set_active", {"cli": "claude", "sessionId": two})
    t.equal(c.call("session_list").data["activeSessions"]["claude"], two, "set_active")
    wrong = c.call("session_set_active", {"cli": "gemini", "sessionId": two})
    t.claim(wrong.error or wrong.data.get("success") is False, f"of another CLI: {brief(wrong.text, 80)}")
    c.call("session_delete", {"sessionId": two})
    gone = c.call("session_get", {"sessionId": two})
    t.claim(gone.error or gone.data.get("success") is False, f"deleted: {brief(gone.text, 80)}")
    crashed = t.daemon()
    os.kill(crashed, 9)
    c = t.client("llm")
    t.equal({row["id"] for row in c.call("session_list").data["sessions"]}, {one, codex}, "after kill -9")
    c.call("session_clear_all", {"cli": "codex"})
    t.equal({row["id"] for row in c.call("session_list").data["sessions"]}, {one}, "clear_all of one CLI")
    c.call("session_clear_all")
    t.equal(c.call("session_list").data["total"], 0, "clear_all")
    session = c.call("claude_request", {"prompt": "x"}).data["sessionId"]
    t.claim(session in str(c.call("session_list").data), "the conversation of an answer is listed")
    other = t.client("llm", name="somebody-else")
    t.equal(other.call("session_list").data["total"], 0, "another agent sees")


@check(246)
def continuity(t: Trial) -> None:
    """Claude, Gemini, Grok (and Codex) go on with a conversation by their flags."""
    c = llm(t)
    flags = {"claude": "--resume", "gemini": "--resume", "grok": "--resume", "codex": "resume", "mistral": "--resume"}
    for cli, flag in flags.items():
        first = c.call(f"{cli}_request", {"prompt": f"begin {cli}"}).data
        session = first.get("sessionId") or "0a1b2c3d-1111-2222-3333-444455556666"
        answer = c.call(f"{cli}_request", {"prompt": f"go on {cli}", "sessionId": session})
        argv = argv_of(t, f"go on {cli}")
        t.claim(flag in argv and session in argv[argv.index(flag) :], f"{cli}: {brief(argv, 160)}")
        t.claim(
            cli == "mistral" or answer.data.get("sessionId") == session, f"{cli}: the answer has the same sessionId"
        )
        done(t, c, cli, f"async go on {cli}", sessionId=session)
        t.claim(session in argv_of(t, f"async go on {cli}"), f"{cli}: async too")
    for cli, field, wanted in (
        ("claude", "continueSession", "--continue"),
        ("gemini", "resumeLatest", "latest"),
        ("grok", "resumeLatest", "--continue"),
        ("codex", "resumeLatest", "--last"),
        ("mistral", "resumeLatest", "--continue"),
    ):
        done(t, c, cli, f"latest {cli}", **{field: True})
        t.claim(wanted in argv_of(t, f"latest {cli}"), f"{cli}: {field}: {brief(argv_of(t, f'latest {cli}'), 120)}")


@check(247)
def versions(t: Trial) -> None:
    """cli_versions tells of each CLI whether it is installed, its version and login; a probe has 5 s."""
    c = llm(t, clis=("claude", "codex", "grok", "mistral"))
    found = {one["cli"]: one for one in c.call("cli_versions").data["versions"]}
    t.equal(sorted(found), sorted(CLIS), "of")
    t.equal([found["claude"]["installed"], found["claude"]["version"]], [True, "2.1.325 (Claude Code)"], "claude")
    t.equal([found["gemini"]["installed"], found["gemini"]["version"]], [False, None], "gemini, which is not there")
    allowed = {"authenticated", "not_authenticated", "unknown", "not_checked"}
    t.claim(
        all(one["loginStatus"] in allowed for one in found.values()),
        f"{[one['loginStatus'] for one in found.values()]}",
    )
    t.equal([one["cli"] for one in c.call("cli_versions", {"cli": "grok"}).data["versions"]], ["grok"], "of one")
    slow = t.root / "bin" / "gemini"
    slow.write_text("#!/bin/sh\nexec sleep 50.25\n")
    slow.chmod(0o755)
    answer = c.call("cli_versions", {"cli": "gemini"})
    one = answer.data["versions"][0]
    t.claim(
        answer.seconds < 9 and one["installed"] is True and not one["version"],
        f"one that hangs: {brief(one)} after {answer.seconds:.1f} s",
    )
    (t.root / "bin" / "grok").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    one = c.call("cli_versions", {"cli": "grok"}).data["versions"][0]
    t.claim(one["installed"] is True, f"one that fails: {brief(one)}")


@check(248)
def upgrade(t: Trial) -> None:
    """cli_upgrade shows the plan and runs nothing unless told; Grok gets `grok update`."""
    c = llm(t)
    others = t.root / "others.jsonl"
    wanted = {"claude": ["update"], "codex": None, "gemini": None, "grok": ["update"], "mistral": None}
    for cli, words in wanted.items():
        found = c.call("cli_upgrade", {"cli": cli}).data
        t.claim(
            found.get("dryRun") is True and found.get("success") is True and found.get("plan"),
            f"{cli}: {brief(found, 150)}",
        )
        if words:
            t.equal([found["plan"]["command"], found["plan"]["args"]], [cli, words], f"{cli}: plan")
    ran = [json.loads(line) for line in others.read_text().splitlines()] if others.exists() else []
    t.equal([one for one in ran if one["argv"][0] in ("update", "upgrade", "install")], [], "run so far")
    for wrong in ("-rf", "1.0 --force", "", "a b"):
        answer = c.call("cli_upgrade", {"cli": "claude", "target": wrong})
        t.claim(answer.error and "target" in answer.all, f"target {wrong!r}: {brief(answer.text, 70)}")
    t.claim(
        "1.2.3" in str(c.call("cli_upgrade", {"cli": "claude", "target": "1.2.3"}).data.get("plan")),
        "a target is in the plan",
    )
    real = c.call("cli_upgrade", {"cli": "grok", "dryRun": False})
    t.until(lambda: others.exists() and "update" in others.read_text(), "the upgrade", 10)
    t.claim(not real.error, f"dryRun false runs it: {brief(real.text, 80)}")


@check(249)
def doctor(t: Trial) -> None:
    """`doctor --json` flags an explicit `[session_logging] enabled = false` of Vibe."""
    llm(t)
    config = t.root / "user" / ".vibe" / "config.toml"
    config.parent.mkdir()

    def flagged(text: str | None, *words: str) -> Json | str:
        if text is not None:
            config.write_text(text)
        return t.bide(*words, "--json").data

    off = "[session_logging]\nenabled = false\n"
    for words in (("llm", "doctor"), ("doctor",)):
        config.unlink(missing_ok=True)
        name = " ".join(words)
        t.claim("session_logging" not in _advice(flagged(None, *words)), f"{name}: nothing without a file")
        t.claim(
            "session_logging" not in _advice(flagged("[session_logging]\nenabled = true\n", *words)),
            f"{name}: nothing when it is on",
        )
        t.claim(
            "session_logging" in _advice(flagged(off, *words)),
            f"{name}: flagged when it is off: {brief(_advice(flagged(off, *words)), 160)}",
        )
    found = flagged(off, "llm", "doctor")
    assert isinstance(found, dict)
    t.equal(found.get("schema_version"), "1.0", "schema_version")
    t.claim(found.get("next_actions") and found.get("cache_awareness"), "next_actions and cache_awareness are there")
    t.claim(set(CLIS) <= set(found.get("providers", {})), f"providers {sorted(found.get('providers', {}))}")
    config.write_text("not [ toml")
    t.claim(t.bide("llm", "doctor", "--json").data.get("next_actions"), "a file that is no TOML stops nothing")


def _advice(found: object) -> str:
    """Return what a doctor says needs attention."""
    if isinstance(found, dict) and "checks" in found:
        return json.dumps([one for one in found["checks"] if one["level"] != "ok"])
    return json.dumps(found.get("next_actions")) if isinstance(found, dict) else ""


@check(250)
def gate(t: Trial) -> None:
    """The gate's scores and thresholds; what is denied starts nothing; each decision is logged."""
    c = llm(t)
    managed = {"approvalStrategy": "mcp_managed"}
    cases: tuple[tuple[str, str, Json, str, bool], ...] = (
        ("claude", "Explain the parser", {}, "strict", True),
        ("claude", "Security audit: check how the session token is refreshed", {}, "balanced", True),
        ("claude", "Delete the unused imports", {}, "balanced", True),
        ("claude", "Delete the unused imports", {}, "strict", False),
        ("claude", "Refactor it", {"dangerouslySkipPermissions": True}, "strict", False),
        ("claude", "Refactor it", {"dangerouslySkipPermissions": True}, "balanced", True),
        ("claude", "Wipe the password", {"dangerouslySkipPermissions": True}, "balanced", False),
        ("claude", "Wipe the password", {"dangerouslySkipPermissions": True}, "permissive", True),
        ("codex", "Implement it", {"fullAuto": True}, "strict", True),
        ("codex", "Implement it all", {"fullAuto": True, "mcpServers": ["exa"]}, "strict", False),
        ("codex", "Do all", {"fullAuto": True, "dangerouslyBypassApprovalsAndSandbox": True}, "balanced", False),
        ("claude", "Review the change", {"disallowedTools": ["Read", "Grep"]}, "balanced", False),
        ("claude", "Review the change. Do not use any tools.", {}, "strict", False),
    )
    for at, (cli, prompt, more, policy, allowed) in enumerate(cases):
        before = len(calls(t))
        answer = c.call(f"{cli}_request", {"prompt": f"{prompt} #{at}", "approvalPolicy": policy, **managed, **more})
        ran = len(calls(t)) > before
        t.claim(
            ran == allowed and answer.error != allowed,
            f"{policy}: {cli} {prompt!r} {more or ''}: {'let through' if ran else brief(answer.text, 110)}",
        )
        if not allowed and answer.error:
            t.claim("denied" in answer.all, f"#{at}: says denied")
    found = c.call("approval_list", {"limit": 500}).data["approvals"]
    t.equal(len(found), len(cases), "decisions listed")
    t.equal(len(c.call("approval_list").data["approvals"]), len(cases), "by default up to 50")
    t.equal(len(c.call("approval_list", {"limit": 2}).data["approvals"]), 2, "limit 2")
    for wrong in (0, 501, -1):
        refused(t, c.call("approval_list", {"limit": wrong}), "limit")
    log = t.home / "llm" / "approvals.jsonl"
    t.equal(oct(stat.S_IMODE(log.stat().st_mode)), "0o600", "the log's mode")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    t.claim("password" not in log.read_text(), "no prompt is in it")
    t.claim({"status", "policy", "score", "reasons"} <= set(rows[0]), f"{sorted(rows[0])}")


@check(251)
def recorder(t: Trial) -> None:
    """One row per request, its completion written once; equal and repeated reads count nothing."""
    c = llm(t)
    for prompt in ("one [[cread=10]]", "two", "three [[exit=3]]"):
        c.call("claude_request", {"prompt": prompt})
    job = job_of(begin(c, "codex", "four [[sleep=3]]"))
    os.kill(t.daemon(), 9)
    c = t.client("llm")
    over(t, c, job)
    for _ in range(3):
        c.call("llm_job_result", {"jobId": job})
        c.call("llm_job_status", {"jobId": job})
    os.kill(t.daemon(), 9)
    c = t.client("llm")
    found = json.loads(c.read("cache_state://global"))
    t.equal(
        {one["cli"]: one["requestCount"] for one in found["perCli"]},
        {"claude": 3, "codex": 1},
        "rows after two crashes and six reads",
    )
    t.equal([found["totalRequests"], found["totalHits"], found["totalCacheReadTokens"]], [4, 1, 10], "figures")
    metrics = c.read("metrics://performance")
    t.claim("claude" in metrics, f"metrics://performance: {brief(metrics, 300)}")


APPROVALS = (
    "APPROVED",
    "Looks good.||APPROVED",
    "All fine.||**APPROVED**",
    "ok||Verdict:_APPROVED",
    "I checked it.||APPROVED.",
)
OTHERS = (
    "This change cannot be APPROVED.",
    "I refuse to mark this APPROVED.",
    "APPROVED? No.",
    "APPROVED||But fix the null check first.",
    "NOT APPROVED",
    "**NOT_APPROVED**||1. the lock is never released",
    "Findings...||NOT APPROVED with findings.",
    "APPROVED once the tests pass",
    "APPROVED with conditions: rename x",
    "It would be APPROVED if it had tests.",
    "> APPROVED",
    "```||APPROVED||```",
    "- APPROVED",
    "The author writes: 'APPROVED'",
    "End with APPROVED or NOT APPROVED with findings.",
    "APPROVED or NOT APPROVED? I cannot tell.",
    "not approved",
    "Nicht APPROVED",
    "UNAPPROVED",
    "APPROVED... just kidding",
    "Conditionally APPROVED",
    "Almost APPROVED",
    "APPROVED||NOT APPROVED",
    "No objections from me",
    "DISAPPROVED",
)


@check(252, seconds=120)
def reviews(t: Trial) -> None:
    """The skill's text is a resource; the review helper reads verdicts without a false approval, three rounds at most."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 30000})
    text = c.read("skills://async-job-orchestration")
    t.claim("60" in text or "a minute" in text, "the skill has 60 s")
    for word in (
        "mcp_managed",
        "NOT APPROVED",
        "forceRefresh",
        "llm_job_status",
        "llm_job_result",
        "promptParts",
    ):
        t.claim(word in text, f"the skill has {word}")
    t.claim("3 rounds" in text or "three rounds" in text, "the skill has three rounds")

    def reviewed(say: str, at: int) -> Json:
        words = say.replace(" ", "_")
        answer = c.call("llm_review", {"prompt": f"look at {at} [[say={words}]]", "clis": ["grok"], "waitMs": 25000})
        return answer.data

    for at, say in enumerate(APPROVALS):
        found = reviewed(say, at)
        t.claim(
            found.get("approved") is True or found.get("verdict") == "approved",
            f"{say!r}: {brief(found.get('verdict', found), 80)}",
        )
    for at, say in enumerate(OTHERS, 100):
        found = reviewed(say, at)
        t.claim(
            found.get("approved") is not True and found.get("verdict") != "approved" and found,
            f"{say!r}: not approved ({brief([one.get('verdict') for one in found.get('reviews', []) if isinstance(one, dict)], 40)})",
        )
    many = c.call(
        "llm_review", {"prompt": "all [[say=APPROVED]]", "clis": ["claude", "codex", "gemini"], "waitMs": 25000}
    ).data
    t.claim(
        many.get("verdict") == "approved" or many.get("approved") is True, f"three that approve: {brief(many, 120)}"
    )
    past = c.call("llm_review", {"prompt": "x", "clis": ["grok"], "round": 4})
    t.claim(past.error, f"a fourth round: {brief(past.text, 110)}")


@check(253)
def silence(t: Trial) -> None:
    """Exit 0 with nothing said is `empty_output`; it is no agreement; one missing provider stops no fan-out."""
    c = llm(t, clis=("claude", "codex", "grok"))
    for cli in ("claude", "codex", "grok"):
        answer = c.call(f"{cli}_request", {"prompt": f"hush {cli} [[silent=1]]"})
        t.claim("empty_output" in answer.all + str(answer.data), f"{cli}: {brief(answer.data, 120)}")
    t.claim("empty_output" in str(c.call("claude_request", {"prompt": "blank [[say=|]]"}).data), "blanks only, too")
    found = c.call("llm_review", {"prompt": "quiet [[silent=1]]", "clis": ["claude", "codex"], "waitMs": 20000}).data
    t.claim(
        found.get("verdict") != "approved" and found.get("approved") is not True,
        f"silent reviewers: {brief(found, 90)}",
    )
    found = c.call(
        "llm_review", {"prompt": "some [[say=APPROVED]]", "clis": ["claude", "gemini", "mistral"], "waitMs": 20000}
    )
    t.claim(
        "missing" in found.all + str(found.data) and not found.error,
        f"two that are not installed: {brief(found.data, 160)}",
    )
    t.equal(len(calls(t, "some [[")), 1, "the one that is there was asked")
    check_ = c.call("consensus_check", {"claim": "water is wet [[silent=1]]", "models": ["claude", "codex"]})
    t.claim(
        "agree" not in str(check_.data.get("consensus", "")).replace("disagree", "").replace("agreement", ""),
        f"consensus_check: {brief(check_.data, 120)}",
    )


@check(254)
def places(t: Trial) -> None:
    """32 run at once, 16 of one CLI; others wait; past 128 that wait another is refused and may be tried again."""
    c = llm(t)
    for at in range(18):
        begin(c, "grok", f"slot {at} [[sleep=60]]")
    found = next(one for one in c.call("llm_process_health").data["clis"] if one["cli"] == "grok")
    t.equal([found["running"], found["queued"]], [16, 2], "of 18 of one CLI: running, queued")
    t.equal(begin(c, "claude", "other [[sleep=1]]").get("success"), True, "another CLI is asked:")
    small = t.other("small")
    d = llm(small, settings="running = 3\nrunning_per_cli = 2\nwaiting = 2\n")
    jobs = [job_of(begin(d, "claude", f"s {at} [[sleep=3]]")) for at in range(3)]
    jobs += [job_of(begin(d, "codex", f"c {at} [[sleep=3]]")) for at in range(2)]
    t.claim(all(jobs), "3 running, 2 waiting")
    answer = d.call("claude_request_async", {"prompt": "one too many"})
    t.claim(answer.error and ("queue" in answer.all or "wait" in answer.all), f"the sixth: {brief(answer.text, 140)}")
    t.claim("wait for some to end" in answer.all or "again" in answer.all, "and told when it may be tried again")
    for job in jobs:
        t.equal(over(small, d, job)["status"], "completed", "each in the end")
    gone = t.other("gone")
    e = llm(gone, settings="running = 1\nqueue_timeout = '1s'\n")
    begin(e, "claude", "holds [[sleep=6]]")
    last = over(gone, e, job_of(begin(e, "codex", "gives up")))
    t.claim(
        last["status"] == "failed" and not calls(gone, "gives up"),
        f"with queue_timeout it is given up: {brief(last.get('error'), 80)}",
    )


@check(255)
def sizes(t: Trial) -> None:
    """A word may have 131,071 bytes, all 1 MiB; NUL is invalid; too long is told."""
    c = llm(t)
    wide = "€" * 90_000
    for cli in CLIS:
        answer = c.call(f"{cli}_request", {"prompt": wide})
        found = [one for one in calls(t) if one["stdin"].strip() == wide or wide in one["argv"]]
        t.claim(
            (not answer.error and any(one["cli"] in (cli, "vibe") for one in found)) or "input_too_large" in answer.all,
            f"{cli}: a prompt of 270,000 bytes: {brief(answer.text, 60)}",
        )
    before = len(calls(t))
    for words, kind in (
        ({"prompt": "x", "appendSystemPrompt": "s" * 131_072}, "input_too_large"),
        ({"prompt": "x", "allowedTools": [f"Tool{at}" + "t" * 1000 for at in range(1100)]}, "input_too_large"),
        ({"prompt": "a\0b"}, "invalid_input"),
        ({"prompt": "x", "model": "a\0b"}, "invalid_input"),
        ({"prompt": "x", "allowedTools": ["a\0b"]}, "invalid_input"),
    ):
        answer = c.call("claude_request", words)
        field = [key for key in words if key != "prompt"] or ["prompt"]
        t.claim(
            answer.error
            and (kind in answer.all + str(answer.data) or "NUL" in answer.all or "bytes" in answer.all)
            and "Traceback" not in answer.all,
            f"{field[0]} {kind}: {brief(answer.text, 120)}",
        )
    t.equal(len(calls(t)) - before, 0, "processes started")
    fits = c.call("claude_request", {"prompt": "y", "appendSystemPrompt": "s" * 100_000})
    t.claim(not fits.error, "100,000 bytes fit")


__all__ = ["Client", "fake", "status"]
