"""What the request tools of the toolset `llm` take, in the words of seed 004, and the request it comes to."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import Any

from bide.mcpserver.tool import Call
from bide.model.errors import BadRequest
from bide.model.llm.ask import Ask, Policy, Strategy, Worktree
from bide.model.llm.prompt import STABLE, Parts
from bide.model.schema import Json, budget, fields, flag, number, text, whole, words

CLIS = ("claude", "codex", "gemini", "grok", "mistral")
SERVERS = ["sqry"]
"""The MCP servers that a request wants where it names none, if the operator has described them."""


def _texts(*names: str) -> dict[str, Json]:
    return dict.fromkeys(names, text())


def _flags(*names: str) -> dict[str, Json]:
    return dict.fromkeys(names, flag())


def _lists(*names: str) -> dict[str, Json]:
    return dict.fromkeys(names, words())


_OBJECT: Json = {"type": "object", "additionalProperties": True}
_TURNS: dict[str, Json] = {"maxTurns": whole("", minimum=1, maximum=10_000)}
OPTIONS: dict[str, dict[str, Json]] = {
    "claude": {
        **_lists("allowedTools", "disallowedTools", "addDir"),
        **_texts(
            "permissionMode", "effort", "agent", "systemPrompt", "appendSystemPrompt", "fallbackModel", "mcpConfig"
        ),
        **_flags("dangerouslySkipPermissions", "forkSession", "strictMcpConfig", "excludeDynamicSystemPromptSections"),
        "agents": {"anyOf": [_OBJECT, text()]},
        "jsonSchema": {"anyOf": [_OBJECT, text()]},
        **_TURNS,
        "maxBudgetUsd": number(),
    },
    "codex": {
        "fullAuto": flag("work on files and run commands in its sandbox, unasked"),
        "sandboxMode": text("read-only, workspace-write or danger-full-access"),
        **_texts("askForApproval", "workingDir", "profile"),
        **_flags("search", "ephemeral", "ignoreUserConfig", "ignoreRules", "dangerouslyBypassApprovalsAndSandbox"),
        "outputSchema": _OBJECT,
        "configOverrides": {"type": "object", "additionalProperties": text()},
        **_lists("images", "addDir"),
    },
    "gemini": {
        "approvalMode": text("default, auto_edit, yolo or plan"),
        **_lists("allowedTools", "includeDirs", "attachments", "policyFiles", "adminPolicyFiles"),
        **_flags("sandbox", "skipTrust"),
    },
    "grok": {
        **_texts(
            "permissionMode", "effort", "reasoningEffort", "workingDir", "sandbox", "rules", "systemPromptOverride"
        ),
        **_lists("allowedTools", "disallowedTools", "allow", "deny"),
        **_TURNS,
        "alwaysApprove": flag(),
    },
    "mistral": {
        "permissionMode": text("its agent; auto-approve if not given"),
        **_texts("effort", "reasoningEffort", "workingDir"),
        **_lists("allowedTools", "disallowedTools", "addDir"),
        **_TURNS,
        "maxTokens": whole("", minimum=1),
        "maxPrice": number(),
        "trust": flag(),
    },
}
"""What only one of them takes, as the gateway names it; each is an option of docs/llm.md."""
_ALSO: dict[str, dict[str, Json]] = {
    "codex": {**_texts("sandbox"), **_lists("config"), **_flags("useLegacyFullAutoFlag")},
    "gemini": _lists("includeDirectories"),
    "grok": _lists("tools"),
    "mistral": {**_texts("agent"), **_lists("enabledTools")},
}
"""Fields that are taken and not listed: names of the CLI's own flags, and one that has gone."""
_NAMES: dict[str, dict[str, str]] = {
    "codex": {"sandboxMode": "sandbox", "configOverrides": "config"},
    "gemini": {"includeDirs": "include_directories", "policyFiles": "policy", "adminPolicyFiles": "admin_policy"},
    "grok": {"allowedTools": "tools"},
    "mistral": {"permissionMode": "agent", "allowedTools": "enabled_tools"},
}
"""Options that are called otherwise here, by the field."""
_NOT_OPTIONS = ("fullAuto", "useLegacyFullAutoFlag")
_STABLE: Json = {"type": "object", "properties": dict.fromkeys(STABLE, flag()), "additionalProperties": False}
_PARTS: Json = {
    "type": "object",
    "description": "instead of prompt; what is before the task is cached best",
    "properties": {**_texts("system", "tools", "context", "task"), "cacheControl": _STABLE},
    "additionalProperties": False,
}
_WORKTREE: Json = {"anyOf": [flag(), fields((), name=text(), ref=text())]}
_SHOWN: dict[str, Json] = {
    "budget": whole(),
    "promptParts": {
        **_PARTS,
        "properties": {**_texts("system", "tools", "context", "task"), "cacheControl": {"type": "object"}},
    },
    "worktree": {
        "anyOf": [{"type": "boolean"}, {"type": "object"}],
        "description": "own git worktree",
    },
    "agents": {"type": "object"},
    "jsonSchema": {"type": "object"},
    "configOverrides": {"type": "object"},
    "outputSchema": {"type": "object"},
}
"""Fields that clients are shown in fewer words than they are checked by."""


_SELDOM = ("approvalPolicy", "timeoutMs", "worktree")
"""Fields that the list of an asynchronous request leaves to that of the synchronous one."""


def _common(cli: str) -> dict[str, Json]:
    """Return the fields that every request takes, in the order in which they matter."""
    return {
        "prompt": text(),
        "promptParts": _PARTS,
        "model": text("leave it out"),
        "sessionId": text("go on with this one"),
        "continueSession" if cli == "claude" else "resumeLatest": flag(),
        "createNewSession": flag(),
        "approvalStrategy": text(
            "mcp_managed: act unasked if the gate agrees",
            enum=[str(one) for one in Strategy],
            default=str(Strategy.LEGACY),
        ),
        "approvalPolicy": text("", enum=[str(one) for one in Policy]),
        "mcpServers": words(),
        "correlationId": text("yours, to find the answer by"),
        "optimizePrompt": flag(),
        "idleTimeoutMs": whole("", minimum=30_000, maximum=3_600_000),
        "timeoutMs": whole("", minimum=1),
        "forceRefresh": flag("run anew what was answered lately"),
        "outputFormat": text(),
        "cwd": text(),
        "worktree": _WORKTREE,
    }


def schema(cli: str, *, sync: bool) -> Json:
    """Return the schema that the arguments of a request are checked against."""
    properties = _common(cli) | OPTIONS[cli] | _ALSO.get(cli, {})
    return fields((), **properties, **({"optimizeResponse": flag(), "budget": budget()} if sync else {}))


def shown(cli: str, *, sync: bool) -> Json:
    """Return the schema that clients see: of an asynchronous request only what most requests need."""
    listed = _common(cli)
    if sync:
        listed |= {"optimizeResponse": flag(), "budget": budget(), **OPTIONS[cli]}
    elif "fullAuto" in OPTIONS[cli]:
        listed["fullAuto"] = OPTIONS[cli]["fullAuto"]
    properties = {name: _SHOWN.get(name, one) for name, one in listed.items()}
    if not sync:
        left_out = ("description", "minimum", "maximum")
        short = {name: {key: of[key] for key in of if key not in left_out} for name, of in properties.items()}
        properties = {name: of for name, of in short.items() if name not in _SELDOM} | {
            "promptParts": {"type": "object"}
        }
    return {"type": "object", "properties": properties}


def asked(call: Call, cli: str, given: Json, *, background: bool) -> Ask:
    """Return the request that the arguments mean. Raises BadRequest."""
    options = _options(cli, given)
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


def _options(cli: str, given: Json) -> dict[str, Any]:
    """Return the options that only this CLI has, by the names of docs/llm.md. Raises BadRequest."""
    if given.get("useLegacyFullAutoFlag"):
        raise BadRequest(
            detail="'useLegacyFullAutoFlag' went with Codex's --full-auto; give fullAuto alone",
            field="useLegacyFullAutoFlag",
        )
    named = _NAMES.get(cli, {})
    found: dict[str, Any] = {}
    for name in (*OPTIONS[cli], *_ALSO.get(cli, {})):
        if name not in given or name in _NOT_OPTIONS:
            continue
        value, option = given[name], named.get(name, snake(name))
        if name == "configOverrides":
            value = [f"{key}={one}" for key, one in value.items()]
        if option in found and found[option] != value:
            raise BadRequest(detail=f"{name!r} is another name of a field that was given; give one of them", field=name)
        found[option] = value
    return found


def field_of(cli: str, option: str, given: Json) -> str:
    """Return the field that an option of a CLI came from: `max_turns` comes from `maxTurns`."""
    plain = re.sub("_([a-z])", lambda found: found[1].upper(), option)
    also = [name for name, named in _NAMES.get(cli, {}).items() if named == option and name in given]
    return also[0] if also else plain


def _parts(given: Json) -> Parts:
    wanted: Json = given.get("cacheControl", {})
    named = {key: given[key] for key in ("system", "tools", "context") if key in given}
    return Parts(given.get("task", ""), **named, cached=tuple(name for name in STABLE if wanted.get(name)))


def _worktree(given: bool | Json) -> Worktree | None:  # noqa: FBT001 - as the seed has it
    return (Worktree() if given else None) if isinstance(given, bool) else Worktree(**given)


def _duration(ms: int | None) -> timedelta | None:
    return None if ms is None else timedelta(milliseconds=ms)


def snake(name: str) -> str:
    """Return a field's name as options have it: `max_turns` for `maxTurns`."""
    return re.sub(r"([A-Z])", lambda found: f"_{found[1].lower()}", name)
