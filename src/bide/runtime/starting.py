"""`run`: from a request to a durable, started job, and to its end if the caller waits for it."""

from __future__ import annotations

import errno
import os
import random
import resource
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache

import anyio

from bide import config
from bide.api import Ran
from bide.keeper import folder, groups, launch
from bide.keeper.groups import Group
from bide.kinds import shell
from bide.model.errors import BadRequest, DiskFull, FolderNotFound, NameInUse
from bide.model.job import DEFAULT_OWNER, Job, JobId, Spec, id_after, make_id
from bide.model.output import Stream
from bide.model.phase import Queued
from bide.model.request import TAIL_BYTES, Request
from bide.runtime import environment
from bide.runtime.core import Core, heard
from bide.runtime.live import Live
from bide.runtime.reading import tail
from bide.store.faults import DatabaseCorrupt

_START_SECONDS = 30


async def run(core: Core, request: Request) -> Ran:
    """Start what is asked for and answer as the request wants it. Nothing here is undone by a cancelled call."""
    joined = _find_joined(core, request)
    live = _accept(core, request) if joined is None else core.live(joined)
    with _awaiting(None if request.background else live):
        return await _answer(core, request, live, joined)


def _find_joined(core: Core, request: Request) -> Job | None:
    if request.key is None or request.new_key:
        return None
    owner = request.owner or DEFAULT_OWNER
    live = core.keeping.table.with_key(owner, request.key)
    return live.job if live is not None else core.store.by_key(owner, request.key)


def _accept(core: Core, request: Request) -> Live:
    """Prepare, then start, while the row is being committed; nobody learns the id before that is done.

    A crash before the commit leaves either nothing, or a folder in `new` that has started: recovery takes it up, and
    asking again with the same key finds it.
    """
    job, orders, group = _decide(core, request)
    prepared = os.path.join(core.home.new, job.id)
    try:
        folder.prepare(prepared, job, orders)
    except OSError as error:
        groups.discard(group)
        raise _refusal(core, error) from error
    live = core.keeping.table.add(job, prepared)
    try:
        live.open_escrow()
    except OSError as error:
        core.keeping.table.drop(live)
        live.close_escrow()
        folder.remove(prepared)
        groups.discard(group)
        raise _refusal(core, error) from error
    core.keeping.start(live)
    # Asked for last: from here on the writing thread wants the interpreter as well.
    live.inserted = core.store.insert(job)
    live.inserted.add_done_callback(lambda _: core.hub.call_soon(lambda: core.keeping.committed(live)))
    return live


def _refusal(core: Core, error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(home=core.home.path)
    if error.errno == errno.E2BIG:
        return BadRequest(detail="the command and its environment are too large")
    return error


def _decide(core: Core, request: Request) -> tuple[Job, folder.Orders, Group]:
    cwd = os.path.abspath(request.cwd or os.getcwd())
    if not os.path.isdir(cwd):
        raise FolderNotFound(cwd=cwd)
    owner = request.owner or DEFAULT_OWNER
    if request.name is not None and (taken := core.keeping.table.with_name(owner, request.name)) is not None:
        raise NameInUse(name=request.name, job=taken.job.id)
    base = os.environ if request.base_env is None else request.base_env
    job_id = _new_id(core)
    group = groups.make(job_id, request.limits)
    spec = Spec(
        argv=shell.argv(request.command),
        command=shell.shown(request.command),
        cwd=cwd,
        kind=shell.NAME,
        stdin=request.stdin,
        pty=request.pty,
        merge=request.merge,
        fence=request.fence,
        limits=request.limits,
        enforced=tuple(sorted(group.enforced.items())),
        background=request.background,
        turn=request.turn,
        lifetime=request.lifetime,
        ttl=request.ttl,
        service=request.service,
    )
    job = Job(
        id=job_id,
        spec=spec,
        created_at=folder.instant(time.time_ns() // 1_000_000),
        name=request.name,
        owner=owner,
        label=request.label,
        key=request.key,
        session=request.session,
        parent=request.parent or base.get(folder.MARKER),
    )
    ours = {folder.MARKER: job_id, "BIDE_HOME": core.home.path}
    env = environment.build(base, request.env, defaults=request.env_defaults, pty=request.pty, ours=ours)
    orders = folder.Orders(
        env=env,
        umask=config.umask() if request.umask is None else request.umask,
        nofile=_soft_files(),
        boot=launch.boot_identity(),
        starter=launch.starter(core.home.path),
        groups=group.orders,
    )
    return job, orders, group


def _new_id(core: Core) -> JobId:
    """Ids only ever rise, whatever the clock does, so that none is given twice."""
    job_id = make_id(time.time_ns() // 1_000_000, random.getrandbits(10))
    if job_id <= core.newest_id:
        job_id = id_after(core.newest_id)
    core.newest_id = job_id
    return job_id


@cache
def _soft_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_file_limit() -> None:
    """Let the runtime hold many jobs; jobs themselves keep the limit that was."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    _soft_files()
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _answer(core: Core, request: Request, live: Live | None, joined: Job | None) -> Ran:
    if live is not None and live.inserted is not None:
        await _accepted(core, live.inserted)
    if request.background:
        if live is not None:
            with anyio.move_on_after(_START_SECONDS):
                await _until(live, lambda: not isinstance(live.job.phase, Queued))
        return Ran(job=_now(core, live, joined), joined=joined is not None)
    deferred = False
    if live is not None:
        seconds = None if request.deadline is None else request.deadline.total_seconds()
        with anyio.move_on_after(seconds) as scope:
            await _until(live, lambda: live.ended)
        deferred = scope.cancelled_caught
    job = core.seen.mark(_now(core, live, joined))
    return Ran(
        job=core.with_facts(job),
        joined=joined is not None,
        deferred=deferred,
        out=tail(core, job, Stream.OUT, TAIL_BYTES),
        err=tail(core, job, Stream.ERR, TAIL_BYTES),
    )


async def _accepted(core: Core, inserted: Future[Job]) -> None:
    """Return when the row is on disk."""
    try:
        await core.hub.settled(inserted)
    except DatabaseCorrupt:
        # `committed` has made another database, from the folders and the active jobs; wait until that is on disk.
        await core.hub.settled(core.store.barrier())


def _now(core: Core, live: Live | None, joined: Job | None) -> Job:
    if live is not None:
        return live.job
    assert joined is not None  # noqa: S101 - one of the two is always there
    return core.find(joined.id)


@contextmanager
def _awaiting(live: Live | None) -> Generator[None]:
    """While inside, its end is as good as told."""
    if live is not None:
        live.awaited += 1
    try:
        yield
    finally:
        if live is not None:
            live.awaited -= 1


async def _until(live: Live, condition: Callable[[], bool]) -> None:
    while True:
        with heard([live.changed]) as event:
            if condition():
                return
            await event.wait()
