"""`run`: from a request to a durable, started job, and to its end if the caller waits for it."""

from __future__ import annotations

import errno
import os
import resource
import secrets
import time
from collections.abc import Callable
from functools import cache

import anyio
from msgspec.structs import replace

from bide import config
from bide.api import Ran
from bide.keeper import folder, groups, holding, launch
from bide.keeper.groups import Group
from bide.kinds import base as kinds
from bide.model.dedup import Policy
from bide.model.errors import BadRequest, FolderNotFound, LimitsUnavailable, NameInUse, QueueFull, of_os_error
from bide.model.job import DEFAULT_OWNER, Job, JobId, Spec, id_after, make_id
from bide.model.limits import Limits
from bide.model.output import Stream
from bide.model.phase import Ended, Queued, Reason
from bide.model.request import Request
from bide.model.service import KIND
from bide.model.turn import NOW, Turn
from bide.runtime import dedup, entering, environment, lineage, ports, readiness
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.reading import tail
from bide.runtime.reserve import has_room
from bide.store.faults import DatabaseCorrupt
from bide.store.future import Future

_START_SECONDS = 30
_SCARCE_BYTES = 1 << 20
_SCARCE_INODES = 100
_OPTIONS = {"memory": "memory", "cpu": "cpus", "pids": "pids"}
"""The options that set these limits."""


async def run(core: Core, request: Request) -> Ran:
    """Start what is asked for and answer as the request wants it. Nothing here is undone by a cancelled call."""
    if request.service is not None and request.service.ready.log is not None:
        await core.searches.compiled(request.service.ready.log)
    request = lineage.owned(core, entering.owned(core, request))
    joined = earlier(core, request)
    if joined is None and groups.needed(request.limits) and not core.keeping.groups.known:
        # Where a service manager has to be asked, the first time takes a while.
        await anyio.to_thread.run_sync(core.keeping.groups.place)
        joined = earlier(core, request)
    if joined is not None:
        live = core.live(joined)
    else:
        live = _accept(core, request)
        core.watches.begun(live.job)
    if request.background or live is None:
        return await answer(core, request, live, joined)
    with core.watches.awaiting(live):
        return await answer(core, request, live, joined)


def earlier(core: Core, request: Request) -> Job | None:
    """The job that this request would be told of instead of starting one."""
    core.store.check()
    if request.key is not None and not request.new_key:
        owner = request.owner or DEFAULT_OWNER
        live = core.keeping.table.with_key(owner, request.key)
        if (known := live.job if live is not None else core.store.by_key(owner, request.key)) is not None:
            return known
    return dedup.find(core, entering.entered(core, request)) if request.dedup.policy is not Policy.NEW else None


def _accept(core: Core, request: Request) -> Live:
    """Prepare, then start, while the row is being committed; nobody learns the id before that is done.

    A crash before the commit leaves either nothing, or a folder in `new` that has started: recovery takes it up, and
    asking again with the same key finds it.
    """
    if request.turn is not NOW:
        request = replace(request, turn=resolved(core, request))
    return admit(core, *_decide(core, request))


def admit(core: Core, job: Job, orders: folder.Orders, group: Group, *, unqueued: bool = False) -> Live:
    """Take up a job that is decided upon: its folder, its row, and its keeper or its place in the queue.

    What belongs to a running job, as a look whether it is ready does, is `unqueued`: it would wait for its own place.
    """
    core.store.check()  # it may have to be kept in the index, so nothing is begun while that is rebuilt
    try:
        at_once = unqueued or lineage.is_within_running(core, job) or core.queue.admits(job.spec.turn)
    except QueueFull:
        groups.discard(group)
        raise
    live = _begin(core, job, orders, group) if at_once else _hold(core, job, orders, group)
    for told in core.keeping.on_admit:
        told(live)
    return live


def _begin(core: Core, job: Job, orders: folder.Orders, group: Group) -> Live:
    prepared = f"{core.home.new}/{job.id}"
    # Where room is short its keeper must not be the one to find none: nobody would be refused by then.
    scarce = not has_room(core.home.path, _SCARCE_BYTES, _SCARCE_INODES)
    spare = core.keeping.nursing.spares.take(prepared) if _is_plain(core, job) and not scarce else None
    try:
        folder.prepare(prepared, job, orders, made=spare is not None, reserved=scarce)
    except OSError as error:
        _discard(spare, group)
        raise _refusal(core, error) from error
    live = core.keeping.table.add(job, prepared)
    try:
        live.open_escrow()
    except OSError as error:
        core.keeping.table.drop(live)
        live.close_escrow()
        folder.remove(prepared)
        _discard(spare, group)
        raise _refusal(core, error) from error
    core.queue.take(live)
    core.keeping.start(live, spare)
    # Asked for last: from here on the writing thread wants the interpreter as well.
    _insert(core, live)
    return live


def _hold(core: Core, job: Job, orders: folder.Orders, group: Group) -> Live:
    """It waits for its turn: its folder names no boot, so that nobody can have started it."""
    prepared = f"{core.home.new}/{job.id}"
    try:
        folder.prepare(prepared, job, replace(orders, boot=holding.NO_BOOT))
    except OSError as error:
        groups.discard(group)
        raise _refusal(core, error) from error
    live = core.keeping.table.add(job, prepared)
    core.keeping.store_ends()  # one of them may have its name
    core.queue.enter(live)
    _insert(core, live, lambda: holding.sync(prepared))
    return live


def _is_plain(core: Core, job: Job) -> bool:
    """Whether a spare keeper can have the job: one was made without knowing what it will be."""
    spec = job.spec
    return not (spec.stdin or spec.pty or spec.merge or core.keeping.needs_scope(job))


def _discard(spare: int | None, group: Group) -> None:
    if spare is not None:
        launch.discard(spare)
    groups.discard(group)


def _insert(core: Core, live: Live, before: Callable[[], None] | None = None) -> None:
    live.inserted = core.store.insert(live.job, before)
    live.inserted.add_done_callback(lambda _: core.hub.call_soon(lambda: core.keeping.committed(live)))


def resolved(core: Core, request: Request) -> Turn:
    """Its turn, with the jobs it waits for by their ids. Raises JobNotFound for one that is not there."""
    if request.name is not None and request.name in request.turn.after:
        detail = f"a job cannot wait for itself: {request.name!r} is its own name; give the id of an earlier job"
        raise BadRequest(detail=detail)
    ids = dict.fromkeys(str(core.find(ref).id) for ref in dict.fromkeys(request.turn.after))
    return replace(request.turn, after=tuple(ids))


def _refusal(core: Core, error: OSError) -> Exception:
    if error.errno == errno.E2BIG:
        return BadRequest(detail="the command and its environment are too large")
    return of_os_error(error, core.home.path) or error


def _decide(core: Core, request: Request) -> tuple[Job, folder.Orders, Group]:
    # Before it enters its session, whose environment knows nothing of the caller's.
    parent, session = lineage.parent(core, request), lineage.session(core, request)
    request = entering.entered(core, request)
    cwd = os.path.abspath(request.cwd or os.getcwd())
    if not os.path.isdir(cwd):
        raise FolderNotFound(cwd=cwd)
    base = lineage.base(request)
    owner = request.owner or DEFAULT_OWNER
    if request.name is not None and (taken := core.keeping.table.with_name(owner, request.name)) is not None:
        raise NameInUse(name=request.name, job=taken.job.id)
    if request.service is not None:
        ports.check(core, request.service.ports)
    job_id = entering.next_id(core, session) or new_id(core)
    ours = {folder.MARKER: job_id, "BIDE_HOME": core.home.path, config.DEFAULT_OWNER_VARIABLE: owner}
    ours |= lineage.variables(session, parent)
    ours |= entering.links(core, request, cwd)
    unset = entering.unset(core, request)
    env = environment.build(base, request.env, defaults=request.env_defaults, pty=request.pty, ours=ours, unset=unset)
    plan = kinds.plan(request, cwd, env)
    group = grouped(core, job_id, request.limits)
    spec = Spec(
        argv=entering.argv(core, request, job_id) or plan.argv,
        command=plan.command,
        cwd=cwd,
        kind=plan.kind if request.service is None else KIND,
        stdin=request.stdin,
        pty=request.pty,
        merge=request.merge,
        fence=request.fence,
        limits=request.limits,
        enforced=tuple(sorted(group.enforced.items())),
        background=entering.is_background(request),
        turn=request.turn,
        lifetime=request.lifetime,
        ttl=request.ttl,
        service=request.service,
        notify=request.notify,
        ask=request.ask,
    )
    job = Job(
        id=job_id,
        spec=spec,
        created_at=now(),
        name=request.name,
        owner=owner,
        label=request.label,
        key=request.key,
        session=session,
        parent=None if parent is None else parent.id,
        fingerprint=dedup.print_of(request),
    )
    orders = folder.Orders(
        env=env,
        umask=config.umask() if request.umask is None else request.umask,
        nofile=soft_files(),
        boot=launch.boot_identity(),
        starter=launch.starter(core.home.path),
        groups=group.orders,
        input=request.input,
    )
    return job, orders, group


def id_like(core: Core, job: Job) -> JobId:
    """Return the id under which a job is started anew: in its session if that is still open."""
    return entering.like_id(core, job) or new_id(core)


def grouped(core: Core, job_id: str, limits: Limits) -> Group:
    """The groups of a job that is to start. Raises LimitsUnavailable if the home wants limits that hold, and some would not."""
    group = core.keeping.groups.make(job_id, limits)
    loose = [name for name, how in group.enforced.items() if not how.startswith("cgroup")]
    if loose and core.settings.limits.required:
        groups.discard(group)
        place = core.keeping.groups.place()
        refused = "; ".join(group.refused.values())
        raise LimitsUnavailable(
            limits=" and ".join(f"--{_OPTIONS[name]}" for name in loose),
            why=refused or place.why or "the control group could not be set up",
            advice="give another value" if refused else place.advice or "see 'bide doctor'",
        )
    return group


def new_id(core: Core) -> JobId:
    """Ids only ever rise, whatever the clock does, so that none is given twice."""
    job_id = make_id(time.time_ns() // 1_000_000, secrets.randbits(10))
    if job_id <= core.newest_id:
        job_id = id_after(core.newest_id)
    core.newest_id = job_id
    return job_id


@cache
def soft_files() -> int:
    """How many files a job may have open: as many as we could before we raised our own limit."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_file_limit() -> None:
    """Let the runtime hold many jobs; jobs themselves keep the limit that was."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft_files()
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def answer(core: Core, request: Request, live: Live | None, joined: Job | None) -> Ran:
    """What the request wants to know: that it runs, how it ended, or whether it is ready."""
    if live is not None and live.inserted is not None:
        await accepted(core, live.inserted)
        core.keeping.accepted(live)
    if request.background:
        if live is not None:
            await readiness.until(live, lambda: _is_settled(live), _START_SECONDS)
        job = _now(core, live, joined)
        if isinstance(job.phase, Ended) and job.phase.end.reason is Reason.SPAWN_FAILED:
            job = core.seen.mark(job)  # every door says so at once; of another end the answer says nothing
        waits = live is not None and (live.held or live.lacks_room)
        return Ran(job=core.with_facts(job) if waits else job, joined=joined is not None)
    deferred = False
    if live is not None:
        seconds = None if request.deadline is None else request.deadline.total_seconds()
        if request.service is None:
            await readiness.until(live, lambda: live.ended, seconds)
        else:
            with anyio.move_on_after(seconds):
                await readiness.ready_or_ended(live)
        deferred = not live.ended and (request.service is None or not readiness.is_ready(live))
    job = core.seen.mark(_now(core, live, joined))
    return Ran(
        job=core.with_facts(job),
        joined=joined is not None,
        deferred=deferred,
        out=tail(core, job, Stream.OUT, entering.shown_bytes(core, job)),
        err=tail(core, job, Stream.ERR, entering.shown_bytes(core, job)),
    )


def _is_settled(live: Live) -> bool:
    """Whether it runs, is over, or has to wait."""
    return live.held or live.lacks_room or not isinstance(live.job.phase, Queued)


async def accepted(core: Core, inserted: Future[Job]) -> None:
    """Return when the row is on disk."""
    try:
        await core.hub.settled(inserted)
    except OSError as error:
        raise _refusal(core, error) from error
    except DatabaseCorrupt:
        # The next index has it, since we hold it as active; wait until that is on disk.
        await core.renewal.over()
        await core.hub.settled(core.store.barrier())


def _now(core: Core, live: Live | None, joined: Job | None) -> Job:
    if live is not None:
        return live.job
    assert joined is not None  # noqa: S101 - one of the two is always there
    return core.find(joined.id)
