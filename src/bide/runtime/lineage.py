"""From which job, and in which session, a job was asked for: told by the request, else by the caller's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec.structs import replace

from bide.api import Filter
from bide.keeper import folder
from bide.model.errors import JobForgotten, JobNotFound
from bide.model.job import Job
from bide.model.phase import Running
from bide.model.request import Request
from bide.model.turn import NOW
from bide.runtime.core import Core

_SESSION = "BIDE_SESSION"


def base(request: Request) -> Mapping[str, str]:
    """The environment to start from."""
    return os.environ if request.base_env is None else request.base_env


def parent(core: Core, request: Request) -> Job | None:
    """The job from which this is asked for; none if it is not one of this home."""
    ref = request.parent or (base(request).get(folder.MARKER) if _is_ours(core, request) else None)
    if not ref:
        return None
    try:
        return core.find(ref)
    except JobNotFound:
        return None


def owned(core: Core, request: Request) -> Request:
    """The request with its owner: a job that is started from another has the owner of that one, unless it says so."""
    if request.owner is not None or (above := parent(core, request)) is None:
        return request
    return replace(request, owner=above.owner)


def session(core: Core, request: Request) -> str | None:
    """The session it belongs to: the one that was asked for, else that of the job from which it is asked for."""
    if request.session is not None:
        return request.session
    inherited = base(request).get(_SESSION, "") if _is_ours(core, request) else ""
    return inherited if inherited in core.places.open else None


def is_within_running(core: Core, job: Job) -> bool:
    """Whether it is part of what a running job does, and asks for no turn of its own.

    It starts at once: its parent may wait for it, and would wait for ever if it had to wait for its parent's place.
    """
    above = None if job.parent is None else core.keeping.table.live.get(job.parent)
    return job.spec.turn == NOW and above is not None and isinstance(above.job.phase, Running)


def variables(session: str | None, parent: Job | None) -> dict[str, str]:
    """What tells a job, and what it starts, where they belong."""
    found = {_SESSION: session, "BIDE_PARENT": None if parent is None else parent.id}
    return {name: value for name, value in found.items() if value is not None}


def resolved(core: Core, where: Filter) -> Filter:
    """The filter with its parent by id. A parent that was forgotten still has children; one that never was is an error."""
    if where.parent is None:
        return where
    try:
        return replace(where, parent=core.find(where.parent).id)
    except JobForgotten:
        return where


def _is_ours(core: Core, request: Request) -> bool:
    return base(request).get("BIDE_HOME") == core.home.path
