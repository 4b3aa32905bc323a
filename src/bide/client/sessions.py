"""RemoteSessions: sessions over the daemon's socket."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bide import config
from bide.api import SessionEnded, SessionStarted
from bide.client.http1 import quote
from bide.client.transport import Transport
from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.messages import Json, job_from_json
from bide.model.session import Session, check_session_id, check_vars
from bide.model.sessionforms import session_from_json


class RemoteSessions:
    """Implements api.Sessions by asking the daemon."""

    def __init__(self, transport: Transport) -> None:
        """Made by RemoteJobs."""
        self._transport = transport

    async def start(
        self,
        session: str | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the word for them everywhere
        base_env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> SessionStarted:
        """See api.Sessions.start. Not asked again if the daemon dies meanwhile: the session might be there then."""
        check_vars(vars or {})
        body: Json = {
            "id": session,
            "cwd": os.path.abspath(cwd or os.getcwd()),
            "env": dict(env or {}),
            "vars": dict(vars or {}),
            "base_env": dict(os.environ) if base_env is None else dict(base_env),
            "owner": owner or os.environ.get(config.DEFAULT_OWNER_VARIABLE),
        }
        answer = await self._transport.call("POST", "/v1/sessions", body, again=False)
        return SessionStarted(session_from_json(answer["session"]), tuple(answer["evicted"]))

    async def update(
        self,
        session: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        vars: Mapping[str, Any] | None = None,  # noqa: A002
        drop: Sequence[str] = (),
    ) -> Session:
        """See api.Sessions.update."""
        check_vars(vars or {})
        body: Json = {"cwd": cwd, "env": dict(env or {}), "unset": list(unset)}
        body |= {"vars": dict(vars or {}), "drop": list(drop)}
        return session_from_json(await self._transport.call("POST", _path(session), body))

    async def get(self, session: str) -> Session:
        """See api.Sessions.get."""
        return session_from_json(await self._transport.call("GET", _path(session)))

    async def list(self, *, owner: str | None = None) -> tuple[Session, ...]:
        """See api.Sessions.list."""
        body = await self._transport.call("GET", "/v1/sessions", query={"owner": owner})
        return tuple(session_from_json(session) for session in body["sessions"])

    async def job(self, session: str, job: str | int) -> Job:
        """See api.Sessions.job."""
        if not str(job):
            raise BadRequest(detail="a job's id or name cannot be empty")
        return job_from_json(await self._transport.call("GET", f"{_path(session)}/jobs/{quote(str(job))}"))

    async def end(self, session: str, *, forget: bool = False) -> SessionEnded:
        """See api.Sessions.end. Not asked again if the daemon dies meanwhile: it would be found ended."""
        body = await self._transport.call("DELETE", _path(session), query={"forget": int(forget)}, again=False)
        return SessionEnded(
            session=session_from_json(body["session"]),
            killed=tuple(body["killed"]),
            unverified=tuple(body["unverified"]),
            forgotten=body["forgotten"],
        )


def _path(session: str) -> str:
    return f"/v1/sessions/{quote(check_session_id(session))}"
