"""The wire form of sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from bide.model import fields
from bide.model.messages import Json, job_from_json, job_to_json
from bide.model.session import Session
from bide.model.times import from_stamp, stamp

_UPDATE: dict[str, fields.Kind] = {
    "cwd": fields.is_text,
    "env": fields.is_texts,
    "unset": fields.is_words,
    "vars": fields.is_object,
    "drop": fields.is_words,
}
_START: dict[str, fields.Kind] = {
    "id": fields.is_text,
    "cwd": fields.is_text,
    "env": fields.is_texts,
    "base_env": fields.is_texts,
    "vars": fields.is_object,
    "owner": fields.is_text,
}


def start_from_json(body: Json) -> dict[str, Any]:
    """The arguments of starting a session. Raises BadRequest."""
    found = fields.given(body, _START, "a session to start")
    return {"session" if key == "id" else key: value for key, value in found.items()}


def update_from_json(body: Json) -> dict[str, Any]:
    """The arguments of an update. Raises BadRequest."""
    return fields.given(body, _UPDATE, "an update of a session")


def session_to_json(session: Session) -> Json:
    """A session, as every door shows it."""
    return {
        "id": session.id,
        "owner": session.owner,
        "cwd": session.cwd,
        "env": dict(session.env),
        "unset": list(session.unset),
        "vars": dict(session.vars),
        "created_at": stamp(session.created_at),
        "last_active_at": stamp(session.last_active_at),
        "seq": session.seq,
        "first": session.first,
        "running": session.running,
        "note": session.note,
        "jobs": [job_to_json(job) for job in session.jobs],
    }


def session_from_json(body: Json) -> Session:
    """A session."""
    return Session(
        id=body["id"],
        owner=body["owner"],
        cwd=body["cwd"],
        env=body["env"],
        unset=tuple(body["unset"]),
        vars=body["vars"],
        created_at=cast("datetime", from_stamp(body["created_at"])),
        last_active_at=cast("datetime", from_stamp(body["last_active_at"])),
        seq=body["seq"],
        first=body.get("first", 0),
        running=body["running"],
        note=body["note"],
        jobs=tuple(job_from_json(job) for job in body["jobs"]),
    )
