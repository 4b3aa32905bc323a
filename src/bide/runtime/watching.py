"""A service is watched from its start until it is ready or over; that it is ready is put on record in its folder.

A port and a URL tell nobody, so they are tried again; a command is tried in a job of its own, which outlives the daemon.
"""

from __future__ import annotations

import logging
import signal
from datetime import timedelta

import anyio

from bide.keeper import ports, services
from bide.keeper.folder import MARKER
from bide.model.errors import BadRequest
from bide.model.job import Job, Spec
from bide.model.phase import Ended, Queued
from bide.model.service import Service
from bide.model.until import Until
from bide.model.waiting import Mode
from bide.runtime import again, ending, starting, waiting
from bide.runtime.core import Core, now
from bide.runtime.live import Live
from bide.runtime.readiness import until

log = logging.getLogger(__name__)

_PROBE = 'command=$1; set -- 0.1 0.2 0.5 1; until (eval "$command"); do sleep "$1"; [ $# -eq 1 ] || shift; done'


def watch(core: Core, live: Live) -> None:
    """See to it that the folder says so as soon as the service is ready."""
    core.spawn(lambda: _watch(core, live))


async def _watch(core: Core, live: Live) -> None:
    service = live.job.spec.service
    if live.inserted is not None:
        # Its output is looked for where its folder is once its row is on disk.
        await starting.accepted(core, live.inserted)
        core.keeping.accepted(live)
    await until(live, lambda: not isinstance(live.job.phase, Queued))
    if service is None or live.ended or services.read_ready(live.path) is not None:
        return
    async with anyio.create_task_group() as group:

        async def end() -> None:
            await until(live, lambda: live.ended)
            group.cancel_scope.cancel()

        group.start_soon(end)
        await _condition(core, live, service)
        if not live.ended:
            services.write_ready(live.path, now())
            log.info("%s (%s) is ready", live.job.id, live.job.name)
            live.changed.ring()
            for told in core.keeping.on_ready:
                told(live)
        group.cancel_scope.cancel()


async def _condition(core: Core, live: Live, service: Service) -> None:
    """Return when it is ready."""
    ready = service.ready
    if ready.log is not None:
        await _line(core, live, ready.log)
    elif (port := ready.port) is not None:
        await waiting.tried(lambda: _accepts(live, port), service.ready_timeout)
    elif (url := ready.http) is not None:
        await waiting.tried(lambda: waiting.answers(url), service.ready_timeout)
    elif service.ready_command is not None:
        await _command(core, live, service.ready_command)


async def _line(core: Core, live: Live, log_line: str) -> None:
    """Return when a line of its output matches; never, if that cannot be told."""
    try:
        await waiting.wait(core, [live.job.id], Mode.ALL, Until(log=log_line), None)
    except BadRequest as error:
        # It was accepted by an earlier version, or a line of the output is too long for it.
        log.warning("nobody can tell whether %s is ready: %s", live.job.id, error)
        await anyio.sleep_forever()


async def _accepts(live: Live, port: int) -> bool:
    """Whether the port accepts, and not because another job has it."""
    if not await waiting.accepts(port):
        return False
    holder = ports.holder(port)
    return not holder or ports.marks(holder).get(MARKER) in (None, live.job.id)


async def _command(core: Core, live: Live, command: str) -> None:
    """Try it in a job of its own, with the service's folder and environment, until it exits with 0."""
    probe = _probe(core, live, command)
    try:
        await until(probe, lambda: probe.ended)
    finally:
        # Also when the service is over; when it is the runtime that ends, the probe goes on and is found by the next.
        if live.ended and not probe.ended:
            with anyio.CancelScope(shield=True):
                await ending.kill(core, probe.job.id, signal.SIGKILL, timedelta(0), "the end of the service")
    phase = probe.job.phase
    if not (isinstance(phase, Ended) and phase.end.success):
        log.warning("what should tell whether %s is ready ended without saying so: %s", live.job.id, probe.job.id)
        await anyio.sleep_forever()


def _probe(core: Core, live: Live, command: str) -> Live:
    service, key = live.job, f"ready of {live.job.id}"
    held = core.keeping.table.with_key(service.owner, key)
    if held is not None:
        return held
    earlier = core.store.by_key(service.owner, key)
    if earlier is not None:
        return Live(job=earlier, path=core.home.job(earlier.id))
    argv = ("/bin/sh", "-c", _PROBE, "ready", command)
    spec = Spec(argv=argv, command=command, cwd=service.spec.cwd, background=True, fence=service.spec.fence)
    job = Job(
        id=starting.id_like(core, service),
        spec=spec,
        created_at=now(),
        owner=service.owner,
        label=f"ready of {service.name}",
        session=service.session,
        parent=service.id,
        key=key,
    )
    return starting.admit(core, *again.prepared(core, job, live.path), unqueued=True)
