"""What a wait waits for, when it is over, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from bide.model.errors import BadRequest
from bide.model.job import Job
from bide.model.output import Match
from bide.model.phase import Ended
from bide.model.until import Until, check_until

MOST = 10_000
"""The most jobs of one wait."""


class Mode(StrEnum):
    """How many of the jobs must end."""

    ANY = "any"
    ALL = "all"


class Waited(Struct, frozen=True):
    """How a wait ended. A timeout is a result, not an error."""

    jobs: tuple[Job, ...]
    """All jobs waited for, as they are now, in the order given."""
    met: str
    """`ended`, `log`, `port`, `http`, `quiet`, `input`, `question`, `prompt`, `stalled`, `ready`, or `timeout`."""
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


def several(jobs: Sequence[str]) -> list[str]:
    """The jobs of a wait. Raises BadRequest for a single string, which would be taken for a list of letters."""
    if isinstance(jobs, str):
        raise BadRequest(detail=f"wait takes a list of ids or names, not {jobs!r}; write [{jobs!r}]")
    return list(jobs)


def check_wait(ids: list[str], until: Until) -> None:
    """Refuse a wait that cannot be meant."""
    if not ids:
        raise BadRequest(detail="wait needs at least one job; give an id or a name")
    if len(ids) > MOST:
        raise BadRequest(
            detail=f"one wait is for at most {MOST} jobs, and these are {len(ids)}; wait for some after the others"
        )
    check_until(until)
