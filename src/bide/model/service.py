"""A service: a job that is meant to stay, is ready at some point, and comes back when it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from bide.model.until import Until

READY_TIMEOUT = timedelta(seconds=30)
RESTARTS = 10


class Restart(StrEnum):
    """When a service that ended is started again."""

    NO = "no"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Service:
    """What makes a job a service."""

    ready: Until = field(default_factory=Until)
    """Ready when this holds."""
    ready_command: str | None = None
    """Ready when this command exits with 0."""
    ready_timeout: timedelta = READY_TIMEOUT
    restart: Restart = Restart.NO
    restarts: int = RESTARTS
    """How many times in a row it is started again before bide gives up."""
    run: int = 0
    """Which start this is: 0 for the first, counted up by each restart."""
