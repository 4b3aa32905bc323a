"""LocalLlm: LLM command lines on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Unpack

import anyio

from bide.kinds.llm import known
from bide.kinds.llm.base import Cli, Installed
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest, JobNotFound
from bide.model.job import Job
from bide.model.llm import caches, metrics
from bide.model.llm.answer import Answer, Asked, Status
from bide.model.llm.ask import Ask, AskOptions
from bide.model.llm.choices import group_of
from bide.model.llm.programs import Health, Models, Process, Program, Upgrade
from bide.model.llm.steps import SHOWN, Watched
from bide.model.request import Request
from bide.runtime import starting
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.llm import asking, gate, lingering, processes, turns, watching
from bide.runtime.llm import programs as found_programs
from bide.runtime.llm.asking import Desk
from bide.runtime.llm.conversations import LocalConversations
from bide.runtime.llm.gateways import Gateways
from bide.runtime.llm.programs import Programs, Said, search_path
from bide.runtime.llm.recording import Recorder
from bide.runtime.llm.records import Records
from bide.runtime.llm.retrying import Retrying
from bide.runtime.llm.worktrees import Worktrees
from bide.runtime.sound import with_sound_store

_WINDOW = timedelta(hours=24)
_EVER = timedelta(days=3650)
_UPGRADE = timedelta(minutes=10)


class LocalLlm:
    """Implements beside.Llm in this process."""

    def __init__(self, core: Core) -> None:
        """Watch over the requests that go on, and finish the record of those that are over."""
        self.core: Core = core
        self._programs = Programs(core)
        self._retrying = Retrying(core)
        self._records = Records(core)
        self._recorder = Recorder(core, self._records, self._retrying)
        self._gateways = Gateways(core)
        self._desk = Desk(
            self._programs, self._records, self._recorder, self._retrying, Worktrees(core), self._gateways
        )
        self.conversations: LocalConversations = LocalConversations(core, self._records)
        self._recorder.take_up()
        table = core.keeping.table
        for live in list(table.live.values()):
            self._watch(live)
        table.added.append(self._watch)

    def close(self) -> None:
        """Forget what is not on disk."""
        self._records.close()

    def _watch(self, live: Live) -> None:
        if live.job.spec.ask is not None and not live.ended:
            lingering.watch(self.core, live, self.core.settings.llm.linger)
            turns.watch(self.core, live, self.core.settings.llm.queue_timeout)

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask."""
        asked = cli if isinstance(cli, Ask) else Ask.of(cli, prompt, **options)
        return await self.ask_once(asked)

    @with_sound_store
    async def ask_once(self, asked: Ask, key: str | None = None) -> Asked:
        """Ask; with the same key a second time, be told of the first."""
        return await asking.ask(self.core, self._desk, asked, key)

    @with_sound_store
    async def answer(self, job: str, *, owner: str | None = None) -> Answer:
        """See beside.Llm.answer."""
        found = self.core.seen.mark(self._find(job, owner))
        answer = await self._retrying.answer(self.core.with_facts(found))
        self.core.seen.mark(answer.job)
        return await self._on_record(answer)

    async def _on_record(self, answer: Answer) -> Answer:
        """Return an answer when whoever has it finds its conversation and figures as well."""
        if answer.status is not Status.RUNNING:
            await self._recorder.finished(answer.job.id)
        return answer

    @with_sound_store
    async def watch(
        self, job: str, *, after: int = 0, limit: int = SHOWN, wait: timedelta = timedelta(0), owner: str | None = None
    ) -> Watched:
        """See beside.Llm.watch."""
        found = self._find(job, owner).id
        told = await watching.watch(self.core, self._retrying, found, after=after, limit=limit, wait=wait)
        self.core.seen.mark(told.answer.job)
        await self._on_record(told.answer)
        return told

    def _find(self, ref: str, owner: str | None) -> Job:
        try:
            return self.core.find(ref)
        except JobNotFound:
            row = self._records.find(ref, owner)
            if row is None:
                raise
            return self.core.find(row.job)

    async def programs(
        self, cli: str | None = None, *, login: bool = False, env: Mapping[str, str] | None = None
    ) -> tuple[Program, ...]:
        """See beside.Llm.programs."""
        wanted = list(known.clis().values()) if cli is None else [known.named(cli)]
        found: dict[str, Program] = {}

        async def look(one: Cli) -> None:
            found[one.name] = await self._program(one, dict(os.environ if env is None else env), login=login)

        async with anyio.create_task_group() as group:
            for one in wanted:
                group.start_soon(look, one)
        return tuple(found[one.name] for one in wanted)

    async def _program(self, cli: Cli, env: Mapping[str, str], *, login: bool) -> Program:
        path = shutil.which(cli.program, path=search_path(env))
        if path is None:
            return Program(cli.name, installed=False, hint=cli.install)
        found: list[Installed] = []
        said: list[Said] = []

        async def look() -> None:
            found.append(await self._programs.find(cli, env, found_programs.PROBE))

        async def log_in(words: tuple[str, ...]) -> None:
            said.append(await self._programs.ask((path, *words), env, found_programs.PROBE))

        async with anyio.create_task_group() as group:
            group.start_soon(look)
            if login and cli.login is not None:
                group.start_soon(log_in, cli.login)
        state = found_programs.login(cli, said[0] if said else None, env) if login else "not_checked"
        version = found[0].version
        hint = (
            ""
            if version
            else f"it did not say its version within {found_programs.PROBE.total_seconds():g} s; ask again"
        )
        return Program(cli.name, installed=True, path=path, version=version, login=state, hint=hint)

    @with_sound_store
    async def health(self) -> tuple[Health, ...]:
        """See beside.Llm.health."""
        queue = self.core.queue
        waiting = queue.waiting()
        return tuple(
            self._retrying.health(cli, queue.busy.get(group_of(cli), 0), waiting.get(group_of(cli), 0))
            for cli in known.clis()
        )

    @with_sound_store
    async def processes(self, *, owner: str | None = None) -> tuple[Process, ...]:
        """See beside.Llm.processes."""
        return await processes.processes(self.core, owner)

    @with_sound_store
    async def models(self, cli: str | None = None) -> tuple[Models, ...]:
        """See beside.Llm.models."""
        chosen = self.core.settings.llm
        wanted = list(known.clis().values()) if cli is None else [known.named(cli)]
        return tuple(
            Models(one.name, chosen.models.get(one.name), one.models, {**one.aliases, **chosen.aliases})
            for one in wanted
        )

    async def upgrade(
        self,
        cli: str,
        target: str | None = None,
        *,
        dry_run: bool = True,
        env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> Upgrade:
        """See beside.Llm.upgrade."""
        base = dict(os.environ if env is None else env)
        path = shutil.which(known.named(cli).program, path=search_path(base))
        command = known.named(cli).upgrade(target, None if path is None else os.path.realpath(path))
        if dry_run:
            return Upgrade(cli, command)
        request = Request(
            command,
            base_env={**base, "PATH": search_path(base)},
            owner=owner,
            label="llm upgrade",
            background=True,
            ttl=_UPGRADE,
            dedup=Dedup(Policy.REUSE_RECENT, _UPGRADE),
        )
        return Upgrade(cli, command, dry_run=False, job=(await starting.run(self.core, request)).job.id)

    @with_sound_store
    async def approvals(self, limit: int = 50) -> tuple[dict[str, Any], ...]:
        """See beside.Llm.approvals."""
        if not 1 <= limit <= 500:
            raise BadRequest(detail=f"a limit is from 1 to 500, not {limit}")
        return tuple(gate.recorded(self.core.home.path, limit))

    async def persistence(self, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """See beside.Llm.persistence."""
        return self._gateways.persistence(os.environ if env is None else env)

    @with_sound_store
    async def metrics(self) -> dict[str, Any]:
        """See beside.Llm.metrics."""
        return metrics.metrics(self._records.did(), known.clis(), now())

    @with_sound_store
    async def cache(
        self, *, conversation: str | None = None, prefix: str | None = None, env: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """See beside.Llm.cache."""
        rows, chosen = self._records, self._gateways.kept(os.environ if env is None else env).chosen.cache
        if conversation is not None:
            since = now() - _EVER
            used = rows.used(since, conversation=conversation)
            count = rows.prefixes(since, conversation)[0]
            return caches.of_conversation(conversation, used, count, chosen.anthropic_ttl, now())
        if prefix is not None:
            return caches.of_prefix(prefix, rows.used(now() - _EVER, prefix=prefix))
        since = now() - _WINDOW
        enabled = [name for name in ("emit_anthropic_cache_control", "warn_on_ttl_expiry") if getattr(chosen, name)]
        return {**caches.of_all(rows.used(since), rows.prefixes(since)), "enabledFeatures": enabled}
