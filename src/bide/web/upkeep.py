"""Routes beside the verbs: who is there, and what of the past is kept."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, nullcontext

import anyio

from bide.api import Upkeep
from bide.model import fields
from bide.model.answers import collected_to_json
from bide.model.errors import BadRequest
from bide.model.job import DEFAULT_OWNER
from bide.model.lifetime import Lifetime
from bide.model.request import check_owner
from bide.model.times import from_ms
from bide.web.http import Reply
from bide.web.request import HttpRequest

_GC: dict[str, fields.Kind] = {
    "dry_run": fields.is_flag,
    "older_than_ms": fields.is_number,
    "owner": fields.is_text,
}


async def attend(upkeep: Upkeep, owner: str, reply: Reply) -> None:
    """One line that says it has begun, and then nothing, for as long as the client is there."""
    async with upkeep.attend(owner):
        send = await reply.stream("application/x-ndjson")
        await send(json.dumps({"attending": owner}).encode() + b"\n")
        await anyio.sleep_forever()


def present(upkeep: Upkeep, lifetime: Lifetime, owner: str | None) -> AbstractAsyncContextManager[None]:
    """Whoever follows a job that lives with its owner is there."""
    return upkeep.attend(owner or DEFAULT_OWNER) if lifetime == Lifetime.OWNER else nullcontext()


async def collect(upkeep: Upkeep, request: HttpRequest, reply: Reply) -> None:
    """Remove what is no longer kept, or say what would go."""
    body = fields.given(request.json(), _GC, "'gc'")
    if "owner" in body:
        check_owner(body["owner"])
    if "owner" in body and "older_than_ms" not in body:
        raise BadRequest(detail="retention is the same for all owners; 'owner' goes with 'older_than_ms'")
    collected = await upkeep.gc(
        dry_run=body.get("dry_run", False), older_than=from_ms(body.get("older_than_ms")), owner=body.get("owner")
    )
    await reply.json(collected_to_json(collected))
