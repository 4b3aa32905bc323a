"""What is asked of an LLM's command line, before anything is decided about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypedDict, Unpack

from msgspec import Struct, field

from bide.model.errors import BadRequest
from bide.model.llm.prompt import Parts, Prompt, optimized, prompt_of
from bide.model.request import check_env, check_owner

BOOKKEEPING = "gw-"
"""What ids begin with that name a conversation for us alone, and that no CLI knows."""
NAMED = "session-"
"""What ids begin with that bide gives a conversation before it begins; requests with one begin it, then go on with it."""
_ASK_OTHERWISE = ("claude", "gemini", "grok", "mistral")
IDLE_LEAST, IDLE_MOST = timedelta(seconds=30), timedelta(hours=1)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,199}\Z")
_TREE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@^~-]{0,199}\Z")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/\[\]+-]{0,199}\Z")


class Strategy(StrEnum):
    """Who decides whether the CLI may act without asking."""

    LEGACY = "legacy"
    """The CLI's own settings."""
    MCP_MANAGED = "mcp_managed"
    """The gate, before it is started; then it acts unattended."""


class Policy(StrEnum):
    """How much the gate lets through."""

    STRICT = "strict"
    BALANCED = "balanced"
    PERMISSIVE = "permissive"


class Worktree(Struct, frozen=True):
    """A working tree of its own, beside the caller's, on a branch of its own."""

    name: str | None = None
    """What it and its branch are called; made of the request if not given, so that equal requests have the same."""
    ref: str | None = None
    """What it begins with; what the caller's has checked out if not given."""


class AskOptions(TypedDict, total=False):
    """The options of `ask`; every one has a default."""

    parts: Parts | None
    model: str | None
    conversation: str | None
    resume_latest: bool
    strategy: Strategy
    policy: Policy | None
    full_auto: bool
    format: str | None
    options: Mapping[str, Any]
    mcp_servers: tuple[str, ...]
    mcp_optional: bool
    optimize: bool
    correlation_id: str | None
    fresh: bool
    idle: timedelta | None
    timeout: timedelta | None
    deadline: timedelta | None
    background: bool
    cwd: str | None
    worktree: Worktree | None
    env: Mapping[str, str]
    base_env: Mapping[str, str] | None
    owner: str | None
    name: str | None


class Ask(Struct, frozen=True):
    """One request to an LLM's command line."""

    cli: str
    """Whose: `claude`, `codex`, `gemini`, `grok`, `mistral`, or one that was added."""
    prompt: str | None = None
    parts: Parts | None = None
    """The prompt in parts, instead of `prompt`."""
    model: str | None = None
    """A model or an alias; the CLI's own default if not given."""
    conversation: str | None = None
    """Go on with this one: the id that an earlier answer had."""
    resume_latest: bool = False
    """Go on with the newest one that the CLI knows in this folder."""
    strategy: Strategy = Strategy.LEGACY
    policy: Policy | None = None
    """How strict the gate is; as configured if not given."""
    full_auto: bool = False
    """Let Codex work on files and run commands, in its sandbox, without asking."""
    format: str | None = None
    """What the CLI writes; the one that says most of its work if not given."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What only this CLI has, by the names of docs/llm.md."""
    mcp_servers: tuple[str, ...] = ()
    mcp_optional: bool = False
    """Of the MCP servers only those that are described, and not a word of the others."""
    optimize: bool = False
    """Leave out blanks of the prompt that say nothing."""
    correlation_id: str | None = None
    """The caller's word for this request, to find its answer by; one is made if not given."""
    fresh: bool = False
    """Run it even if an equal one runs or was answered lately."""
    idle: timedelta | None = None
    """End it after so long without output; what suits the CLI if not given."""
    timeout: timedelta | None = None
    deadline: timedelta | None = None
    """How long to wait for the answer before it is deferred; as configured if not given, 0 for as long as it takes."""
    background: bool = False
    """Do not wait for the answer at all."""
    cwd: str | None = None
    worktree: Worktree | None = None
    """Work there instead of in the caller's files; it stays when the request is over."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    base_env: Mapping[str, str] | None = None
    owner: str | None = None
    name: str | None = None

    @staticmethod
    def of(cli: str, prompt: str | None = None, **options: Unpack[AskOptions]) -> Ask:
        """A checked request."""
        ask = Ask(cli, prompt, **options)
        check(ask)
        return ask

    def said(self) -> Prompt:
        """The prompt as it is sent. Raises BadRequest."""
        found = prompt_of(self.prompt, self.parts)
        if not self.optimize:
            return found
        if found.parts is not None and found.parts.cached:
            raise BadRequest(detail="a prompt with cacheControl is sent as it is; leave optimizePrompt out")
        return Prompt(optimized(found.text), found.parts)


def check(ask: Ask) -> None:
    """Refuse what cannot be meant, with a sentence that says what to do."""
    ask.said()
    if ask.model is not None and not _MODEL.match(ask.model):
        wrong = "invalid_input: the model has a NUL in it" if "\0" in ask.model else f"{ask.model!r} cannot be a model"
        raise BadRequest(detail=f"{wrong}; leave it out for the CLI's own default", field="model")
    if ask.correlation_id is not None and not _ID.match(ask.correlation_id):
        raise BadRequest(detail="a correlationId has 1 to 200 letters, digits and . _ : @ / + -")
    if ask.idle is not None and not IDLE_LEAST <= ask.idle <= IDLE_MOST:
        raise BadRequest(
            detail="idleTimeoutMs is from 30000 to 3600000 (--idle 30s to 1h); leave it out for what suits the CLI"
        )
    if ask.timeout is not None and ask.timeout <= timedelta(0):
        raise BadRequest(detail="a timeout must be above 0; leave it out for none")
    if ask.full_auto and ask.cli in _ASK_OTHERWISE:
        raise BadRequest(
            detail=f"full automation is Codex's; for {ask.cli} use approvalStrategy mcp_managed (--managed)"
        )
    if ask.owner is not None:
        check_owner(ask.owner)
    check_env(ask.env)
    if ask.worktree is not None:
        _check_worktree(ask.worktree)
    _check_conversation(ask)


def _check_worktree(tree: Worktree) -> None:
    if tree.name is not None and not _TREE.match(tree.name):
        raise BadRequest(detail=f"{tree.name!r} cannot be a worktree; it has 1 to 64 letters, digits and . _ -")
    if tree.ref is not None and not _REF.match(tree.ref):
        detail = f"{tree.ref!r} cannot be a ref; name a branch, tag or commit, or leave it out"
        raise BadRequest(detail=detail, field="worktree")


def _check_conversation(ask: Ask) -> None:
    given = ask.conversation
    if given is None:
        return
    if given.startswith(BOOKKEEPING):
        detail = f"session {given!r} is for bookkeeping only and no CLI can resume it; give the id that an answer had"
        raise BadRequest(detail=f"{detail}, or leave it out", field="sessionId")
    if not _ID.match(given):
        detail = f"{given!r} cannot be a session's id; it has 1 to 200 letters, digits and . _ : @ / + -"
        raise BadRequest(detail=detail, field="sessionId")
    if ask.resume_latest:
        raise BadRequest(detail="give the session to resume, or ask for the latest, not both", field="sessionId")
