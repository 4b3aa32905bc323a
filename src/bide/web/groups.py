"""The routes of groups, each a translation and nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import asdict

from bide.api import Group, Groups
from bide.model import fields
from bide.model.errors import BadRequest
from bide.web.http import Reply
from bide.web.request import HttpRequest

_CHANGE: dict[str, fields.Kind] = {"limit": fields.is_whole, "paused": fields.is_flag}


async def show_all(groups: Groups, _: HttpRequest, reply: Reply, __: str) -> None:
    """`GET /v1/groups`."""
    await reply.json({"groups": [asdict(group) for group in await groups.list()]})


async def change(groups: Groups, request: HttpRequest, reply: Reply, name: str) -> None:
    """`POST /v1/groups/NAME`: `limit` (null for none), `paused`; without a name, for all jobs together."""
    body = request.json()
    found = fields.given(body, _CHANGE, "a group")
    done: Group | None = None
    if "limit" in body:
        done = await groups.limit(name or None, found.get("limit"))
    if "paused" in found:
        done = await (groups.pause(name or None) if found["paused"] else groups.resume(name or None))
    if done is None:
        raise BadRequest(detail="nothing to change; give 'limit' (null for none), 'paused', or both")
    await reply.json(asdict(done))


ROUTES: dict[tuple[str, str], Callable[[Groups, HttpRequest, Reply, str], Awaitable[None]]] = {
    ("GET", "v1/groups"): show_all,
    ("POST", "v1/groups"): change,
    ("POST", "v1/groups/*"): change,
}
