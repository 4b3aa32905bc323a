"""RemoteLlm: LLM command lines over the daemon's socket."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Unpack

from msgspec.structs import replace

from bide import config
from bide.client.conversations import RemoteConversations
from bide.client.http1 import quote
from bide.client.transport import Transport
from bide.model.errors import BadRequest
from bide.model.llm.answer import Answer, Asked
from bide.model.llm.ask import Ask, AskOptions, check
from bide.model.llm.forms import answer_from_json, ask_to_json, asked_from_json
from bide.model.llm.programs import Health, Models, Process, Program, Upgrade, health_from_json, process_from_json
from bide.model.llm.steps import SHOWN, Watched, watched_from_json
from bide.model.times import left_ms


class RemoteLlm:
    """Implements beside.Llm by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Over the connections of a RemoteJobs."""
        self._transport = transport
        self.conversations: RemoteConversations = RemoteConversations(transport)

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """See beside.Llm.ask. If the daemon dies meanwhile, the next one is asked for the same job."""
        return await self.ask_once(cli if isinstance(cli, Ask) else Ask.of(cli, prompt, **options))

    async def ask_once(self, asked: Ask, key: str | None = None) -> Asked:
        """See beside.Llm.ask_once."""
        check(asked)
        asked = replace(
            asked,
            cwd=os.path.abspath(asked.cwd or os.getcwd()),
            base_env=dict(os.environ) if asked.base_env is None else asked.base_env,
            owner=asked.owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE),
        )
        body = {**ask_to_json(asked), "key": key or secrets.token_hex(16)}
        return asked_from_json(await self._transport.call_once("/v1/asks", body, body))

    async def answer(self, job: str, *, owner: str | None = None) -> Answer:
        """See beside.Llm.answer."""
        if not job:
            raise BadRequest(detail="a job's id or name cannot be empty")
        return answer_from_json(await self._transport.call("GET", f"/v1/asks/{quote(job)}", query={"owner": owner}))

    async def watch(
        self, job: str, *, after: int = 0, limit: int = SHOWN, wait: timedelta = timedelta(0), owner: str | None = None
    ) -> Watched:
        """See beside.Llm.watch."""
        query = {"after": after, "limit": limit, "wait_ms": left_ms(wait), "owner": owner}
        return watched_from_json(await self._transport.call("GET", f"/v1/asks/{quote(job)}/steps", query=query))

    async def programs(
        self, cli: str | None = None, *, login: bool = False, env: Mapping[str, str] | None = None
    ) -> tuple[Program, ...]:
        """See beside.Llm.programs."""
        body = {"cli": cli, "login": login, "env": dict(os.environ if env is None else env)}
        found = await self._transport.call("POST", "/v1/llm/programs", body)
        return tuple(Program(**one) for one in found["programs"])

    async def health(self) -> tuple[Health, ...]:
        """See beside.Llm.health."""
        found = await self._transport.call("GET", "/v1/llm/health")
        return tuple(health_from_json(one) for one in found["clis"])

    async def processes(self, *, owner: str | None = None) -> tuple[Process, ...]:
        """See beside.Llm.processes."""
        found = await self._transport.call("GET", "/v1/llm/processes", query={"owner": owner})
        return tuple(process_from_json(one) for one in found["processes"])

    async def models(self, cli: str | None = None) -> tuple[Models, ...]:
        """See beside.Llm.models."""
        found = await self._transport.call("GET", "/v1/llm/models", query={"cli": cli})
        return tuple(
            Models(one["cli"], one["default"], tuple(one["models"]), one["aliases"]) for one in found["models"]
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
        """See beside.Llm.upgrade. Not asked again if the daemon dies meanwhile."""
        body = {"cli": cli, "target": target, "dry_run": dry_run, "env": dict(os.environ if env is None else env)}
        body["owner"] = owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE)
        found = await self._transport.call("POST", "/v1/llm/upgrade", body, again=dry_run)
        return Upgrade(found["cli"], tuple(found["command"]), found["dry_run"], found["job"])

    async def approvals(self, limit: int = 50) -> tuple[dict[str, Any], ...]:
        """See beside.Llm.approvals."""
        found = await self._transport.call("GET", "/v1/llm/approvals", query={"limit": limit})
        return tuple(found["approvals"])

    async def persistence(self, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """See beside.Llm.persistence."""
        body = {"env": dict(os.environ if env is None else env)}
        return await self._transport.call("POST", "/v1/llm/persistence", body)

    async def metrics(self) -> dict[str, Any]:
        """See beside.Llm.metrics."""
        return await self._transport.call("GET", "/v1/llm/metrics")

    async def cache(
        self, *, conversation: str | None = None, prefix: str | None = None, env: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """See beside.Llm.cache."""
        body = {"conversation": conversation, "prefix": prefix, "env": dict(os.environ if env is None else env)}
        return await self._transport.call("POST", "/v1/llm/cache", body)
