"""What a wait waits for, when it is over, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.output import Match
from bide.model.phase import Ended


class Mode(StrEnum):
    """How many of the jobs must end."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Until:
    """A condition beyond the end. The first that holds ends the wait; so does the end of the jobs."""

    log: str | None = None
    """A regular expression; a line of either stream matches (from the start of the output)."""
    port: int | None = None
    """A TCP port of this machine accepts."""
    http: str | None = None
    """An http URL answers with a status below 400."""
    quiet_seconds: float | None = None
    """No output for this long."""
    input: bool | None = None
    """A job asks for input; with False, none does (any more)."""


@dataclass(frozen=True, slots=True)
class Waited:
    """How a wait ended. A timeout is a result, not an error."""

    jobs: tuple[Job, ...]
    """All jobs waited for, as they are now, in the order given."""
    met: str
    """`ended`, `log`, `port`, `http`, `quiet`, `input`, or `timeout`."""
    match: Match | None = None
    """The line that matched, for `log`."""

    @property
    def timed_out(self) -> bool:
        """Whether the time ran out before anything waited for."""
        return self.met == "timeout"


def is_over(jobs: list[Job], mode: Mode) -> bool:
    """Whether a wait for the ends of these jobs is over."""
    ended = [isinstance(job.phase, Ended) for job in jobs]
    return all(ended) if mode is Mode.ALL else any(ended)


def check_wait(ids: list[str], until: Until) -> None:
    """Refuse a wait that cannot be meant."""
    if not ids:
        raise BadRequest(detail="wait needs at least one job; give an id or a name")
    if until.port is not None and not 0 < until.port < 65536:
        raise BadRequest(detail=f"port {until.port} is out of range; use 1 to 65535")
    if until.http is not None and not _is_http(until.http):
        raise BadRequest(detail=f"{until.http!r} is not an http:// URL")
    if until.quiet_seconds is not None and not until.quiet_seconds > 0:
        raise BadRequest(detail="quiet must be longer than 0 seconds")


def _is_http(url: str) -> bool:
    if not url.startswith("http://") or not url.isascii() or any(char <= " " for char in url):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
