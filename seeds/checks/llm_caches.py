"""Seed 004: prompt parts, caches, configuration (235-244)."""

from __future__ import annotations

import hashlib
import json
import time

from seeds.gateway import CLIS, argv_of, calls, job_of, llm, over
from seeds.registry import check
from seeds.trial import Client, Json, Trial, brief

PARTS = {"task": "TASK-T", "context": "CONTEXT-C", "system": "SYSTEM-S", "tools": "TOOLS-O"}
PREFIX = "SYSTEM-S\n\nTOOLS-O\n\nCONTEXT-C"
ENABLED = "[llm]\nenabled = true\n"


def ask(c: Client, cli: str, parts: Json, **more: object) -> Json:
    """Ask with parts and wait for the answer."""
    return c.call(f"{cli}_request", {"promptParts": parts, **more}).data


def state(c: Client, what: str) -> Json:
    """Read a resource of caches."""
    return json.loads(c.read(f"cache_state://{what}"))


def sha(text: str) -> str:
    """Return the hash of a prefix."""
    return hashlib.sha256(text.encode()).hexdigest()


@check(235)
def order(t: Trial) -> None:
    """Parts come in the order system, tools, context, task, with a blank line between; the task is required."""
    c = llm(t)
    whole = f"{PREFIX}\n\nTASK-T"
    for cli in CLIS:
        for tool in (f"{cli}_request", f"{cli}_request_async"):
            answer = c.call(tool, {"promptParts": PARTS})
            t.claim(not answer.error, f"{tool} takes parts")
        sent = [part for part in argv_of(t, "TASK-T") if "TASK-T" in part]
        t.equal(sent, [whole], f"{cli}: sent")
    c.call("claude_request", {"promptParts": {"system": "S2", "tools": "", "context": None, "task": "T2"}})
    t.claim("S2\n\nT2" in argv_of(t, "T2"), f"empty ones are left out: {argv_of(t, 'T2')[:2]}")
    for wrong in ({"system": "x"}, {"task": ""}, {}, "text", {"task": "x", "tsak": "y"}):
        answer = c.call("claude_request", {"promptParts": wrong})
        t.claim(
            answer.error and ("task" in answer.all or "promptParts" in answer.all or "tsak" in answer.all),
            f"{wrong}: {brief(answer.text, 70)}",
        )


@check(236)
def prefix_hash(t: Trial) -> None:
    """The prefix' hash is sha256 of its bytes, the same at a re-issue and whatever the task."""
    c = llm(t)
    for cli in ("claude", "codex"):
        for task in ("one", "two", "two"):
            ask(c, cli, {**PARTS, "task": f"{task} {cli}"}, forceRefresh=True)
    ask(c, "claude", {"system": "other", "task": "x"})
    found = state(c, f"prefix/{sha(PREFIX)}")
    t.equal([found["requestCount"], found["stablePrefixHash"]], [6, sha(PREFIX)], "six requests with one prefix")
    t.equal(state(c, f"prefix/{sha('other')}")["requestCount"], 1, "another prefix:")
    wide = "ü€" * 4000
    ask(c, "claude", {"context": wide, "task": "y"})
    t.equal(state(c, f"prefix/{sha(wide)}")["requestCount"], 1, "UTF-8 bytes are hashed:")
    t.equal(state(c, f"prefix/{sha(PREFIX + 'TASK')}")["requestCount"], 0, "with the task:")


@check(237)
def whole(t: Trial) -> None:
    """cache_state://global has the hit rate, hits, savings of the last 24 h, and each CLI."""
    c = llm(t)
    empty = state(c, "global")
    t.equal(
        [empty["windowHours"], empty["totalRequests"], empty["totalHits"], empty["hitRate"]], [24, 0, 0, 0], "at first"
    )
    ask(c, "claude", {**PARTS, "task": "a [[cread=100000 ccreate=10]]"}, model="sonnet")
    ask(c, "claude", {**PARTS, "task": "b"})
    ask(c, "codex", {**PARTS, "task": "c [[cread=700]]"})
    ask(c, "gemini", {**PARTS, "task": "d"})
    found = state(c, "global")
    t.equal([found["totalRequests"], found["totalHits"], found["hitRate"]], [4, 2, 0.5], "of four")
    t.equal([found["totalCacheReadTokens"], found["totalCacheCreationTokens"]], [100700, 10], "tokens")
    by = {one["cli"]: one for one in found["perCli"]}
    t.equal(
        {cli: (one["requestCount"], one["hitCount"]) for cli, one in by.items()},
        {"claude": (2, 1), "codex": (1, 1), "gemini": (1, 0)},
        "by CLI",
    )
    t.claim(
        "estimatedSavingsUsd" in found and "estimatedSavingsUsd" in by["claude"],
        f"savings {found['estimatedSavingsUsd']}",
    )
    c.call("claude_request", {"promptParts": {**PARTS, "task": "b"}})
    t.equal(state(c, "global")["totalRequests"] in (4, 5), True, "one that joins asks nobody:")


@check(238)
def single(t: Trial) -> None:
    """cache_state://session and prefix have their figures; unknown ones are zeros; the other spelling works."""
    c = llm(t)
    one = ask(c, "claude", {**PARTS, "task": "a [[cread=50 ccreate=10]]"})
    session = one["sessionId"]
    ask(c, "claude", {**PARTS, "task": "b"}, sessionId=session, model="opus")
    ask(c, "codex", {**PARTS, "task": "c"}, model="gpt-5")
    found = state(c, f"session/{session}")
    t.equal(
        [found["sessionId"], found["cli"], found["requestCount"], found["hitCount"]],
        [session, "claude", 2, 1],
        "session",
    )
    t.claim(250_000 < found["ttlRemainingMs"] <= 300_000, f"ttlRemainingMs {found['ttlRemainingMs']}")
    codex = ask(c, "codex", {"task": "q"})["sessionId"]
    t.claim(state(c, f"session/{codex}").get("ttlRemainingMs") is None, "no TTL for Codex")
    found = state(c, f"prefix/{sha(PREFIX)}")
    seen = {(row["cli"], row.get("model"), row.get("count", row.get("requestCount"))) for row in found["cliBreakdown"]}
    t.claim(seen == {("claude", "fake-model", 2), ("codex", "gpt-5", 1)}, f"CLI by model: {sorted(map(str, seen))}")
    t.claim(found["firstSeenAt"] <= found["lastSeenAt"], "first and last time")
    for what in ("session/never", f"prefix/{'0' * 64}"):
        none = state(c, what)
        t.equal([none["requestCount"], none["hitCount"], none["totalCacheReadTokens"]], [0, 0, 0], f"{what[:12]}:")
    t.equal(json.loads(c.read(f"cache-state://session/{session}"))["requestCount"], 2, "cache-state:// too:")
    templates = str(c.request("resources/templates/list")) + str(c.request("resources/list"))
    t.claim(
        all(f"cache_state://{one}" in templates for one in ("global", "session/", "prefix/")), "all three are listed"
    )


@check(239)
def no_text(t: Trial) -> None:
    """No word of a prompt or an answer is in any of them."""
    c = llm(t)
    words = ("SECRETSYSTEM", "SECRETCONTEXT", "SECRETTASK", "SECRETANSWER")
    done = ask(c, "claude", {"system": words[0], "context": words[1], "task": f"{words[2]} [[say={words[3]}]]"})
    prefix = sha(f"{words[0]}\n\n{words[1]}")
    read = [c.read(f"cache_state://{one}") for one in ("global", f"session/{done['sessionId']}", f"prefix/{prefix}")]
    read.append(json.dumps(c.call("session_get", {"sessionId": done["sessionId"]}).data))
    read.append(c.read("metrics://performance"))
    for word in words:
        t.claim(not any(word in text for text in read), f"{word} is in none of five")
    t.claim(state(c, f"prefix/{prefix}")["requestCount"] == 1, "though it is counted")


@check(240)
def compact(t: Trial) -> None:
    """session_get has cacheState only once there were requests."""
    c = llm(t)
    made = c.call("session_create", {"cli": "claude"}).data
    fresh = (made.get("session") or made)["id"]
    found = c.call("session_get", {"sessionId": fresh}).data
    t.claim("cacheState" not in json.dumps(found), f"a fresh one: {brief(found)}")
    session = ask(c, "claude", {**PARTS, "task": "a [[cread=50]]"})["sessionId"]
    found = c.call("session_get", {"sessionId": session}).data
    cache = found.get("cacheState") or (found.get("session") or {}).get("cacheState") or {}
    t.equal(
        [cache.get("cli"), cache.get("requestCount"), cache.get("hitCount"), cache.get("hitRate")],
        ["claude", 1, 1, 1.0],
        "after one request",
    )
    t.claim({"prefixDistinct", "estimatedSavingsUsd", "ttlRemainingMs"} <= set(cache), f"{sorted(cache)}")


def warnings(found: Json) -> list[Json]:
    """Return the warnings of an answer about the TTL."""
    every = [*found.get("warnings", []), *found.get("notes", [])]
    return [one for one in every if isinstance(one, dict) and one.get("code") == "cache_ttl_expiring_soon"]


@check(241, seconds=400)
def expiring(t: Trial) -> None:
    """warn_on_ttl_expiry warns with less than 30 s left; Claude only, after cache writes only, sync and async; off by default."""
    began = time.monotonic()
    theirs = t.other("theirs")
    file = theirs.root / "user" / ".llm-cli-gateway" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[cache_awareness]\nwarn_on_ttl_expiry = true\n")
    old = llm(theirs)
    real = ask(old, "claude", {"task": "a [[ccreate=500]]"})
    early = ask(old, "claude", {"task": "b"}, sessionId=real["sessionId"])
    t.equal(warnings(early), [], "the gateway's own file, with 5 minutes left")
    t.settings(f"{ENABLED}[llm.cache]\nwarn_on_ttl_expiry = true\nanthropic_ttl = '20s'\n")
    c = llm(t)
    first = ask(c, "claude", {"task": "a [[ccreate=500]]"})
    t.equal(warnings(first), [], "the first request")
    sync = ask(c, "claude", {"task": "b"}, sessionId=first["sessionId"])
    found = warnings(sync)
    t.claim(len(found) == 1 and 0 < found[0]["ttlRemainingMs"] < 20_000, f"sync: {brief(found, 200)}")
    t.claim(found and first["sessionId"] in found[0]["message"] and "expires in" in found[0]["message"], "its message")
    start = c.call("claude_request_async", {"prompt": "c", "sessionId": first["sessionId"]}).data
    t.equal(len(warnings(start)), 1, "async: warnings")
    over(t, c, job_of(start))
    unwritten = ask(c, "claude", {"task": "d"})
    t.equal(warnings(ask(c, "claude", {"task": "e"}, sessionId=unwritten["sessionId"])), [], "without cache writes")
    for cli in ("codex", "gemini"):
        one = ask(c, cli, {"task": "f [[cread=5]]"})
        t.equal(warnings(ask(c, cli, {"task": "g"}, sessionId=one["sessionId"])), [], f"{cli}")
    for name, config in (("off", ""), ("long", "[llm.cache]\nwarn_on_ttl_expiry = true\n")):
        other = t.other(name)
        other.settings(ENABLED + config)
        d = llm(other)
        one = ask(d, "claude", {"task": "a [[ccreate=500]]"})
        t.equal(warnings(ask(d, "claude", {"task": "b"}, sessionId=one["sessionId"])), [], f"{name}: warnings")
    hour = t.other("hour")
    file = hour.root / "user" / ".llm-cli-gateway" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[cache_awareness]\nwarn_on_ttl_expiry = true\nanthropic_ttl_seconds = 3600\n")
    d = llm(hour)
    one = ask(d, "claude", {"task": "a [[ccreate=500]]"})
    features = state(d, "global").get("enabledFeatures", [])
    t.claim(
        any("ttl" in str(feature) for feature in features), f"with the gateway's own file: enabledFeatures {features}"
    )
    left = state(d, f"session/{one['sessionId']}")["ttlRemainingMs"]
    t.claim(3_500_000 < left <= 3_600_000, f"anthropic_ttl_seconds = 3600: {left} ms left")
    t.rest(max(0.0, 281 - (time.monotonic() - began)))
    found = warnings(ask(old, "claude", {"task": "c"}, sessionId=real["sessionId"]))
    t.claim(len(found) == 1 and 0 < found[0]["ttlRemainingMs"] < 30_000, f"nearly 5 minutes later: {brief(found, 160)}")


@check(242)
def before(t: Trial) -> None:
    """The TTL is that of the request before, not of the one that asks."""
    t.settings(f"{ENABLED}[llm.cache]\nwarn_on_ttl_expiry = true\nanthropic_ttl = '25s'\n")
    c = llm(t)
    first = ask(c, "claude", {"task": "a [[ccreate=500]]"})
    t.rest(3)
    found = warnings(ask(c, "claude", {"task": "b"}, sessionId=first["sessionId"]))
    t.claim(found and found[0]["ttlRemainingMs"] < 22_300, f"3 s later: {brief(found, 160)}")


@check(243)
def control(t: Trial) -> None:
    """cacheControl makes ephemeral blocks by stream-json on stdin; automatic ones from 1,024 or 4,096 tokens on."""
    c = llm(t)
    parts = {**PARTS, "cacheControl": {"system": True, "context": True}}

    def blocks(word: str) -> tuple[list[str], list[Json]]:
        call = calls(t, word)[-1]
        lines = [json.loads(line) for line in call["stdin"].splitlines() if line.strip()]
        content = lines[0]["message"]["content"] if lines else []
        return call["argv"], content if isinstance(content, list) else []

    ask(c, "claude", parts)
    argv, content = blocks("TASK-T")
    at = argv.index("--input-format") if "--input-format" in argv else -2
    t.claim(argv[at : at + 2] == ["--input-format", "stream-json"], f"{argv}")
    t.claim(not any("TASK-T" in part for part in argv), "the prompt is not among the words")
    marked = {one["text"].strip(): (one.get("cache_control") or {}).get("type") for one in content}
    t.equal(marked, {"SYSTEM-S": "ephemeral", "TOOLS-O": None, "CONTEXT-C": "ephemeral", "TASK-T": None}, "blocks")
    t.equal("".join(one["text"] for one in content), f"{PREFIX}\n\nTASK-T", "joined they are the prompt")
    for more in ({"optimizePrompt": True}, {"outputFormat": "json"}, {"outputFormat": "text"}):
        answer = c.call("claude_request", {"promptParts": parts, **more})
        t.claim(answer.error and "cacheControl" in answer.all, f"with {more}: {brief(answer.text, 90)}")
    auto = t.other("auto")
    auto.settings(f"{ENABLED}[llm.cache]\nemit_anthropic_cache_control = true\n")
    d = llm(auto)
    for size, model, wanted in (
        (4 * 4096, None, True),
        (4 * 4000, None, False),
        (4 * 1024, "sonnet", True),
        (4 * 1000, "sonnet", False),
        (4 * 1024, "opus", False),
    ):
        word = f"T-{size}-{model}"
        ask(d, "claude", {"context": "c" * size, "task": word}, model=model)
        call = next(one for one in reversed(calls(auto, word)))
        t.equal("ephemeral" in call["stdin"], wanted, f"{size // 4} tokens, {model}: a block is marked")


@check(244)
def configuration(t: Trial) -> None:
    """An unknown key in config.toml is refused; defaults give way to the file, the file to the environment."""
    for text in ("[llm]\ndedline = '5s'\n", "[llm.cache]\nwarn = true\n", "[lmm]\nx = 1\n"):
        bad = t.other(f"bad{len(text)}")
        bad.settings(text)
        found = bad.bide("ls")
        word = text.partition(" =")[0].split("\n")[-1]
        t.claim(found.code == 99 and (word in found.err or "lmm" in found.err), f"{word}: {brief(found.err, 120)}")
    c = llm(t, settings="deadline = '2s'\n")
    answer = c.call("claude_request", {"prompt": "file [[sleep=5]]"})
    t.claim(
        answer.data.get("status") == "deferred" and 1.8 < answer.seconds < 4.5,
        f"by the file after {answer.seconds:.1f} s",
    )
    d = t.client("llm", env={"SYNC_DEADLINE_MS": "400"})
    answer = d.call("claude_request", {"prompt": "env [[sleep=5]]"})
    t.claim(answer.seconds < 1.8 and "(400ms)" in answer.all, f"by the environment after {answer.seconds:.1f} s")
    theirs = t.other("theirs")
    folder = theirs.root / "user" / ".llm-cli-gateway"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[cache_awareness]\nwarn_on_expiry_typo = true\n")
    e = llm(theirs)
    answer = e.call("claude_request", {"prompt": "x"})
    said = answer.all + str(answer.data) + str(e.call("llm_process_health").data)
    t.claim(
        "warn_on_expiry_typo" in said, f"an unknown key in the gateway's own file is told: {brief(answer.text, 150)}"
    )
