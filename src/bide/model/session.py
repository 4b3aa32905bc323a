"""A session: a shell-like place with a folder, an environment, variables, and the jobs that ran in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bide.model.errors import BadRequest
from bide.model.job import JobId

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


@dataclass(frozen=True, slots=True)
class Session:
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
    running: int = 0
    """How many of its jobs are active now."""
