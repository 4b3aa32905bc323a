"""Start and end of the daemon process: lock, log, sockets, signals."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import anyio

from bide import config, stalls
from bide.api import Filter, Killed
from bide.client.start import MCP_SOCKET, SOCKET
from bide.daemon.mcpdoor import McpSocket
from bide.daemon.sockets import SocketGuard
from bide.daemon.views import Views
from bide.daemon.webdoor import WebDoor
from bide.gate import Gate, Limits
from bide.keeper import launch
from bide.model.errors import BideError, HomeBusy, InternalError, of_os_error
from bide.model.times import stamp
from bide.runtime.core import now
from bide.runtime.local import LocalJobs, open_jobs
from bide.runtime.notes import SOCKET as NOTES_SOCKET
from bide.version import VERSION
from bide.web.http import App, serving
from bide.web.routes import EndedJobs, Routes

log = logging.getLogger(__name__)

_LOG_BYTES = 2 * 1024 * 1024
_BACKLOG = 512
_LIMITS = Limits(most=10_000, asks_within=30)
"""Only our own user can connect, whose requests may be large and whose programs may keep connections."""
_PATIENCE = 30.0
_DRAIN_SECONDS = 3.0
"""How long sinks have to accept the ends of jobs that end with the daemon."""
_GC_EVERY = 20_000
_LOOK_AGAIN = 0.02
_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of mallopt(3)."""
_LARGE = 128 * 1024


def main() -> None:
    """Serve a home until told to stop. Says on stdout, once, whether it is ready or why not."""
    home = config.home(_home_asked_for(sys.argv[1:]))
    os.umask(0o077)
    os.chdir("/")
    _give_memory_back()
    try:
        _serve_or_defer(home)
    except BideError as error:
        _say({"error": error.to_json()})
        sys.exit(1)
    except OSError as error:
        known = of_os_error(error, home)
        if known is None:
            log.exception("the daemon failed")
        _say({"error": (known or InternalError(detail=str(error))).to_json()})
        sys.exit(1)
    except Exception as error:
        log.exception("the daemon failed")
        _say({"error": InternalError(detail=str(error) or type(error).__name__).to_json()})
        sys.exit(1)


def _home_asked_for(words: list[str]) -> str | None:
    match words:
        case []:
            return None
        case ["--home", home]:
            return home
        case _:
            sys.exit("usage: python -m bide.daemon [--home DIR]")


def _serve_or_defer(home: str) -> None:
    """Serve the home, or leave it to the daemon that does: also if that one is only coming, or just going."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return anyio.run(_serve, home, backend_options={"loop_factory": stalls.measured_loop})
        except HomeBusy as busy:
            pid = anyio.run(serving_pid, busy)
            if pid is not None:
                return _say({"ready": True, "pid": pid})
            if time.monotonic() > deadline:
                raise


async def serving_pid(busy: HomeBusy) -> int | None:
    """The daemon that has a home, once it takes connections; `None` once it is gone. Raises `busy` for another program."""
    home = busy.facts["home"]
    with anyio.move_on_after(_PATIENCE):
        # Who has the lock writes its pid a moment later; until then it is that of somebody who is gone.
        while (words := _command_line(pid := _lock_words(home))) is not None:
            if b"bide.daemon" not in words:
                raise busy
            if await _accepts(home):
                return int(pid)
            await anyio.sleep(_LOOK_AGAIN)
    await anyio.sleep(_LOOK_AGAIN)
    return None


def _lock_words(home: str) -> bytes:
    with open(os.path.join(home, "lock"), "rb") as file:
        return file.read().strip()


async def _accepts(home: str) -> bool:
    folder = os.open(home, os.O_PATH | os.O_DIRECTORY)
    try:
        await (await anyio.connect_unix(f"/proc/self/fd/{folder}/{SOCKET}")).aclose()
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def _command_line(pid: bytes) -> list[bytes] | None:
    """The words of a running process; `None` if there is none of this pid, or only what nobody has collected of it."""
    try:
        with open(f"/proc/{int(pid)}/cmdline", "rb") as file:
            words = file.read()
    except (OSError, ValueError):
        return None
    return words.split(b"\0") if words else None


def _say(value: dict[str, Any]) -> None:
    """The one line for whoever started us; then stdout is let go, so that nobody waits on it."""
    try:
        os.write(1, json.dumps(value).encode() + b"\n")
    except OSError:
        return
    finally:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.close(null)


def _log_to(home: str) -> None:
    path = os.path.join(home, "daemon.log")
    # Opened with the first line: a full disk may have no room for the file, and must not keep the daemon from starting.
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    logging.raiseExceptions = False  # a line that finds no room is lost, and no reason for a traceback
    logging.basicConfig(
        level=logging.INFO,
        handlers=[handler],
        format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)


def _give_memory_back() -> None:
    """Have large pieces of memory go back as soon as they are free: by default glibc keeps them once there was one."""
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


async def _serve(home: str) -> None:
    async with open_jobs(home, reaper=True) as jobs:
        _log_to(home)
        guard = SocketGuard(jobs.core.home, jobs.core.hub)
        with contextlib.closing(guard), anyio.CancelScope() as scope, listening(jobs, MCP_SOCKET) as mcp:
            guard.guard(NOTES_SOCKET, jobs.core.keeping.renew_notes)
            async with answering(jobs, scope.cancel) as gate, anyio.create_task_group() as group:
                guard.guard(SOCKET, lambda: gate.renew(listening(jobs, SOCKET)))
                group.start_soon(serve_mcp, jobs, mcp, guard)
                log.info("serving %s, version %s, %d jobs taken up", home, VERSION, len(jobs.core.keeping.table.live))
                _say({"ready": True, "pid": os.getpid()})
                gc.freeze()
                gc.set_threshold(_GC_EVERY)
                gc.enable()
                stalls.METER.reset()
                await _obey_signals(jobs)
                group.cancel_scope.cancel()
        log.info("stopped")


@contextlib.asynccontextmanager
async def answering(jobs: LocalJobs, stop: Callable[[], None]) -> AsyncGenerator[Gate]:
    """Answer on the home's socket; `stop` is for who asks us to."""
    started_at, home = now(), jobs.core.home

    def info() -> dict[str, Any]:
        phases = [live.job.phase_name for live in jobs.core.keeping.table.live.values()]
        return {
            "pid": os.getpid(),
            "home": home.path,
            "socket": os.path.join(home.path, SOCKET),
            "version": VERSION,
            "started_at": stamp(started_at),
            "running": phases.count("running"),
            "queued": phases.count("queued"),
            "python": sys.version.split()[0],
            "keeper": launch.KEEPER,
            "stalls": stalls.METER.to_json(),
        }

    async with WebDoor(jobs) as web:
        views = Views(jobs)

        def limits() -> dict[str, Any]:
            return jobs.core.keeping.groups.place().to_json()

        routes = Routes(
            jobs,
            jobs,
            info=info,
            limits=limits,
            end_jobs=lambda: _kill_all(jobs),
            stop=stop,
            web=web.address,
        )

        def door(peer: socket.socket) -> App | None:
            view = views.of(peer)
            if view is None or view.rights is None:
                return view and routes
            rights = view.rights

            async def refused() -> Any:
                raise rights.refused("this concerns the jobs of all owners")

            return Routes(view.jobs, view.upkeep, info=info, limits=limits, end_jobs=refused, stop=stop, web=refused)

        async with serving(listening(jobs, SOCKET), SOCKET, door, _LIMITS) as gate:
            yield gate


def listening(jobs: LocalJobs, name: str) -> socket.socket:
    """A socket of the home that takes connections."""
    sock = jobs.core.home.bind(name, socket.SOCK_STREAM)
    sock.listen(_BACKLOG)
    return sock


async def serve_mcp(jobs: LocalJobs, sock: socket.socket, guard: SocketGuard) -> None:
    """Serve MCP clients that come to this socket, and over HTTP if that is set."""
    async with anyio.create_task_group() as group:
        door = McpSocket(Views(jobs), jobs.core.settings, group)
        if (port := jobs.core.settings.mcp.port) is not None:
            group.start_soon(door.serve_http, jobs.core.home.path, port)
        await door.serve(sock, lambda gate: guard.guard(MCP_SOCKET, lambda: gate.renew(listening(jobs, MCP_SOCKET))))


async def _obey_signals(jobs: LocalJobs) -> None:
    """Returns when told to stop."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD) as signals:
        async for number in signals:
            if number in (signal.SIGTERM, signal.SIGINT):
                log.info("told to stop by signal %d; jobs go on", number)
                return
            if number == signal.SIGCHLD:
                jobs.core.keeping.reap_orphans()
                jobs.core.keeping.retry()


async def _active(jobs: LocalJobs) -> AsyncIterator[str]:
    for phase in ("running", "queued"):
        before = None
        while True:
            page = await jobs.list(Filter(phase=phase), limit=500, before=before)
            for job in page.jobs:
                yield job.id
            if (before := page.next) is None:
                break


async def _kill_all(jobs: LocalJobs) -> EndedJobs:
    """Kill every active job and have the sinks told; return those of which something is left, and what sinks were not told."""
    jobs.core.queue.close()
    left: list[Killed] = []

    async def kill(job: str) -> None:
        try:
            killed = await jobs.kill(job, grace=timedelta(seconds=5), by="daemon stop --kill")
        except BideError as error:
            log.warning("%s could not be killed: %s", job, error)
        else:
            if not killed.verified_empty:
                left.append(killed)

    ids = [job async for job in _active(jobs)]
    async with anyio.create_task_group() as group:
        for job in ids:
            group.start_soon(kill, job)
    return EndedJobs(left, await jobs.outbox.drain(_DRAIN_SECONDS))
