"""Don't run it twice: a request that asks for reuse joins an equal job of the same owner, if there is one to join."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta

from bide.kinds import shell
from bide.model.dedup import Policy, fingerprint
from bide.model.job import DEFAULT_OWNER, Job
from bide.model.phase import Ended
from bide.model.request import Request
from bide.runtime.core import Core, now


def print_of(request: Request) -> str | None:
    """What equal requests have in common; `None` for one that neither joins nor is joined."""
    if request.dedup.policy is Policy.NEW:
        return None
    return fingerprint(
        kind=shell.NAME if request.ask is None else request.ask.cli,
        command=request.command,
        cwd=os.path.abspath(request.cwd or os.getcwd()),
        env=request.env,
        extra={
            **({} if request.input is None else {"input": hashlib.sha256(request.input).hexdigest()}),
            "language": request.language,
            "pty": request.pty,
            "session": request.session,
            "stdin": request.stdin,
        },
    )


def find(core: Core, request: Request) -> Job | None:
    """The job to join. Nothing comes between this look and the start of another, so that of two equal requests at once
    one starts the job and the other joins it.
    """
    print_ = print_of(request)
    if print_ is None or request.dedup.fresh:
        return None
    owner = request.owner or DEFAULT_OWNER
    window = request.dedup.window if request.dedup.policy is Policy.REUSE_RECENT else timedelta(0)
    for live in reversed(core.keeping.table.with_print(owner, print_)):
        if not live.ended or _is_recent(live.job, window):
            return live.job
    return core.store.printed(owner, print_, now() - window) if window else None


def _is_recent(job: Job, window: timedelta) -> bool:
    return isinstance(job.phase, Ended) and job.phase.end.success and now() - job.phase.ended_at < window
