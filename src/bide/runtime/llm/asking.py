"""`ask`: from a request to a durable job of an LLM's command line, and to its answer if the caller waits for it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import anyio
from msgspec import Struct
from msgspec.structs import replace

from bide.api import Ran
from bide.kinds.llm import known
from bide.kinds.llm.base import Cli, Command, check_words
from bide.kinds.llm.servers import with_servers
from bide.model.askfacts import AskFacts
from bide.model.dedup import Dedup, Policy
from bide.model.errors import QueueFull
from bide.model.limits import Limits, OnOutputCap
from bide.model.llm import caches
from bide.model.llm.answer import Answer, Asked, Note, Status
from bide.model.llm.approval import Decision
from bide.model.llm.ask import Ask, check
from bide.model.llm.choices import GROUP, LlmSettings, group_of, model_of
from bide.model.llm.kept import UNRECORDED
from bide.model.llm.prompt import Prompt, last_stable
from bide.model.request import Request
from bide.model.schedule import has_room, within
from bide.model.times import ms
from bide.model.turn import Turn
from bide.runtime import starting
from bide.runtime.core import Core, now
from bide.runtime.llm import gate, sessions
from bide.runtime.llm.gateways import Gateways
from bide.runtime.llm.programs import Programs, unset
from bide.runtime.llm.recording import FOLDER, Recorder
from bide.runtime.llm.records import Records
from bide.runtime.llm.retrying import Retrying
from bide.runtime.llm.worktrees import Worktrees
from bide.runtime.place import write_whole
from bide.runtime.readiness import until

_SHOWN = 120
_DAY = timedelta(days=1)
_SCHEMA = "output_schema"


class Desk(Struct, frozen=True):
    """What asking needs beside the runtime."""

    programs: Programs
    records: Records
    recorder: Recorder
    retrying: Retrying
    worktrees: Worktrees
    gateways: Gateways


class Prepared(Struct, frozen=True):
    """A request that may be made."""

    cli: Cli
    chosen: LlmSettings
    request: Request
    facts: AskFacts
    notes: tuple[Note, ...]
    decision: Decision | None
    files: Mapping[str, bytes]
    """What is to be written for it."""


async def ask(core: Core, desk: Desk, asked: Ask, key: str | None = None) -> Asked:
    """Start it, or join an equal one, and answer as the request wants it. Nothing here is undone by a cancelled call."""
    made = await _prepared(core, desk, asked, key)
    recorder, request, facts = desk.recorder, made.request, made.facts
    began = anyio.current_time()
    refusal = desk.retrying.refusal(made.cli.name) or _full(core, made.cli.name, made.chosen)
    if refusal is not None and starting.earlier(core, request) is None:
        raise refusal
    _write(made.files)
    ran = await starting.run(core, request)
    answer, deferred = await _settled(core, desk.retrying, ran, request, began)
    if ran.joined and (ran.job.key is None or ran.job.key != key):
        await recorder.joined(answer.job, facts)
        recorder.remove(facts.files)
    await recorder.began(ran.job)
    if answer.status is not Status.RUNNING:
        await recorder.finished(answer.job.id)
    answer = replace(answer, correlation_id=facts.correlation_id, notes=(*made.notes, *answer.notes))
    return Asked(answer, joined=ran.joined, deferred=deferred, deadline=request.deadline, approval=made.decision)


async def _prepared(core: Core, desk: Desk, asked: Ask, key: str | None) -> Prepared:
    """What it comes to. Nothing is made for it before it is known that it may be made. Raises BadRequest and what the gate says."""
    check(asked)
    cli = known.named(asked.cli)
    base = dict(os.environ if asked.base_env is None else asked.base_env)
    env = {**base, **asked.env}
    kept = desk.gateways.kept(env)
    chosen = kept.chosen
    asked = replace(asked, model=model_of(cli.name, asked.model, chosen, cli.aliases))
    asked, session = await sessions.resumed(core, desk.records, asked)
    prompt, more = _cached(asked, chosen)
    asked, ignored = with_servers(asked, chosen.mcp_servers)
    installed = await desk.programs.find(cli, env)
    asked, files = _with_schema(core, asked)
    command = check_words(cli.command(asked, prompt, installed), cli.name)
    decision = gate.check(core.home.path, asked, prompt.text, command, chosen)
    asked, tree = await desk.worktrees.placed(asked, base)
    facts = _facts(asked, prompt, command, tuple(files))
    facts = replace(facts, session=session, recorded=kept.recorded, keep_days=kept.keep_days, worktree=tree)
    notes = kept.notes if kept.recorded else (UNRECORDED, *kept.notes)
    return Prepared(
        cli=cli,
        chosen=chosen,
        request=_request(
            asked, cli, installed.path or cli.program, command, facts, chosen, unset(base, cli.unset), key
        ),
        facts=facts,
        notes=(
            *notes,
            *more,
            *_expiring(desk.records, asked, chosen),
            *ignored,
            *command.notes,
            *_idle_ignored(asked, cli, command, chosen),
        ),
        decision=decision,
        files=files,
    )


def _full(core: Core, cli: str, chosen: LlmSettings) -> QueueFull | None:
    """Why a request that would have to wait is refused, if as many wait as may."""
    if has_room(group_of(cli), core.queue.busy, core.queue.rules):
        return None
    waiting = within(GROUP, core.queue.waiting())
    return QueueFull(waiting=str(waiting)) if waiting >= chosen.waiting else None


async def _settled(core: Core, retrying: Retrying, ran: Ran, request: Request, began: float) -> tuple[Answer, bool]:
    """The answer of the last attempt, waited for as long as the request wants; and whether that was not long enough."""
    answer, deferred = await retrying.answer(ran.job), ran.deferred
    while answer.status is Status.RUNNING and not request.background and not deferred:
        live = core.live(answer.job)
        if live is not None:
            left = None if request.deadline is None else began + request.deadline.total_seconds() - anyio.current_time()
            await until(live, lambda live=live: live.ended, left)
            deferred = not live.ended
        answer = await retrying.answer(core.seen.mark(core.find(answer.job.id)))
    return answer, deferred


def _cached(asked: Ask, chosen: LlmSettings) -> tuple[Prompt, list[Note]]:
    """The prompt, with its stable prefix marked to be cached if that is wanted always, or a word on that it could be."""
    prompt = asked.said()
    if asked.cli != "claude" and prompt.parts is not None and prompt.parts.cached:
        message = f"Only Claude is told what to cache; {asked.cli} gets the prompt in one piece, as it would without."
        return prompt, [Note("cache_control_ignored", message)]
    if asked.cli != "claude" or prompt.parts is None or prompt.parts.cached or not prompt.parts.prefix:
        return prompt, []
    least = chosen.cache.min_stable_tokens
    words = [word for word in least if word in (asked.model or "")]
    if prompt.prefix_tokens < least.get(words[0] if words else "default", 4096):
        return prompt, []
    if not chosen.cache.emit_anthropic_cache_control or asked.format not in (None, "stream-json"):
        message = f"The stable prefix has about {prompt.prefix_tokens} tokens and is not marked to be cached."
        return prompt, [Note("cacheable_prefix_uncached", message)]
    last = last_stable(prompt.parts)
    return Prompt(prompt.text, replace(prompt.parts, cached=(last,) if last else ())), []


def _expiring(records: Records, asked: Ask, chosen: LlmSettings) -> list[Note]:
    """What is known of the conversation's cache before this request is on record."""
    if not chosen.cache.warn_on_ttl_expiry or asked.cli != "claude" or asked.conversation is None:
        return []
    rows = records.used(now() - _DAY, conversation=asked.conversation)
    note = caches.expiring(asked.conversation, rows, chosen.cache.anthropic_ttl, now())
    return [] if note is None else [note]


def _with_schema(core: Core, asked: Ask) -> tuple[Ask, dict[str, bytes]]:
    """A schema that is given as an object is to be a file, which is named after what it says."""
    given = asked.options.get(_SCHEMA)
    if not isinstance(given, dict):
        return asked, {}
    data = json.dumps(cast("dict[str, Any]", given), sort_keys=True).encode()
    path = os.path.join(core.home.path, FOLDER, f"schema-{hashlib.sha256(data).hexdigest()[:16]}.json")
    return replace(asked, options={**asked.options, _SCHEMA: path}), {path: data}


def _write(files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_whole(path, data, sync=False)


def _facts(asked: Ask, prompt: Prompt, command: Command, files: tuple[str, ...]) -> AskFacts:
    short = prompt.text if len(prompt.text) <= _SHOWN else f"{prompt.text[:_SHOWN]}…"
    return AskFacts(
        cli=asked.cli,
        format=command.format,
        correlation_id=asked.correlation_id or str(uuid.uuid4()),
        shown=f"{asked.cli} {shlex.quote(' '.join(short.split()))}",
        conversation=asked.conversation,
        model=asked.model,
        prefix_hash=prompt.prefix_hash,
        prefix_tokens=prompt.prefix_tokens,
        cache_blocks=command.cache_blocks,
        files=files,
    )


def _request(
    asked: Ask,
    cli: Cli,
    program: str,
    command: Command,
    facts: AskFacts,
    chosen: LlmSettings,
    base: Mapping[str, str],
    key: str | None,
) -> Request:
    deadline = chosen.deadline if asked.deadline is None else asked.deadline
    return Request(
        command=(program, *command.words),
        cwd=asked.cwd,
        env={**command.env, **asked.env},
        base_env=base,
        env_defaults=False,
        name=asked.name,
        owner=asked.owner,
        limits=_limits(asked, cli, command, chosen),
        stdin=command.input is not None,
        input=command.input,
        background=asked.background,
        deadline=deadline or None,
        key=key,
        dedup=Dedup(Policy.REUSE_RECENT, chosen.dedup_window, asked.fresh) if chosen.dedup_window else Dedup(),
        ask=facts,
        turn=Turn(group=group_of(cli.name)),
    )


def _idle_ignored(asked: Ask, cli: Cli, command: Command, chosen: LlmSettings) -> list[Note]:
    if asked.idle is None or command.format not in cli.silent:
        return []
    bound = "" if asked.timeout else f"; it has {ms(chosen.runtime)}ms in all"
    message = f"{cli.name} is silent until its end in the format {command.format}, so idleTimeoutMs would end a healthy run and has no effect{bound}."
    return [Note("idle_timeout_ignored", message)]


def _limits(asked: Ask, cli: Cli, command: Command, chosen: LlmSettings) -> Limits:
    """Silence means something only of a CLI that tells of its work; another one is bound by time alone."""
    tells = command.format in cli.streaming or (asked.idle is not None and command.format not in cli.silent)
    return Limits(
        timeout=asked.timeout or (None if tells else chosen.runtime),
        idle=(asked.idle or chosen.idle) if tells else None,
        output_bytes=chosen.output_bytes,
        on_output_cap=OnOutputCap.KILL,
        grace=timedelta(seconds=5),
    )
