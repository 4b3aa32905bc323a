"""The routes of LLM command lines, each a translation and nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from msgspec.structs import asdict

from bide.beside import Conversations, Llm
from bide.model import fields
from bide.model.llm.forms import answer_to_json, ask_from_json, asked_to_json
from bide.model.llm.programs import health_to_json, process_to_json
from bide.model.llm.steps import SHOWN, watched_to_json
from bide.web import conversations
from bide.web.http import Reply
from bide.web.query import query_number
from bide.web.request import HttpRequest

_PROGRAMS: dict[str, fields.Kind] = {"cli": fields.is_text, "login": fields.is_flag, "env": fields.is_texts}
_PERSISTENCE: dict[str, fields.Kind] = {"env": fields.is_texts}
_CACHE: dict[str, fields.Kind] = {"conversation": fields.is_text, "prefix": fields.is_text, "env": fields.is_texts}
_UPGRADE: dict[str, fields.Kind] = {
    "cli": fields.is_text,
    "target": fields.is_text,
    "dry_run": fields.is_flag,
    "env": fields.is_texts,
    "owner": fields.is_text,
}


async def ask(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/asks`."""
    body = dict(request.json())
    key = fields.given({"key": body.pop("key", None)}, {"key": fields.is_text}, "'ask'").get("key")
    await reply.json(asked_to_json(await llm.ask_once(ask_from_json(body), key)))


async def answer(llm: Llm, request: HttpRequest, reply: Reply, job: str) -> None:
    """`GET /v1/asks/{job}`, where the job may be given by a correlation id."""
    await reply.json(answer_to_json(await llm.answer(job, owner=request.query.get("owner"))))


async def watch(llm: Llm, request: HttpRequest, reply: Reply, job: str) -> None:
    """`GET /v1/asks/{job}/steps`."""
    query = request.query
    wait = timedelta(milliseconds=query_number(query, "wait_ms", 0))
    after, limit = query_number(query, "after", 0), query_number(query, "limit", SHOWN)
    found = await llm.watch(job, after=after, limit=limit, wait=wait, owner=query.get("owner"))
    await reply.json(watched_to_json(found))


async def programs(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/llm/programs`."""
    found = await llm.programs(**fields.given(request.json(), _PROGRAMS, "'programs'"))
    await reply.json({"programs": [asdict(one) for one in found]})


async def health(llm: Llm, _request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/health`."""
    await reply.json({"clis": [health_to_json(one) for one in await llm.health()]})


async def processes(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/processes`."""
    found = await llm.processes(owner=request.query.get("owner"))
    await reply.json({"processes": [process_to_json(one) for one in found]})


async def models(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/models`."""
    found = await llm.models(request.query.get("cli"))
    await reply.json({"models": [{**asdict(one), "models": list(one.models)} for one in found]})


async def upgrade(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/llm/upgrade`."""
    found = await llm.upgrade(**fields.given(request.json(), _UPGRADE, "'upgrade'"))
    await reply.json({**asdict(found), "command": list(found.command)})


async def approvals(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/approvals`."""
    await reply.json({"approvals": list(await llm.approvals(query_number(request.query, "limit", 50)))})


async def persistence(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/llm/persistence`."""
    await reply.json(await llm.persistence(**fields.given(request.json(), _PERSISTENCE, "'persistence'")))


async def metrics(llm: Llm, _request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/metrics`."""
    await reply.json(await llm.metrics())


async def cache(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`GET /v1/llm/cache`: by the settings of the home alone."""
    query = request.query
    await reply.json(await llm.cache(conversation=query.get("conversation"), prefix=query.get("prefix"), env={}))


async def cache_for(llm: Llm, request: HttpRequest, reply: Reply, _: str) -> None:
    """`POST /v1/llm/cache`: by the settings of a caller with this environment."""
    given = fields.given(request.json(), _CACHE, "'cache'")
    given.setdefault("env", {})
    await reply.json(await llm.cache(**given))


Act = Callable[[Llm, HttpRequest, Reply, str], Awaitable[None]]


def _of_conversations(act: Callable[[Conversations, HttpRequest, Reply, str], Awaitable[None]]) -> Act:
    return lambda llm, request, reply, which: act(llm.conversations, request, reply, which)


ROUTES: dict[tuple[str, str], Act] = {
    ("POST", "v1/asks"): ask,
    ("GET", "v1/asks/*"): answer,
    ("GET", "v1/asks/*/steps"): watch,
    ("POST", "v1/llm/programs"): programs,
    ("GET", "v1/llm/health"): health,
    ("GET", "v1/llm/processes"): processes,
    ("GET", "v1/llm/models"): models,
    ("POST", "v1/llm/upgrade"): upgrade,
    ("GET", "v1/llm/approvals"): approvals,
    ("POST", "v1/llm/persistence"): persistence,
    ("GET", "v1/llm/metrics"): metrics,
    ("GET", "v1/llm/cache"): cache,
    ("POST", "v1/llm/cache"): cache_for,
    ("GET", "v1/conversations"): _of_conversations(conversations.show_all),
    ("GET", "v1/conversations/*"): _of_conversations(conversations.show),
    ("POST", "v1/conversations"): _of_conversations(conversations.start),
    ("POST", "v1/conversations/*"): _of_conversations(conversations.activate),
    ("DELETE", "v1/conversations"): _of_conversations(conversations.drop),
    ("DELETE", "v1/conversations/*"): _of_conversations(conversations.drop),
}
