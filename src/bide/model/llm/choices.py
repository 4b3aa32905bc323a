"""What can be set for LLM command lines: by a home's config.toml, and over that by the environment of whoever asks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.llm.answer import Note
from bide.model.llm.ask import Policy

MIB = 1024 * 1024
_DATABASES = ("LLM_GATEWAY_JOBS_DB", "LLM_GATEWAY_LOGS_DB")
_KEEP = "LLM_GATEWAY_JOB_RETENTION_DAYS"
KEPT_MOST = 36_500
"""Days that an answer can be kept for."""
_TRUE = ("1", "true", "yes", "on")


class CacheSettings(Struct, frozen=True):
    """What is done about the caches of providers."""

    emit_anthropic_cache_control: bool = False
    """Ask Claude to cache the stable prefix of promptParts that is long enough, without being told."""
    anthropic_ttl: timedelta = timedelta(minutes=5)
    warn_on_ttl_expiry: bool = False
    min_stable_tokens: Mapping[str, int] = field(
        default_factory=lambda: {"sonnet": 1024, "opus": 4096, "haiku": 4096, "default": 4096}
    )
    """How long a prefix must be to be cached, by model."""


class LlmSettings(Struct, frozen=True):
    """How LLM command lines are run."""

    enabled: bool = False
    """Let requests act without asking: those that say so themselves, and those that the gate lets through."""
    deadline: timedelta = timedelta(seconds=45)
    """How long an answer is waited for; 0 for as long as it takes."""
    dedup_window: timedelta = timedelta(hours=1)
    """How long ago an answer may have come to be given again; 0 never."""
    idle: timedelta = timedelta(minutes=10)
    """How long a CLI that tells of its work may be silent."""
    runtime: timedelta = timedelta(hours=1)
    """How long a CLI may run that is silent until its end."""
    linger: timedelta = timedelta(seconds=5)
    """How long a CLI may stay after its final result."""
    output_bytes: int = 50 * MIB
    """What a CLI may write before it is ended."""
    attempts: int = 5
    """How often a request is made at most, if the line fails before anything is answered; 1 never asks again."""
    retry_pause: timedelta = timedelta(seconds=1)
    """How long to wait before the second attempt; twice as long before each that follows, up to 30 s."""
    breaker_failures: int = 5
    """After so many failed attempts in a row a CLI is given a rest; 0 never."""
    breaker_rest: timedelta = timedelta(seconds=60)
    """How long that is; then one request may try."""
    running: int = 32
    """How many requests may run at once; the others wait."""
    running_per_cli: int = 16
    """How many of one CLI."""
    waiting: int = 128
    """Past so many that wait, another is refused."""
    queue_timeout: timedelta = timedelta(0)
    """How long one may wait for its turn before it is given up; 0 for as long as it takes."""
    keep: timedelta = timedelta(days=30)
    """How long answers are kept, whatever holds for other jobs."""
    policy: Policy = Policy.BALANCED
    log_prompts: bool = False
    """Keep the beginning of each prompt in the record of approvals."""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """The model to use, by CLI, where a request names none."""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other words for models."""
    mcp_servers: Mapping[str, str] = field(default_factory=dict[str, str])
    """The command of each MCP server that requests may name."""
    cache: CacheSettings = field(default_factory=CacheSettings)


GROUP = "llm"
"""The group of all requests; those of a CLI are in a group within it."""


def group_of(cli: str) -> str:
    """The group of a CLI's requests."""
    return f"{GROUP}.{cli}"


def over(chosen: LlmSettings, env: Mapping[str, str]) -> tuple[LlmSettings, tuple[Note, ...]]:
    """The settings with what the environment says over them; and what of it has no effect here. Raises BadRequest."""
    given: dict[str, Any] = {}
    for name, key in (("SYNC_DEADLINE_MS", "deadline"), ("LLM_GATEWAY_DEDUP_WINDOW_MS", "dedup_window")):
        if env.get(name):
            given[key] = timedelta(milliseconds=_number(name, env[name]))
    if env.get("LLM_GATEWAY_APPROVAL_POLICY"):
        given["policy"] = _policy(env["LLM_GATEWAY_APPROVAL_POLICY"])
    if "APPROVAL_LOG_PROMPTS" in env:
        given["log_prompts"] = env["APPROVAL_LOG_PROMPTS"].lower() in _TRUE
    if env.get("LLM_GATEWAY_MODEL_ALIASES"):
        given["aliases"] = {**chosen.aliases, **_aliases(env["LLM_GATEWAY_MODEL_ALIASES"])}
    named = {
        found[1].lower(): value
        for key, value in env.items()
        if value and (found := re.fullmatch(r"([A-Z]+)_DEFAULT_MODEL", key))
    }
    if named:
        given["models"] = {**chosen.models, **named}
    return replace(chosen, **given), tuple(_without_effect(env))


def _without_effect(env: Mapping[str, str]) -> list[Note]:
    named = [name for name in _DATABASES if env.get(name, "none").strip().lower() not in ("", "none")]
    return [Note("setting_ignored", f"{name} names a database; bide has one store, in its home.") for name in named]


def keep_days(env: Mapping[str, str]) -> int:
    """How many days whoever asks wants the answer kept; 0 for as long as the home keeps answers. Raises BadRequest."""
    text = env.get(_KEEP, "")
    if not text:
        return 0
    if not re.fullmatch(r"[0-9]{1,6}", text) or not 1 <= int(text) <= KEPT_MOST:
        raise BadRequest(
            detail=f"{_KEEP} is a number of days from 1 to {KEPT_MOST}, not {text!r}; correct it or unset it"
        )
    return int(text)


def database_of(env: Mapping[str, str]) -> str | None:
    """Return the database that a caller names, `none` for memory alone; an empty name is no name."""
    found = next((env[name].strip() for name in _DATABASES if env.get(name, "").strip()), None)
    return "none" if found is not None and found.lower() == "none" else found


def model_of(cli: str, wanted: str | None, chosen: LlmSettings, known: Mapping[str, str]) -> str | None:
    """The model to name to a CLI; `None` for its own default. `default` and `latest` mean what is configured."""
    word = chosen.models.get(cli) if wanted in (None, "default", "latest") else wanted
    if word is None:
        return None
    return chosen.aliases.get(word) or known.get(word) or word


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise BadRequest(detail=f"{name} is a number of milliseconds, not {text!r}; correct it or unset it")
    return int(text)


def _policy(text: str) -> Policy:
    if text not in list(Policy):
        raise BadRequest(detail=f"LLM_GATEWAY_APPROVAL_POLICY is one of {', '.join(Policy)}, not {text!r}")
    return Policy(text)


def _aliases(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(word, str) for word in cast("dict[str, object]", found).values()
    ):
        raise BadRequest(detail='LLM_GATEWAY_MODEL_ALIASES is an object of words, as in {"fast": "haiku"}; correct it')
    return cast("dict[str, str]", found)
