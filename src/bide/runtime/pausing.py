"""Pause and resume a running job: its keeper stops the whole tree, sees that it is stopped, and writes it down."""

from __future__ import annotations

import secrets

import anyio

from bide.keeper import folder
from bide.model.errors import InternalError, JobEnded, JobQueued
from bide.model.phase import Ended
from bide.runtime.core import Core
from bide.runtime.ending import command
from bide.runtime.hub import heard
from bide.runtime.live import Live

_PATIENCE = 5.0
_ASK_AGAIN = 1.0


async def pause(core: Core, ref: str, *, stopped: bool) -> None:
    """Return when all of the tree is stopped, or goes on; a job that ends meanwhile is as good as either."""
    job = core.find(ref)
    live = core.live(job)
    if live is not None and live.held:
        raise JobQueued(job=job.id, what="pause" if stopped else "resume")
    if live is None or live.ended:
        current = job if live is None else live.job
        reason = current.phase.end.reason if isinstance(current.phase, Ended) else "gone"
        raise JobEnded(job=job.id, reason=str(reason))
    with anyio.move_on_after(_PATIENCE):
        await _done(live, "pause" if stopped else "resume", secrets.token_hex(8))
        return
    page = folder.read_live(live.path)
    raise InternalError(
        detail=f"{page.get('unpaused', 'some')} processes of {job.id} could not be {'stopped' if stopped else 'resumed'}"
    )


async def _done(live: Live, what: str, token: str) -> None:
    """Ask its keeper, and ask again whoever replaces it, until one of them says that it is done."""
    while not live.ended:
        await command(live, f"{what} {token}")
        with anyio.move_on_after(_ASK_AGAIN):
            while not live.ended:
                with heard([live.changed]) as alarm:
                    if folder.read_live(live.path).get("pause") == token:
                        return
                    await alarm.wait()
