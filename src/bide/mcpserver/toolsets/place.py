"""`session` of the core toolset: a shell-like place where what one run changes holds for the next."""

from __future__ import annotations

import os
from typing import Any

from bide.mcpserver import text
from bide.mcpserver.tool import Answer, Call
from bide.model.errors import BadRequest
from bide.model.results import SessionStarted
from bide.model.schema import Json
from bide.model.session import Session

_FIELDS: dict[str, tuple[str, ...]] = {
    "start": ("session", "cwd", "env", "vars"),
    "update": ("session", "cwd", "env", "unset", "vars"),
    "show": ("session",),
    "list": (),
    "end": ("session", "forget"),
}


async def session(call: Call, given: Json) -> Answer:
    """Start, update, show, list or end."""
    action: str = given["action"]
    for name in given.keys() - {"action"}:
        if name not in _FIELDS[action]:
            known = ", ".join(_FIELDS[action]) or "no fields"
            raise BadRequest(detail=f"{action!r} takes {known}, not {name!r}")
    if action == "start":
        return await _start(call, given)
    if action == "list":
        found = await call.jobs.sessions.list(owner=call.caller.owner)
        parts = [line(one) for one in found] or ["no session of yours is open"]
        return Answer(text.lines(parts), {"sessions": [data_of(one) for one in found]})
    return await _of_one(call, action, given)


async def opened(call: Call, given: Json, id_: str | None) -> SessionStarted:
    """A session of the caller's, where and with what it says."""
    return await call.jobs.sessions.start(
        id_,
        cwd=os.path.join(call.caller.cwd, given.get("cwd", "")),
        env=given.get("env"),
        vars=given.get("vars"),
        base_env=call.caller.env,
        owner=call.caller.owner,
    )


async def _start(call: Call, given: Json) -> Answer:
    started = await opened(call, given, given.get("session"))
    said, following = text.next_call("run", session=started.session.id, command="...")
    parts = [f"started {line(started.session)}. To use it: {said}"]
    data: Json = {**data_of(started.session), "next": following}
    if started.evicted:
        data["evicted"] = list(started.evicted)
        parts.append(f"ended for it, being the least recently used: {', '.join(started.evicted)}")
    return Answer(text.lines(parts), data)


async def _of_one(call: Call, action: str, given: Json) -> Answer:
    if "session" not in given:
        raise BadRequest(detail=f"{action!r} needs 'session': its id")
    known = await call.own.session(given["session"])
    if action == "end":
        ended = await call.jobs.sessions.end(known.id, forget=given.get("forget", False))
        parts = [f"ended session {known.id}; {len(ended.killed)} jobs were active and were killed"]
        if ended.unverified:
            parts.append(f"something may be left of {', '.join(ended.unverified)}")
        data = {"session": known.id, "killed": list(ended.killed), "left": list(ended.unverified)}
        return Answer(text.lines(parts), {**data, "forgotten": ended.forgotten})
    if action == "update":
        options: dict[str, Any] = {key: given[key] for key in ("cwd", "env", "unset", "vars") if key in given}
        known = await call.jobs.sessions.update(known.id, **options)
    return Answer(line(known), data_of(known))


def line(one: Session) -> str:
    """One phrase on a session."""
    running = f", {one.running} jobs active" if one.running else ""
    return f"session {one.id} in {one.cwd}, {one.seq} jobs so far{running}"


def data_of(one: Session) -> Json:
    """What a session holds."""
    return {
        "session": one.id,
        "cwd": one.cwd,
        "env": dict(one.env),
        "unset": list(one.unset),
        "vars": dict(one.vars),
        "jobs": one.seq,
        "active": one.running,
    }
