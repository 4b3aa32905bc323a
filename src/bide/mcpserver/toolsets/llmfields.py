"""What the request tools of the toolset `llm` take, in the words of seed 004, and the request it comes to."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any

from bide.mcpserver.tool import Call
from bide.model.llm.ask import Ask, Policy, Strategy, Worktree
from bide.model.llm.prompt import STABLE, Parts
from bide.model.schema import Json, fields, flag, number, text, whole, words

CLIS = ("claude", "codex", "gemini", "grok", "mistral")
SERVERS = ["sqry"]
"""The MCP servers that a request wants where it names none, if the operator has described them."""

_TOOLS = {"allowedTools": words(), "disallowedTools": words()}
_TURNS = {"maxTurns": whole("", minimum=1, maximum=10_000)}
_EFFORT = {"effort": text()}
_DIRS = {"addDir": words("more folders that it may use")}
OPTIONS: dict[str, dict[str, Json]] = {
    "claude": {
        **_TOOLS,
        **_TURNS,
        **_EFFORT,
        **_DIRS,
        **dict.fromkeys(("permissionMode", "agent", "systemPrompt", "appendSystemPrompt", "fallbackModel"), text()),
        **dict.fromkeys(("dangerouslySkipPermissions", "forkSession", "strictMcpConfig"), flag()),
        "mcpConfig": text("a file that names MCP servers"),
        "maxBudgetUsd": number(),
    },
    "codex": {
        **_DIRS,
        **dict.fromkeys(("sandbox", "askForApproval", "workingDir", "profile"), text()),
        **dict.fromkeys(("search", "ephemeral", "ignoreUserConfig", "ignoreRules"), flag()),
        "dangerouslyBypassApprovalsAndSandbox": flag(),
        "outputSchema": {"type": "object", "additionalProperties": True},
        "config": words("key=value"),
        "images": words("files"),
    },
    "gemini": {
        "approvalMode": text("default, auto_edit, yolo or plan"),
        "allowedTools": words(),
        "includeDirectories": words(),
        "sandbox": flag(),
        "skipTrust": flag(),
    },
    "grok": {
        **_TURNS,
        **_EFFORT,
        **dict.fromkeys(("permissionMode", "reasoningEffort", "workingDir", "sandbox", "rules"), text()),
        **dict.fromkeys(("tools", "disallowedTools", "allow", "deny"), words()),
        "alwaysApprove": flag(),
    },
    "mistral": {
        **_TURNS,
        **_EFFORT,
        **_DIRS,
        "agent": text("auto-approve if not given"),
        "enabledTools": words(),
        "disallowedTools": words(),
        "trust": flag(),
        "maxPrice": number(),
        "workingDir": text(),
    },
}
"""What only one of them takes; each is the option of the same name in docs/llm.md."""

_PARTS = {
    "type": "object",
    "description": "the prompt in parts, instead of 'prompt'; what is before the task is cached best",
    "properties": {
        "system": text(),
        "tools": text(),
        "context": text(),
        "task": text("what is wanted this time"),
        "cacheControl": {
            "type": "object",
            "properties": dict.fromkeys(STABLE, flag()),
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}


_WORKTREE = {
    "description": "work in a git worktree of its own, .worktrees/NAME on the branch gateway/NAME, which stays",
    "anyOf": [flag(), fields((), name=text("1 to 64 letters, digits and . _ -"), ref=text("what it begins with"))],
}


def schema(cli: str, *, sync: bool) -> Json:
    """The arguments of one request tool."""
    properties: dict[str, Json] = {
        "prompt": text("what to ask"),
        "promptParts": _PARTS,
        "model": text("leave it out for the CLI's own default"),
        "sessionId": text("go on with this conversation"),
        "continueSession" if cli == "claude" else "resumeLatest": flag("go on with the newest one in this folder"),
        "createNewSession": flag(),
        "approvalStrategy": text("legacy if not given", enum=[str(one) for one in Strategy]),
        "approvalPolicy": text("", enum=[str(one) for one in Policy]),
        "mcpServers": words(),
        "correlationId": text("a word of yours to find the answer by"),
        "optimizePrompt": flag(),
        "idleTimeoutMs": whole("end it after so long without output", minimum=30_000, maximum=3_600_000),
        "timeoutMs": whole("end it after so long", minimum=1),
        "forceRefresh": flag("run it even if an equal request was answered lately"),
        "outputFormat": text(),
        "cwd": text("where to run it"),
        "worktree": _WORKTREE,
        **OPTIONS[cli],
    }
    if sync:
        properties["optimizeResponse"] = flag("leave out blanks of the answer that say nothing")
    if cli == "codex":
        properties["fullAuto"] = flag("work on files and run commands, in its sandbox, without asking")
    return {"type": "object", "properties": properties, "additionalProperties": False}


def asked(call: Call, cli: str, given: Json, *, background: bool) -> Ask:
    """The request. Raises BadRequest."""
    options: dict[str, Any] = {snake(name): given[name] for name in OPTIONS[cli] if name in given}
    new = bool(given.get("createNewSession"))
    return Ask.of(
        cli,
        given.get("prompt"),
        parts=_parts(given["promptParts"]) if "promptParts" in given else None,
        model=given.get("model"),
        conversation=None if new else given.get("sessionId"),
        resume_latest=not new and bool(given.get("continueSession") or given.get("resumeLatest")),
        strategy=Strategy(given.get("approvalStrategy", Strategy.LEGACY)),
        policy=Policy(given["approvalPolicy"]) if "approvalPolicy" in given else None,
        full_auto=bool(given.get("fullAuto")),
        format=given.get("outputFormat"),
        options=options,
        mcp_servers=tuple(given.get("mcpServers", SERVERS)),
        mcp_optional="mcpServers" not in given,
        optimize=bool(given.get("optimizePrompt")),
        correlation_id=given.get("correlationId"),
        fresh=bool(given.get("forceRefresh")),
        idle=_duration(given.get("idleTimeoutMs")),
        timeout=_duration(given.get("timeoutMs")),
        background=background,
        cwd=os.path.join(call.caller.cwd, given.get("cwd", "")),
        worktree=_worktree(given.get("worktree", False)),
        base_env=call.caller.env,
        owner=call.caller.owner,
    )


def _parts(given: Json) -> Parts:
    wanted: Json = given.get("cacheControl", {})
    named = {key: given[key] for key in ("system", "tools", "context") if key in given}
    return Parts(given.get("task", ""), **named, cached=tuple(name for name in STABLE if wanted.get(name)))


def _worktree(given: bool | Json) -> Worktree | None:  # noqa: FBT001 - as the seed has it
    return (Worktree() if given else None) if isinstance(given, bool) else Worktree(**given)


def _duration(ms: int | None) -> timedelta | None:
    return None if ms is None else timedelta(milliseconds=ms)


def snake(name: str) -> str:
    """`maxTurns` as we say it: `max_turns`."""
    return re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", name)
