"""What rows give bide to do, each checked: a job that failed must not pass for a fast one."""

from __future__ import annotations

from bide.api import Jobs
from bide.model.job import Job
from bide.model.phase import End, Ended


def end_of(job: Job) -> End:
    """The end of a job that succeeded; anything else is an error."""
    if not isinstance(job.phase, Ended) or not job.phase.end.success:
        raise RuntimeError(f"{job.spec.command!r} did not succeed: {job.phase}")
    return job.phase.end


async def run_true(jobs: Jobs) -> None:
    """Run `true` in the foreground."""
    end_of((await jobs.run(["true"], deadline=None)).job)
