"""A session: a shell-like place with a folder, an environment, variables, and the jobs that ran in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.job import Job, JobId
from bide.model.state import Held

SESSION_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}\Z")


def check_session_id(session: str) -> str:
    """The id, if it can be one."""
    if not SESSION_PATTERN.match(session):
        detail = f"{session!r} cannot be a session's id; use 1 to 32 letters, digits, '.', '_' or '-'"
        raise BadRequest(detail=detail)
    return session


def job_id(session: str, seq: int) -> JobId:
    """The id of the job with this number in a session."""
    return JobId(f"job-{session}-{seq}")


def seq_of(job: str, session: str) -> int:
    """The number of a job in its session; 0 if it has none."""
    number = job.removeprefix(f"job-{session}-")
    return int(number) if number != job and number.isdecimal() else 0


def is_later(job: str, session: str, first: int) -> bool:
    """Return whether a job has a number of a session that began after number `first`.

    Numbers only rise, and the wall clock may step: instants do not tell sessions of the same id apart.
    """
    return seq_of(job, session) > first


def check_vars(values: Mapping[str, Any]) -> None:
    """Refuse what JSON cannot say."""
    for name, value in values.items():
        try:
            again = json.loads(json.dumps({name: value}, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise BadRequest(detail=f"variable {name!r} cannot be kept: {error}; use what JSON can say") from error
        if again != {name: value}:
            raise BadRequest(detail=f"variable {name!r} cannot be kept: it would come back as {again!r}")


def changed(
    held: Held,
    cwd: str | None,
    env: Mapping[str, str],
    unset: Sequence[str],
    values: Mapping[str, Any],
    drop: Sequence[str],
) -> Held:
    """What a session holds after an update. Raises BadRequest."""
    unset_names, dropped = {*unset}, {*drop}
    for name in unset_names & env.keys():
        raise BadRequest(detail=f"{name!r} cannot be both set and unset")
    for name in dropped & values.keys():
        raise BadRequest(detail=f"variable {name!r} cannot be both set and dropped")
    for name in unset_names:
        if not name or "=" in name or "\0" in name:
            raise BadRequest(detail=f"{name!r} cannot be the name of an environment variable")
    return replace(
        held,
        cwd=held.cwd if cwd is None else cwd,
        env={name: text for name, text in held.env.items() if name not in unset_names} | dict(env),
        unset=tuple(sorted(({*held.unset} | unset_names) - env.keys())),
        vars={name: value for name, value in held.vars.items() if name not in dropped} | dict(values),
    )


class Session(Struct, frozen=True):
    """One session, as it was when this was read."""

    id: str
    cwd: str
    created_at: datetime
    last_active_at: datetime
    owner: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What was set since the session began, above the environment it began with."""
    unset: tuple[str, ...] = ()
    """What was unset since."""
    vars: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values that Python code keeps between runs; whatever JSON can say."""
    seq: int = 0
    """The number of its newest job."""
    first: int = 0
    """Its own jobs have greater numbers than this one; an earlier session of the same id had the others."""
    running: int = 0
    """How many of its jobs are active now."""
    note: str = ""
    """What could not be kept of its last run."""
    jobs: tuple[Job, ...] = ()
    """Its newest jobs, newest first; only where one session is asked for."""
