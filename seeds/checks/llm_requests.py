"""Seed 004: asking (184-199)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from seeds.gateway import CLIS, argv_of, begin, calls, done, job_of, llm, over, result, status
from seeds.registry import check
from seeds.trial import Answer, Client, Json, Trial, brief

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
BOTH = "provide exactly one of `prompt` or `promptParts`"
NONE = "one of `prompt` or `promptParts` is required"


def refused(t: Trial, answer: Answer, *words: str) -> bool:
    """Claim that a call was refused in these words."""
    return t.claim(answer.error and all(one in answer.all for one in words), f"{list(words)}: {brief(answer.text)}")


@check(184)
def ten(t: Trial) -> None:
    """Five CLIs have `_request` and `_request_async`."""
    c = llm(t)
    tools = c.tools()
    for cli in CLIS:
        t.claim({f"{cli}_request", f"{cli}_request_async"} <= set(tools), f"{cli}: both are listed")
        answer = c.call(f"{cli}_request", {"prompt": f"sync {cli} [[say=S-{cli}]]"})
        t.equal(answer.text.strip().splitlines()[0], f"S-{cli}", f"{cli}: the text of the answer")
        start = c.call(f"{cli}_request_async", {"prompt": f"async {cli} [[sleep=1 say=A-{cli}]]"})
        t.claim(start.data.get("success") and start.seconds < 4, f"{cli}: async answers in {start.seconds:.2f} s")
        over(t, c, job_of(start.data))
        found = c.call("llm_job_result", {"jobId": job_of(start.data)}).data
        t.equal((found.get("parsed") or {}).get("text"), f"A-{cli}", f"{cli}: its answer later")
        ran = calls(t, f"async {cli}")
        t.equal(len(ran), 1, f"{cli}: processes")


@check(185)
def one_prompt(t: Trial) -> None:
    """`prompt` or `promptParts`: both and none are refused in the document's words."""
    c = llm(t)
    for tool in [f"{cli}_request" for cli in CLIS] + [f"{cli}_request_async" for cli in CLIS]:
        refused(t, c.call(tool, {"prompt": "x", "promptParts": {"task": "x"}}), BOTH)
        refused(t, c.call(tool, {}), NONE)
    refused(t, c.call("claude_request", {"prompt": None, "promptParts": None}), NONE)
    t.equal(len(calls(t)), 0, "processes started")
    t.claim(not c.call("claude_request", {"promptParts": {"task": "T"}}).error, "promptParts alone is taken")


@check(186)
def length(t: Trial) -> None:
    """A prompt has 1 to 100,000 characters."""
    c = llm(t)
    for wrong in ("", "x" * 100_001):
        refused(t, c.call("claude_request", {"prompt": wrong}), "prompt")
        refused(t, c.call("codex_request_async", {"prompt": wrong}), "prompt")
    t.equal(len(calls(t)), 0, "processes started")
    for size in (1, 100_000):
        text = "ü" * size
        answer = c.call("claude_request", {"prompt": text})
        found = [one for one in calls(t) if text in one["argv"] or one["stdin"].strip() == text]
        t.claim(not answer.error and len(found) == 1, f"{size} characters arrive whole")
    refused(t, c.call("grok_request", {"prompt": 5}), "prompt")


@check(187)
def models(t: Trial) -> None:
    """Without model there is no flag, or the configured default; `default` and `latest` mean the same."""
    c = llm(t)
    for cli in CLIS:
        done(t, c, cli, f"plain {cli}")
        t.claim("--model" not in argv_of(t, f"plain {cli}"), f"{cli}: no flag without a model")
        done(t, c, cli, f"named {cli}", model="some-model-7")
        argv, env = argv_of(t, f"named {cli}"), calls(t, f"named {cli}")[-1]["env"]
        if cli == "mistral":
            t.equal(env.get("VIBE_ACTIVE_MODEL"), "some-model-7", "mistral: its variable")
            t.claim("VIBE_ACTIVE_MODEL" not in calls(t, "plain mistral")[-1]["env"], "mistral: none without a model")
        else:
            t.claim(argv[argv.index("--model") + 1] == "some-model-7" if "--model" in argv else False, f"{cli}: {argv}")
        for alias in ("default", "latest"):
            done(t, c, cli, f"{alias} {cli}", model=alias)
            t.claim("--model" not in argv_of(t, f"{alias} {cli}"), f"{cli}: {alias} without a default has no flag")
    configured = {f"{cli.upper()}_DEFAULT_MODEL": f"std-{cli}" for cli in CLIS}
    c = t.client("llm", env=configured)
    for cli in CLIS:
        for model in (None, "default", "latest"):
            word = f"conf-{model} {cli}"
            done(t, c, cli, word, model=model)
            call = calls(t, word)[-1]
            used = call["env"].get("VIBE_ACTIVE_MODEL") if cli == "mistral" else " ".join(call["argv"])
            t.claim(f"std-{cli}" in str(used), f"{cli}: model {model} is the configured one: {brief(used, 60)}")


@check(188)
def strategies(t: Trial) -> None:
    """approvalStrategy is legacy (the schema's default) or mcp_managed."""
    c = llm(t)
    tools = c.tools()
    for cli in CLIS:
        for tool in (f"{cli}_request", f"{cli}_request_async"):
            field = tools[tool]["inputSchema"]["properties"].get("approvalStrategy", {})
            t.claim(
                set(field.get("enum", [])) == {"legacy", "mcp_managed"} and field.get("default") == "legacy",
                f"{tool}: {field.get('enum')}, default {field.get('default')}",
            )
        refused(t, c.call(f"{cli}_request", {"prompt": "x", "approvalStrategy": "yes"}), "approvalStrategy")
    for cli, never in (("claude", "bypassPermissions"), ("gemini", "yolo"), ("grok", "--always-approve")):
        done(t, c, cli, f"leg {cli}", approvalStrategy="legacy")
        t.claim(never not in argv_of(t, f"leg {cli}"), f"{cli}: legacy has no {never}")
    listed = c.call("approval_list").data.get("approvals", [])
    t.equal(listed, [], "legacy asks no gate: decisions")


@check(189)
def managed(t: Trial) -> None:
    """mcp_managed asks the gate, then Claude gets bypassPermissions, Gemini yolo; Codex still needs fullAuto."""
    bare = t.other("bare")
    c = llm(bare, act=False)
    said = c.call("claude_request_async", {"prompt": "Analyze src/", "approvalStrategy": "mcp_managed"})
    t.claim(
        said.error and "bide mcp install" in said.all and "--let-act" in said.all,
        f"before anybody let them act: refused, and the one command is named: {brief(said.text, 200)}",
    )
    t.equal(len(calls(bare)), 0, "and nothing ran:")
    installed = t.bide("mcp", "install", "claude", "--tools", "llm", "--let-act")
    t.equal(installed.code, 0, f"bide mcp install claude --tools llm --let-act ({brief(installed.err, 60)}): exit")
    for cli in CLIS:
        from_path = t.root / "bin" / ("vibe" if cli == "mistral" else cli)
        t.claim(True, f"{from_path.name} is faked")
    c = llm(t, settings="")
    examples: tuple[tuple[str, Json], ...] = (
        (
            "claude",
            {"prompt": "Analyze src/ for type safety...", "approvalStrategy": "mcp_managed", "optimizePrompt": True},
        ),
        (
            "claude",
            {
                "prompt": "Review architecture... End with APPROVED or NOT APPROVED with findings.",
                "approvalStrategy": "mcp_managed",
                "correlationId": "review-arch",
            },
        ),
        (
            "codex",
            {
                "prompt": "Check for bugs... End with APPROVED or NOT APPROVED with findings.",
                "fullAuto": True,
                "approvalStrategy": "mcp_managed",
                "correlationId": "review-impl",
            },
        ),
        (
            "gemini",
            {
                "prompt": "Security audit... End with APPROVED or NOT APPROVED with findings.",
                "approvalStrategy": "mcp_managed",
                "correlationId": "review-sec",
            },
        ),
        (
            "grok",
            {
                "prompt": "Independent diversity review... End with APPROVED or NOT APPROVED with findings.",
                "approvalStrategy": "mcp_managed",
                "correlationId": "review-grok",
            },
        ),
    )
    for cli, words in examples:
        answer = c.call(f"{cli}_request_async", words)
        t.claim(answer.data.get("success") is True, f"{cli} {words['prompt'][:16]!r}: {brief(answer.data, 90)}")
        if answer.data.get("success"):
            t.claim(
                (answer.data.get("approval") or {}).get("status") == "approved",
                f"{cli}: approval {brief(answer.data.get('approval'), 80)}",
            )
            over(t, c, job_of(answer.data))
    t.claim(
        _pair(argv_of(t, "Analyze src/"), "--permission-mode", "bypassPermissions"),
        "claude: --permission-mode bypassPermissions",
    )
    t.claim(_pair(argv_of(t, "Security audit"), "--approval-mode", "yolo"), "gemini: --approval-mode yolo")
    t.claim("--always-approve" in argv_of(t, "Independent diversity"), "grok: --always-approve")
    t.claim(
        _pair(argv_of(t, "Check for bugs"), "--sandbox", "workspace-write"),
        "codex with fullAuto: --sandbox workspace-write",
    )
    done(t, c, "codex", "no auto", approvalStrategy="mcp_managed")
    bare_codex = argv_of(t, "no auto")
    t.claim(
        "--sandbox" not in bare_codex and "--dangerously-bypass-approvals-and-sandbox" not in bare_codex,
        f"codex without it: {bare_codex}",
    )
    before = len(calls(t))
    denied = c.call(
        "claude_request",
        {
            "prompt": "delete the secret token",
            "approvalStrategy": "mcp_managed",
            "approvalPolicy": "strict",
            "dangerouslySkipPermissions": True,
        },
    )
    t.claim(
        denied.error and "denied" in denied.all and len(calls(t)) == before,
        f"denied before anything runs: {brief(denied.text, 90)}",
    )


def _pair(argv: list[str], flag: str, value: str) -> bool:
    return any(argv[at : at + 2] == [flag, value] for at in range(len(argv)))


@check(190)
def correlation(t: Trial) -> None:
    """correlationId is accepted, else a UUID is made, and it is everywhere."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 500})
    start = begin(c, "claude", "one [[say=yes]]", correlationId="my-id-1")
    job = job_of(start)
    t.equal(start.get("correlationId"), "my-id-1", "at the start")
    t.equal(over(t, c, job).get("correlationId"), "my-id-1", "status")
    t.equal(result(c, job).get("correlationId"), "my-id-1", "result")
    found = c.call("llm_request_result", {"correlationId": "my-id-1"})
    t.claim("yes" in found.all and job in found.all, f"llm_request_result finds it: {brief(found.data, 60)}")
    sync = c.call("gemini_request", {"prompt": "two", "correlationId": "my-id-2"}).data
    t.equal(sync.get("correlationId"), "my-id-2", "of a synchronous answer")
    late = c.call("grok_request", {"prompt": "three [[sleep=3]]", "correlationId": "my-id-3"}).data
    t.equal([late.get("status"), late.get("correlationId")], ["deferred", "my-id-3"], "of a deferred one")
    made = begin(c, "codex", "four").get("correlationId")
    other = begin(c, "codex", "five").get("correlationId")
    t.claim(UUID.match(str(made)) and UUID.match(str(other)) and made != other, f"without one: {made}")
    failed = done(t, c, "claude", "six [[exit=3]]", correlationId="my-id-6")
    t.equal(failed.get("correlationId"), "my-id-6", "of a failed one")


@check(191)
def idle_bounds(t: Trial) -> None:
    """idleTimeoutMs is 30,000 to 3,600,000; anything else is refused."""
    c = llm(t)
    for cli in CLIS:
        for wrong in (29_999, 3_600_001, 0, -1, 30_000.5, "soon"):
            for tool in (f"{cli}_request", f"{cli}_request_async"):
                answer = c.call(tool, {"prompt": "x", "idleTimeoutMs": wrong})
                if not (answer.error and "idleTimeoutMs" in answer.all):
                    t.claim(False, f"{tool} {wrong!r}: {brief(answer.data)}")
        t.claim(True, f"{cli}: six wrong ones tried")
    t.equal(len(calls(t)), 0, "processes started")
    for good in (30_000, 3_600_000):
        job = job_of(begin(c, "codex", f"good {good}", idleTimeoutMs=good))
        over(t, c, job)
        real = next(one["limits"]["idle_ms"] for one in t.jobs() if one["id"] == job)
        t.equal(real, good, "the job's idle limit")
    job = job_of(begin(c, "codex", "none given"))
    t.equal(next(one["limits"]["idle_ms"] for one in t.jobs() if one["id"] == job), 600_000, "without: limit")


@check(192)
def fields(t: Trial) -> None:
    """forceRefresh, sessionId, createNewSession, optimizePrompt, fullAuto and mcpServers are taken; the reply echoes the servers."""
    c = llm(t)
    tools = c.tools()
    for cli in CLIS:
        for tool in (f"{cli}_request", f"{cli}_request_async"):
            have = set(tools[tool]["inputSchema"]["properties"])
            lack = {
                "forceRefresh",
                "sessionId",
                "createNewSession",
                "optimizePrompt",
                "mcpServers",
                "correlationId",
            } - have
            t.claim(not lack, f"{tool}: " + (f"lacks {lack}" if lack else "has them"))
    t.claim("fullAuto" in tools["codex_request_async"]["inputSchema"]["properties"], "codex: fullAuto")
    t.equal(begin(c, "claude", "a")["mcpServers"]["requested"], ["sqry"], "servers by default")
    t.equal(
        begin(c, "claude", "b", mcpServers=["exa", "ref_tools"])["mcpServers"]["requested"],
        ["exa", "ref_tools"],
        "given",
    )
    t.equal(begin(c, "gemini", "c", mcpServers=[])["mcpServers"]["requested"], [], "none")
    t.equal(
        c.call("codex_request", {"prompt": "d"}).data["mcpServers"]["requested"], ["sqry"], "in a synchronous answer"
    )
    one, two = job_of(begin(c, "claude", "same")), job_of(begin(c, "claude", "same", forceRefresh=True))
    t.claim(one and two and one != two, "forceRefresh runs it again")
    first = c.call("claude_request", {"prompt": "talk"}).data["sessionId"]
    done(t, c, "claude", "go on", sessionId=first)
    t.claim(_pair(argv_of(t, "go on"), "--resume", first), f"sessionId goes on with it: {argv_of(t, 'go on')[:6]}")
    done(t, c, "claude", "anew", createNewSession=True)
    t.claim(first not in argv_of(t, "anew") and "--continue" not in argv_of(t, "anew"), "createNewSession does not")
    loose = "Could you  please kindly   review this?\n\n\n\n\nThanks   a lot!\n\n```\nx  =   1\n\n\n\ny\n```\n"
    done(t, c, "claude", loose, optimizePrompt=True)
    sent = calls(t, "eview this")[-1]["argv"][1]
    t.claim(
        len(sent) < len(loose) and "eview this" in sent,
        f"optimizePrompt shortens {len(loose)} to {len(sent)} characters",
    )
    t.claim("x  =   1\n\n\n\ny" in sent, "and leaves code as it is")


@check(193)
def no_response(t: Trial) -> None:
    """Async tools have no optimizeResponse."""
    c = llm(t)
    tools = c.tools()
    for cli in CLIS:
        t.claim(
            "optimizeResponse" not in tools[f"{cli}_request_async"]["inputSchema"]["properties"],
            f"{cli}: async has none",
        )
        t.claim("optimizeResponse" in tools[f"{cli}_request"]["inputSchema"]["properties"], f"{cli}: sync has it")
        refused(t, c.call(f"{cli}_request_async", {"prompt": "x", "optimizeResponse": True}), "optimizeResponse")
    t.equal(len(calls(t)), 0, "processes started")
    answer = c.call("claude_request", {"prompt": "y [[say=a||||||b]]", "optimizeResponse": True})
    t.claim("a" in answer.text and "b" in answer.text and "\n\n\n\n" not in answer.text, f"sync: {answer.text!r}")


@check(194)
def start_shape(t: Trial) -> None:
    """An async start is success, job{id, cli, status, startedAt}, sessionId, approval, mcpServers; Gemini adds resumable."""
    c = llm(t)
    for cli in CLIS:
        found = begin(c, cli, f"go {cli} [[sleep=1]]")
        t.claim({"success", "job", "sessionId", "approval", "mcpServers"} <= set(found), f"{cli}: {sorted(found)}")
        t.equal(found["success"], True, f"{cli}: success")
        job = found["job"]
        t.claim({"id", "cli", "status", "startedAt"} <= set(job), f"{cli}: job {sorted(job)}")
        t.equal([job["cli"], job["status"]], [cli, "running"], f"{cli}: job")
        t.equal([found["approval"], found["mcpServers"]], [None, {"requested": ["sqry"]}], f"{cli}: the rest")
        t.equal("resumable" in found, cli == "gemini", f"{cli}: resumable is there")
        if cli != "mistral":
            t.claim(found["sessionId"], f"{cli}: sessionId {found['sessionId']}")
        last = over(t, c, job["id"])
        if cli != "mistral":
            t.claim(last.get("sessionId"), f"{cli}: sessionId at the end {last.get('sessionId')}")
        if cli != "mistral":
            done(t, c, cli, f"next {cli}", sessionId=found["sessionId"])
            t.claim(
                str(last["sessionId"]) in argv_of(t, f"next {cli}"),
                f"{cli}: the sessionId of the start goes on with the conversation: {argv_of(t, f'next {cli}')[-4:]}",
            )
    t.equal(begin(c, "gemini", "new one").get("resumable"), False, "gemini: resumable without an id")
    known = c.call("gemini_request", {"prompt": "first"}).data["sessionId"]
    t.equal(begin(c, "gemini", "again", sessionId=known).get("resumable"), True, "gemini: resumable with one")


@check(195)
def bookkeeping(t: Trial) -> None:
    """Ids that begin with gw- are refused as sessionId; no tool hands one out that requests then refuse."""
    c = llm(t)
    for cli in CLIS:
        for tool in (f"{cli}_request", f"{cli}_request_async"):
            refused(t, c.call(tool, {"prompt": "x", "sessionId": "gw-1234"}), "gw-")
    t.equal(len(calls(t)), 0, "processes started")
    for cli in CLIS:
        made = c.call("session_create", {"cli": cli}).data
        session = str((made.get("session") or made).get("id") or (made.get("session") or made).get("sessionId"))
        t.claim(not session.startswith("gw-"), f"{cli}: session_create makes {session}")
        answer = c.call(f"{cli}_request_async", {"prompt": f"in {cli}", "sessionId": session})
        t.claim(answer.data.get("success"), f"{cli}: a request takes it: {brief(answer.text, 70)}")


@check(196)
def vibe(t: Trial) -> None:
    """Mistral always gets `--agent`; auto-approve by default."""
    installed = t.bide("mcp", "install", "claude", "--tools", "llm", "--let-act")
    t.equal(installed.code, 0, "installed with --let-act: exit")
    c = llm(t)
    done(t, c, "mistral", "plain one")
    t.claim(_pair(argv_of(t, "plain one"), "--agent", "auto-approve"), f"{argv_of(t, 'plain one')}")
    c.call("mistral_request", {"prompt": "sync one"})
    t.claim(_pair(argv_of(t, "sync one"), "--agent", "auto-approve"), "sync too")
    for mode in ("plan", "accept-edits"):
        c.call("mistral_request", {"prompt": f"as {mode}", "permissionMode": mode})
        t.claim(_pair(argv_of(t, f"as {mode}"), "--agent", mode), f"permissionMode {mode}: {argv_of(t, f'as {mode}')}")
    done(t, c, "mistral", "managed", approvalStrategy="mcp_managed")
    t.claim("--agent" in argv_of(t, "managed"), "managed too")


EXACT: tuple[tuple[str, Json, list[str]], ...] = (
    ("claude", {}, ["-p", "PROMPT", "--output-format", "stream-json", "--include-partial-messages", "--verbose"]),
    ("claude", {"outputFormat": "json", "model": "m1"}, ["-p", "PROMPT", "--model", "m1", "--output-format", "json"]),
    (
        "claude",
        {
            "outputFormat": "text",
            "allowedTools": ["Read", "Bash(ls *)"],
            "disallowedTools": ["Write"],
            "permissionMode": "plan",
        },
        [
            "-p",
            "PROMPT",
            "--allowed-tools",
            "Read",
            "Bash(ls *)",
            "--disallowed-tools",
            "Write",
            "--permission-mode",
            "plan",
        ],
    ),
    (
        "claude",
        {
            "outputFormat": "json",
            "appendSystemPrompt": "be brief",
            "maxTurns": 3,
            "maxBudgetUsd": 1.5,
            "effort": "high",
            "fallbackModel": "f",
            "addDir": ["/tmp"],
        },
        [
            "-p",
            "PROMPT",
            "--output-format",
            "json",
            "--append-system-prompt",
            "be brief",
            "--max-budget-usd",
            "1.5",
            "--max-turns",
            "3",
            "--effort",
            "high",
            "--fallback-model",
            "f",
            "--add-dir",
            "/tmp",
        ],
    ),
    ("codex", {}, ["exec", "--json", "--skip-git-repo-check", "PROMPT"]),
    (
        "codex",
        {"model": "m2", "fullAuto": True},
        [
            "exec",
            "--model",
            "m2",
            "--sandbox",
            "workspace-write",
            "--ask-for-approval",
            "never",
            "--json",
            "--skip-git-repo-check",
            "PROMPT",
        ],
    ),
    (
        "codex",
        {"outputFormat": "text", "search": True, "profile": "p", "ephemeral": True},
        ["exec", "--skip-git-repo-check", "--search", "--profile", "p", "--ephemeral", "PROMPT"],
    ),
    (
        "codex",
        {"sandboxMode": "read-only", "configOverrides": {"a.b": "c"}},
        ["exec", "--sandbox", "read-only", "--json", "--skip-git-repo-check", "-c", "a.b=c", "PROMPT"],
    ),
    ("gemini", {}, ["-p", "PROMPT", "-o", "stream-json"]),
    (
        "gemini",
        {"outputFormat": "json", "model": "g", "approvalMode": "auto_edit", "allowedTools": ["a", "b"]},
        [
            "-p",
            "PROMPT",
            "--model",
            "g",
            "--approval-mode",
            "auto_edit",
            "--allowed-tools",
            "a",
            "--allowed-tools",
            "b",
            "-o",
            "json",
        ],
    ),
    (
        "gemini",
        {"outputFormat": "json", "includeDirs": ["/tmp"], "sandbox": True, "skipTrust": True},
        ["-p", "PROMPT", "--include-directories", "/tmp", "-s", "-o", "json", "--skip-trust"],
    ),
    ("grok", {}, ["-p", "PROMPT", "--output-format", "streaming-json"]),
    (
        "grok",
        {"outputFormat": "plain", "effort": "low", "maxTurns": 2, "allowedTools": ["a", "b"]},
        ["-p", "PROMPT", "--output-format", "plain", "--effort", "low", "--tools", "a,b", "--max-turns", "2"],
    ),
    ("mistral", {}, ["-p", "PROMPT", "--output", "streaming", "--agent", "auto-approve"]),
    (
        "mistral",
        {"outputFormat": "json", "maxTurns": 4, "maxPrice": 0.5, "trust": True},
        [
            "-p",
            "PROMPT",
            "--output",
            "json",
            "--agent",
            "auto-approve",
            "--trust",
            "--max-turns",
            "4",
            "--max-price",
            "0.5",
        ],
    ),
)


def _groups(argv: list[str], prompt: str) -> list[tuple[str, ...]]:
    """Split words into flags with their values, sorted, so that the order of flags does not matter; Codex has its prompt last."""
    found: list[list[str]] = [[]]
    for word in argv:
        if word.startswith("-") or (word == prompt and found[-1][0] != "-p"):
            found.append([])
        found[-1].append(word)
    return sorted(tuple(one) for one in found if one)


@check(197)
def exact(t: Trial) -> None:
    """Each CLI is started with the exact words."""
    c = llm(t)
    for at, (cli, more, wanted) in enumerate(EXACT):
        prompt = f"exactly {cli} {at}."
        answer = c.call(f"{cli}_request", {"prompt": prompt, **more})
        argv = argv_of(t, prompt)
        expected = [prompt if word == "PROMPT" else word for word in wanted]
        same = _groups(argv, prompt) == _groups(expected, prompt)
        if cli == "codex":
            same = same and argv[0] == "exec" and argv[-1] == prompt
        t.claim(
            same, f"{cli} {brief(more, 60)}: " + ("exact" if same else f"{argv}, not {expected}; {brief(answer.text)}")
        )
    one = calls(t, "exactly claude 0.")[-1]
    t.equal(one["cwd"], str(t.folder), "in the caller's folder:")
    t.claim("CI" not in one["env"] and "CLAUDECODE" not in one["env"], "no CI, no trace of an outer CLI")
    (t.folder / "sub").mkdir()
    c.call("claude_request", {"prompt": "elsewhere", "cwd": str(t.folder / "sub")})
    t.equal(calls(t, "elsewhere")[-1]["cwd"], str(t.folder / "sub"), "cwd")


@check(198)
def schema_file(t: Trial) -> None:
    """Codex's outputSchema goes into a file of mode 0600 that is gone when the job is over."""
    c = llm(t, env={"SYNC_DEADLINE_MS": 700})
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "additionalProperties": False}

    def used(word: str) -> Json:
        return t.until(lambda: calls(t, word) and calls(t, word)[-1].get("--output-schema"), f"the call of {word}")

    c.call("codex_request", {"prompt": "quick one", "outputSchema": schema})
    found = used("quick one")
    t.equal([json.loads(found.get("text", "null")), found.get("mode")], [schema, "0o600"], "the file")
    t.until(lambda: not Path(found["path"]).exists(), "the removal of the file", 8)
    t.claim(True, "gone after a success")
    for word, ending in (("fails [[exit=3]]", "failed"), ("waits [[hang=1]]", "canceled")):
        late = c.call("codex_request", {"prompt": word, "outputSchema": schema}).data
        found = used(word)
        if ending == "canceled":
            t.claim(Path(found["path"]).exists(), "there while it runs, past the deadline")
            c.call("llm_job_cancel", {"jobId": late["jobId"]})
            t.equal(over(t, c, late["jobId"])["status"], "canceled", "status")
        t.until(lambda path=found["path"]: not Path(path).exists(), f"the removal after {ending}", 8)
        t.claim(True, f"gone after {ending}")
    by_path = t.folder / "mine.json"
    by_path.write_text(json.dumps(schema))
    answer = c.call("codex_request", {"prompt": "own file", "outputSchema": str(by_path)})
    t.claim(by_path.exists(), f"a file of the caller's stays: {brief(answer.text, 60)}")


@check(199)
def injection(t: Trial) -> None:
    """List values with `-` in front are refused, no shell is used, and no prompt becomes a flag."""
    c = llm(t)
    for tool, field, value in (
        ("claude_request", "allowedTools", ["Read", "--dangerously-skip-permissions"]),
        ("claude_request", "disallowedTools", ["-x"]),
        ("claude_request", "addDir", ["--model"]),
        ("gemini_request", "allowedTools", ["-y"]),
        ("gemini_request", "includeDirs", ["--yolo"]),
        ("grok_request", "allowedTools", ["--always-approve"]),
        ("mistral_request", "allowedTools", ["--trust"]),
        ("codex_request", "images", ["--search"]),
        ("claude_request", "model", "--dangerously-skip-permissions"),
        ("codex_request", "sessionId", "--last"),
        ("codex_request", "model", "-c"),
    ):
        refused(t, c.call(tool, {"prompt": "x", field: value}))
        t.claim(
            field in c.call(tool, {"prompt": "x", field: value}).all or field == "model", f"{tool}: {field} is named"
        )
    t.equal(len(calls(t)), 0, "processes started")
    nasty = (
        "--help",
        "-p",
        "--dangerously-skip-permissions now",
        "-",
        "$(touch pwned) `touch pwned`; touch pwned",
        "review",
        "resume",
        "update",
        "a\nb 'c' \"d\" \\ *",
        "@file",
        "!ls",
    )
    for cli in CLIS:
        for prompt in nasty:
            before = len(calls(t))
            answer = c.call(f"{cli}_request", {"prompt": prompt})
            new = calls(t)[before:]
            arrived = [
                one
                for one in new
                if one["stdin"].rstrip("\n") == prompt.rstrip("\n")
                or prompt in one["argv"]
                or any(word.endswith(f"={prompt}") for word in one["argv"])
            ]
            as_flag = [
                one for one in new if prompt.startswith("-") and prompt in one["argv"][0 if cli == "codex" else 2 :]
            ]
            t.claim(
                len(arrived) == 1 and not (as_flag and prompt != "-"),
                f"{cli} {prompt[:14]!r}: {'arrives' if arrived else brief((new[-1:] and new[-1]['argv']) or answer.text)}",
            )
            if cli == "codex" and prompt in ("review", "resume", "update") and new:
                t.claim(prompt not in new[-1]["argv"], f"codex: {prompt!r} is no command of it")
    t.claim(not (t.folder / "pwned").exists(), "no shell ran it")


__all__ = ["Client", "refused", "status"]
