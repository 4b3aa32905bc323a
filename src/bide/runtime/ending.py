"""`kill`, `send` and `forget`: acts on a job that exists."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

import anyio
import anyio.to_thread

from bide.api import Killed
from bide.keeper import folder, holding, launch, told
from bide.model.errors import BadRequest, InternalError, JobActive, JobEnded, JobQueued, NoStdin
from bide.model.job import Job
from bide.model.messages import descendants_from_json
from bide.model.phase import Descendant, Ended
from bide.model.request import KEY_MAX
from bide.runtime import forgetting
from bide.runtime.core import Core, now, size_of
from bide.runtime.hub import Bell, heard
from bide.runtime.live import Live

_PATIENCE = 5.0
_SIGNALS = range(1, 65)


def check_signal(number: int) -> None:
    """Refuse what is no signal."""
    if number not in _SIGNALS:
        raise BadRequest(detail=f"{number} is not a signal; use 1 to 64")


def who(by: str) -> str:
    """Whoever asked for something, in a few printable words."""
    return " ".join("".join(c if c.isprintable() else " " for c in by).split())[:100]


async def kill(core: Core, ref: str, signal: int, grace: timedelta, by: str) -> Killed:
    """End the tree and verify it, or say what is left."""
    check_signal(signal)
    if grace < timedelta(0):
        raise BadRequest(detail="grace cannot be negative; 0 means no escalation to KILL")
    job = core.find(ref)
    ended = isinstance(job.phase, Ended)
    if ended and not _alive(core, job):
        return Killed(job=job, already_ended=True)
    live = core.live(job)
    if live is not None and live.held:
        core.queue.cancel(live, who(by))
        return Killed(job=live.job)
    if live is not None and core.keeping.cancel_start(live, who(by)):
        return Killed(job=live.job)
    token = secrets.token_hex(8)
    line = f"kill {signal} {round(grace.total_seconds() * 1000)} {token} {who(by)}"
    bell = core.keeping.kills.setdefault(job.id, Bell())
    with anyio.move_on_after(grace.total_seconds() + _PATIENCE):
        await _ask(core, job, line, token, bell)
    core.keeping.kills.pop(job.id, None)
    return _report(core, job, token, already=ended)


async def _ask(core: Core, job: Job, line: str, token: str, bell: Bell) -> None:
    """Ask the job's keeper, and ask again the one that replaces it, until one of them answers."""
    path = core.home.job(job.id)
    asked = 0
    while True:
        live = core.live(job)
        bells = [bell] if live is None else [bell, live.changed]
        with heard(bells) as alarm:
            page = folder.read_live(path)
            done = live is None or live.ended
            if page.get("kill") == token and (done or _left(page)):
                return
            keeper = launch.holder(path)
            if keeper is None and done:
                if not _alive(core, core.find(job.id)):
                    return
                # Descendants outlived both the job and its keeper: a new keeper finds them by their start marker.
                core.keeping.nursing.ask(path, replace=True)
            if keeper and keeper != asked and folder.command(path, line):
                asked = keeper
            # A keeper about to leave may not hear us any more, and says nothing then.
            await alarm.wait(1.0 if keeper and keeper == asked and not done else 0.05)


def _left(page: dict[str, Any]) -> set[Descendant]:
    """What the keeper found left after a kill and is still there; if all of it went meanwhile, the end is near."""
    return {d for d in descendants_from_json(page.get("left")) if launch.is_alive(d.pid, d.start_ticks)}


def _alive(core: Core, job: Job) -> tuple[Descendant, ...]:
    """What of an ended job still runs."""
    facts = core.with_facts(job).facts
    return () if facts is None else facts.alive


def _report(core: Core, job: Job, token: str, *, already: bool) -> Killed:
    current = core.find(job.id)
    page = folder.read_live(core.home.job(job.id))
    left = _left(page) | set(_alive(core, current))
    answered = page.get("kill") == token
    over = isinstance(current.phase, Ended)
    return Killed(
        job=core.with_facts(current),
        signalled=page.get("signalled", 0) if answered else 0,
        verified_empty=not left and (answered or over),
        survivors=tuple(sorted(left, key=lambda descendant: descendant.pid)),
        already_ended=already,
    )


async def send(
    core: Core,
    ref: str,
    data: bytes,
    signal: int | None,
    *,
    eof: bool,
    at: int | None = None,
    key: str | None = None,
) -> Job:
    """Input, its end, or a signal, to a running job."""
    job = core.find(ref)
    live = core.live(job)
    if live is None or live.ended:
        current = job if live is None else live.job
        reason = current.phase.end.reason if isinstance(current.phase, Ended) else "gone"
        raise JobEnded(job=job.id, reason=str(reason))
    if signal is not None:
        check_signal(signal)
        if live.held:
            raise JobQueued(job=job.id, what="send a signal to")
        await command(live, f"sig {signal}")
    if data or eof:
        await _input(live, data, eof=eof, at=at, key=key)
    return core.with_facts(live.job)


async def _input(live: Live, data: bytes, *, eof: bool, at: int | None, key: str | None) -> None:
    if not (live.job.spec.stdin or live.job.spec.pty):
        raise NoStdin(job=live.job.id, detail="it was started without one")
    if key is not None:
        at = _place(live, key, data)
    if told.is_closed(live.path):
        if key is not None and at is not None and not _unsent(live, data, at):
            return  # it was heard, and so was the end
        raise NoStdin(job=live.job.id, detail="it was closed")
    told.append(live.path, data if at is None else _unsent(live, data, at))
    if eof:
        told.close(live.path)
        live.close_stdin()
    if live.held:
        await anyio.to_thread.run_sync(holding.sync, live.path)
    else:
        await command(live, "in")


def _place(live: Live, key: str, data: bytes) -> int:
    """Where in the input what has this key begins: where it was put when it was first said, or at the end."""
    if not 0 < len(key) <= KEY_MAX or not key.isprintable():
        raise BadRequest(detail=f"a key has 1 to {KEY_MAX} printable characters")
    place = told.place(live.path, key, data)
    if place is None:
        place = size_of(live.path, "in")
        told.mark(live.path, key, place)
    return place


def _unsent(live: Live, data: bytes, at: int) -> bytes:
    """What of the data that begins at this byte of the input is not there yet."""
    size = size_of(live.path, "in")
    if not 0 <= at <= size:
        raise BadRequest(detail=f"the input of {live.job.id} has {size} bytes so far; nothing can be added at {at}")
    return data[size - at :]


async def command(live: Live, line: str) -> None:
    """Tell the keeper; while it is being replaced, a moment later."""
    for _ in range(40):
        if live.ended or folder.command(live.path, line):
            return
        with heard([live.changed]) as alarm:
            await alarm.wait(0.05)
    raise InternalError(detail=f"the keeper of {live.job.id} does not answer")


async def forget(core: Core, ref: str, why: str = "") -> None:
    """Remove an ended job for good; `why`, if not simply because somebody asked for it."""
    job = core.find(ref)
    if not isinstance(job.phase, Ended):
        raise JobActive(job=job.id)
    if _alive(core, job):
        raise BadRequest(detail=f"descendants of {job.id} still run; end them with kill before forgetting it")
    await forgetting.forget(core, [job.id], now(), why)
