"""Limits of a job, as asked for. The keeper enforces them; nothing here looks at a clock."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from bide.model.errors import BadRequest

DEFAULT_OUTPUT_BYTES = 256 * 1024 * 1024
FALLBACK = {"memory": "sampled", "cpu": "none", "pids": "sampled"}
"""What enforces a limit where no control group does."""

FALLBACK_MOST = 15
"""Background jobs that may run at once where no settings say how many."""


class OnOutputCap(StrEnum):
    """What happens when a job has written more than its output cap."""

    KEEP = "keep"
    """The oldest bytes go; offsets stay absolute and the dropped range is said."""
    KILL = "kill"
    """The job is killed with reason `overflow`; the output is exactly the cap."""


class Limits(Struct, frozen=True):
    """What a job may use. `None` means no limit."""

    timeout: timedelta | None = None
    """Wall time from start to end, by a monotonic clock."""
    idle: timedelta | None = None
    """Time without output."""
    idle_needs_no_cpu: bool = False
    """Count as idle only when the tree also used no CPU meanwhile."""
    output_bytes: int = DEFAULT_OUTPUT_BYTES
    """Output kept on disk, both streams together."""
    on_output_cap: OnOutputCap = OnOutputCap.KEEP
    memory_bytes: int | None = None
    """Memory of the whole tree."""
    cpus: float | None = None
    """CPU time per wall time; 0.5 is half a core. A job is throttled, never killed, for this."""
    pids: int | None = None
    """Processes and threads of the whole tree."""
    grace: timedelta = timedelta(seconds=5)
    """Between TERM and KILL when a limit ends the job."""


def job_limit_reached(most: int) -> BadRequest:
    """Return the refusal of a background job beside as many as may run."""
    return BadRequest(detail=f"Background job limit reached ({most}). Wait for running jobs to finish or cancel one.")
