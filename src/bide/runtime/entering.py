"""A run enters its session: it gets the session's folder, environment and owner, and the next number as its id."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from msgspec.structs import replace

from bide.keeper.folder import NO_ROOM
from bide.kinds import wrapping
from bide.model.errors import DiskFull
from bide.model.job import Job, JobId
from bide.model.request import TAIL_BYTES, Request
from bide.model.session import job_id
from bide.model.state import shell_code
from bide.runtime.core import Core, now
from bide.runtime.place import Place, write_whole


def owned(core: Core, request: Request) -> Request:
    """A run in a session belongs to the session's owner unless it says otherwise."""
    place = core.places.open.get(request.session or "")
    return request if place is None or request.owner is not None else replace(request, owner=place.owner)


def entered(core: Core, request: Request) -> Request:
    """The request with what its session holds; one outside sessions as it is. Raises SessionNotFound."""
    if request.session is None:
        return request
    place = core.places.get(request.session, core.store)
    held = place.held
    cwd = held.cwd if request.cwd is None else os.path.join(held.cwd, request.cwd)
    return replace(request, cwd=cwd, base_env=held.base_env, env={**held.env, **request.env})


def next_id(core: Core, session: str | None) -> JobId | None:
    """The id of the next job of the session; `None` outside sessions."""
    if session is None:
        return None
    place = core.places.open[session]
    core.places.touch(place, now())
    return job_id(place.id, core.places.take_number(place))


def like_id(core: Core, job: Job) -> JobId | None:
    """Return the next id in the session of a job that is started anew; `None` if that session is not open any more."""
    place = core.places.open.get(job.session or "")
    return job_id(place.id, core.places.take_number(place)) if place is not None and place.holds(job) else None


def unset(core: Core, request: Request) -> tuple[str, ...]:
    """What was unset in the session."""
    return () if request.session is None else core.places.open[request.session].held.unset


def links(core: Core, request: Request, cwd: str) -> Mapping[str, str]:
    """What tells the program of its session, and where it is."""
    if request.session is None:
        return {}
    folder = core.places.folder(request.session)
    return {"BIDE_SESSION": request.session, "BIDE_SESSION_FOLDER": folder, "PWD": cwd}


def argv(core: Core, request: Request, job: JobId) -> tuple[str, ...] | None:
    """What is executed for shell code in a session, and what it begins with put where it finds it. `None` for the rest."""
    if request.session is None:
        return None
    place = core.places.open[request.session]
    is_shell = isinstance(request.command, str) and request.language in (None, "shell")
    try:
        _put_beginning(core, place, request, job)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(home=core.home.path) from error
        raise
    if not is_shell or not isinstance(request.command, str):
        return None
    begins = core.places.file(place.id, "shell", job) if place.held.shell else ""
    leaves = "" if is_background(request) else core.places.file(place.id, "state", job)
    return wrapping.argv(request.command, wrapping.Inside(core.places.helper, begins, leaves))


def _put_beginning(core: Core, place: Place, request: Request, job: JobId) -> None:
    """What a run begins with, so that what it changed can be told at its end."""
    held = place.held
    if held.shell:
        code = shell_code(held.shell).encode("utf-8", "surrogateescape")
        write_whole(core.places.file(place.id, "shell", job), code, sync=False)
    if (held.shell or held.vars) and not is_background(request):
        body = json.dumps({"shell": dict(held.shell), "vars": dict(held.vars)}).encode()
        write_whole(core.places.file(place.id, "begun", job), body, sync=False)


def is_background(request: Request) -> bool:
    """Whether the job is one: not if somebody follows it to its end."""
    return request.background and not request.followed


def shown_bytes(core: Core, job: Job) -> int:
    """How much of each stream an answer has."""
    return TAIL_BYTES if job.session is None else core.settings.sessions.shown_bytes
