"""The body of a change to a group, done."""

from __future__ import annotations

from typing import Any

from bide.api import Group, Groups
from bide.model import fields
from bide.model.errors import BadRequest

_CHANGE: dict[str, fields.Kind] = {"limit": fields.is_whole, "paused": fields.is_flag}


async def change(groups: Groups, name: str | None, body: dict[str, Any]) -> Group:
    """Set what the body has: `limit` (null for none), `paused`; without a name, for all jobs together."""
    found = fields.given(body, _CHANGE, "a group")
    done: Group | None = None
    if "limit" in body:
        done = await groups.limit(name, found.get("limit"))
    if "paused" in found:
        done = await (groups.pause(name) if found["paused"] else groups.resume(name))
    if done is None:
        raise BadRequest(detail="nothing to change; give 'limit' (null for none), 'paused', or both")
    return done
