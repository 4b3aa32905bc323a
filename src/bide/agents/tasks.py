"""Coroutines of this program as jobs: each has a stand-in process, so that every door sees, waits for and kills it as any other."""

from __future__ import annotations

import json
import os
import secrets
import struct
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ByteStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec.structs import replace

from bide.api import Jobs
from bide.model.errors import BadRequest, BideError
from bide.model.job import JobId
from bide.model.limits import FALLBACK_MOST, job_limit_reached
from bide.model.phase import Queued
from bide.model.request import Request
from bide.model.results import Filter, Ran
from bide.model.task import NAME, Place

_FRAME = 1024 * 1024
_PATH_MAX = 100
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead)


class Channel:
    """What a coroutine that is a job has of it: its id, its output, its input."""

    def __init__(self, job: JobId, stream: ByteStream, heard: BufferedByteReceiveStream) -> None:
        """Over the stand-in's connection, and what was heard on it so far."""
        self.job = job
        self._stream = stream
        self._heard = heard
        self._sending = anyio.Lock()
        self._fill, self._input = anyio.create_memory_object_stream[bytes](float("inf"))

    async def write(self, text: str | bytes, *, error: bool = False) -> None:
        """Add to its output, or to its error output."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        for at in range(0, len(data), _FRAME):
            await self.send(b"e" if error else b"o", data[at : at + _FRAME])

    async def input(self) -> bytes:
        """What was sent to the job next; empty when no more will come."""
        try:
            return await self._input.receive()
        except anyio.EndOfStream:
            return b""

    async def send(self, kind: bytes, data: bytes = b"") -> None:
        """One frame to the stand-in; nothing if that is gone."""
        with suppress(*_GONE):
            async with self._sending:
                await self._stream.send(kind + struct.pack("!I", len(data)) + data)

    async def listen(self, cancel: Callable[[], None]) -> None:
        """Take what the stand-in says until it is gone; cancel when it is told to end, or is."""
        with suppress(*_GONE):
            while True:
                kind, data = await _frame(self._heard)
                if kind == b"i":
                    self._fill.send_nowait(data)
                elif kind == b"z":
                    self._fill.close()
                elif kind == b"t":
                    cancel()
        cancel()

    def close(self) -> None:
        """No more input."""
        self._fill.close()
        self._input.close()


async def _frame(stream: BufferedByteReceiveStream) -> tuple[bytes, bytes]:
    head = await stream.receive_exactly(5)
    (size,) = struct.unpack("!I", head[1:])
    return head[:1], await stream.receive_exactly(size) if size else b""


Work = Callable[[Channel], Awaitable[object]]


class Tasks:
    """The coroutines of this program that are jobs. They end with the program."""

    def __init__(self, jobs: Jobs, path: str, most: int | None) -> None:
        """With a socket that stand-ins find at `path`; at most so many run at once."""
        self._jobs = jobs
        self._path = path
        self._most = most
        self._closed = False
        self._waiting: dict[str, tuple[Work, anyio.Event]] = {}
        self._ids: dict[str, JobId] = {}
        self._active: set[str] = set()
        """Tokens of what runs or is about to. What is queued is not among them."""
        self.running: set[JobId] = set()

    async def run(self, work: Work, request: Request) -> Ran:
        """Start a coroutine as a job, as `Jobs.run` starts a command: the request's command is what people read of it.

        Raises BadRequest if as many run as may, or after the end of `open_tasks`.
        """
        token, named = secrets.token_hex(8), anyio.Event()
        await self._admit(token)
        self._waiting[token] = (work, named)
        shown = request.command if isinstance(request.command, str) else request.command[0]
        command = Place(self._path, token, shown).write()
        try:
            ran = await self._jobs.run(replace(request, command=command, language=NAME, background=True))
        except BaseException:
            del self._waiting[token]
            self._active.discard(token)
            raise
        if isinstance(ran.job.phase, Queued):
            self._active.discard(token)
        self._ids[token] = ran.job.id
        self.running.add(ran.job.id)
        named.set()
        if self._closed:  # meanwhile
            await self._abort(ran.job.id)
            raise _closed()
        return ran

    async def _admit(self, token: str) -> None:
        """Count a coroutine that is about to start. Raises BadRequest if it may not."""
        if self._closed:
            raise _closed()
        if self._is_full():
            await self._forget_ended()
        # Looked at once more: others may have been admitted while jobs were listed.
        if self._most is not None and self._is_full():
            raise job_limit_reached(self._most)
        self._active.add(token)

    def _is_full(self) -> bool:
        return self._most is not None and len(self._active) >= self._most

    async def _forget_ended(self) -> None:
        """Stop counting jobs that ended before their stand-ins connected: nothing else says so."""
        running = await self._jobs.list(Filter(kind=NAME, phase="running"), limit=500)
        live = {job.id for job in running.jobs}
        for token in self._active & self._ids.keys():
            if self._ids[token] not in live:
                self._active.discard(token)

    async def serve(self, stream: SocketStream) -> None:
        """One stand-in, from its first word to the end of the coroutine that it stands for."""
        async with stream:
            buffered = BufferedByteReceiveStream(stream)
            with suppress(*_GONE):
                _, token = await _frame(buffered)
                name = token.decode()
                found = self._waiting.pop(name, None)
                if found is not None:
                    await found[1].wait()
                    self._active.add(name)
                    try:
                        await self._work(found[0], Channel(self._ids.pop(name), stream, buffered))
                    finally:
                        self._active.discard(name)

    async def _work(self, work: Work, channel: Channel) -> None:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(channel.listen, group.cancel_scope.cancel)
                code = await _outcome(work, channel)
                await channel.send(b"x", str(code).encode())
                group.cancel_scope.cancel()
            if group.cancel_scope.cancelled_caught:
                await channel.send(b"x", b"143")
        finally:
            self.running.discard(channel.job)
            channel.close()

    async def end(self) -> None:
        """Refuse more, and abort what runs, verified: a coroutine cannot outlive its program."""
        self._closed = True
        async with anyio.create_task_group() as group:
            for job in list(self.running):
                group.start_soon(self._abort, job)

    async def _abort(self, job: JobId) -> None:
        with suppress(BideError):
            await self._jobs.kill(job, by="the end of its program")


def _closed() -> BadRequest:
    return BadRequest(detail="this manager of tasks is closed and starts no more; open another with open_tasks")


async def _outcome(work: Work, channel: Channel) -> int:
    """Run the coroutine; what it returns is its output, what it raises its error."""
    try:
        result = await work(channel)
    except Exception as error:  # noqa: BLE001 - what happens to a job is never an exception of ours
        await channel.write(f"{error or type(error).__name__}\n", error=True)
        return 1
    await channel.write(as_text(result))
    return 0


def as_text(result: object) -> str:
    """What a coroutine returned, as a model reads it."""
    if result is None:
        return ""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


@asynccontextmanager
async def open_tasks(jobs: Jobs, *, most: int | None = FALLBACK_MOST) -> AsyncGenerator[Tasks]:
    """Have coroutines be jobs while inside, of which at most so many run at once; at the end, what still runs is aborted."""
    raised: Exception | None = None
    with tempfile.TemporaryDirectory(prefix="bide-", dir=_folder()) as folder:
        path = os.path.join(folder, "tasks")
        async with await anyio.create_unix_listener(path, mode=0o600) as listener, anyio.create_task_group() as group:
            tasks = Tasks(jobs, path, most)
            group.start_soon(listener.serve, tasks.serve)
            try:
                yield tasks
            except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
                raised = error
            finally:
                with anyio.CancelScope(shield=True):
                    await tasks.end()
                group.cancel_scope.cancel()
    if raised is not None:
        raise raised


def _folder() -> str | None:
    """Where a socket's path is short enough for the kernel."""
    return None if len(tempfile.gettempdir()) < _PATH_MAX - 20 else "/tmp"  # noqa: S108 - made with mkdtemp
