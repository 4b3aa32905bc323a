"""A command that was started: its lines as they come, its end, and what it wrote."""

import json
import time

from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Lock
    from collections.abc import AsyncIterator, Generator, Iterator

    from .wire import Json

_EVENT, _OUT, _ERR = 0, 1, 2
_HEAD = 5


class CommandFailed(RuntimeError):
    """A command ended without success, and `check` was asked for; `result` has the rest."""

    def __init__(self, result: "Result") -> None:
        """With the end of what it wrote to stderr."""
        said = result.stderr.strip()[-2000:]
        super().__init__(f"{result.command} failed with {result.code} ({result.reason}){': ' if said else ''}{said}")
        self.result = result


class Result:
    """How a command ended. A code other than 0 is a result, not an exception; `check` makes it one."""

    def __init__(self, job: "Json", out: bytes, err: bytes, *, complete: bool) -> None:
        """From the ended job."""
        self.id: str = job["id"]
        self.command: str = job["command"]
        self.pid: int | None = job["pid"]
        self.code: int = job["status"]
        """The exit code; 128+n after signal n, 127 if there is no such command."""
        self.reason: str = job["reason"]
        self.success: bool = job["reason"] == "exited" and job["exit_code"] == 0
        self.error: str | None = job["error"]
        self.duration: float = (job["duration_ms"] or 0) / 1000
        """In seconds."""
        self.complete = complete
        """False if its oldest output was dropped (see --output-cap) before it was read."""
        self.stdout_bytes = out
        self.stderr_bytes = err
        if self.reason == "spawn_failed" and self.error and not err:
            self.stderr_bytes = self.error.encode() + b"\n"

    @property
    def stdout(self) -> str:
        """What it wrote, as text."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """What it wrote to stderr, as text; of a command that could not be started, why."""
        return self.stderr_bytes.decode("utf-8", "replace")

    def check(self) -> "Result":
        """This result, if it is a success. Raises CommandFailed."""
        if not self.success:
            raise CommandFailed(self)
        return self

    def __repr__(self) -> str:
        return f"<{self.id} {self.command!r}: {self.reason} {self.code}>"


class Running:
    """A job. It goes on whatever becomes of whoever waits for it; `kill` ends it."""

    def __init__(self, job: "Json", *, keep: bool, source: "Running | None" = None) -> None:
        """With `keep`, lines that were gone over are in the result as well."""
        self.id: str = job["id"]
        self.pid: int | None = job["pid"]
        self.source = source
        """What is piped into it."""
        self.fault: Exception | None = None
        """Why a pipe into it broke."""
        self._keep = keep
        self._end = job if job["reason"] == "spawn_failed" else None
        self._answer: wire.Answer | None = None
        self._frames = b""
        self._seen = {_OUT: 0, _ERR: 0}
        self._bytes = {_OUT: bytearray(), _ERR: bytearray()}
        self._complete = True
        self._given = 0
        self._lost_since = 0.0
        self._lock: Lock | None = None

    def __repr__(self) -> str:
        return f"<{self.id}: {'ended' if self._end else 'running'}>"

    def result(self) -> Result:
        """Wait for its end."""
        while self._end is None:
            self._more()
        return self._result(self._end)

    def __await__(self) -> "Generator[object, None, Result]":
        return self._awaited().__await__()

    async def _awaited(self) -> Result:
        while self._end is None:
            await self._more_later()
        return self._result(self._end)

    def __iter__(self) -> "Iterator[str]":
        """Lines of its stdout, as they come, without their newlines."""
        while True:
            line = self._line()
            if line is not None:
                yield line
            elif self._end is not None:
                return
            else:
                self._more()

    async def __aiter__(self) -> "AsyncIterator[str]":
        """The same, while other tasks go on."""
        while True:
            line = self._line()
            if line is not None:
                yield line
            elif self._end is not None:
                return
            else:
                await self._more_later()

    def kill(self, signal: int = 15, grace: float = 5.0) -> None:
        """End it with its whole tree, and return when nothing of it is left."""
        body = {"signal": int(signal), "grace_ms": round(grace * 1000), "by": "cmd"}
        wire.call("POST", f"/v1/jobs/{self.id}/kill", body)

    def _result(self, end: "Json") -> Result:
        if self.fault is not None:
            raise self.fault
        return Result(end, bytes(self._bytes[_OUT]), bytes(self._bytes[_ERR]), complete=self._complete)

    def _line(self) -> "str | None":
        """The next whole line; at the end also what is left."""
        out = self._bytes[_OUT]
        end = out.find(b"\n", self._given)
        if end < 0 and (self._end is None or self._given >= len(out)):
            return None
        line = bytes(out[self._given : end if end >= 0 else len(out)])
        self._given = end + 1 if end >= 0 else len(out)
        if not self._keep:
            del out[: self._given]
            self._given = 0
        return line.decode("utf-8", "replace")

    def _more(self) -> None:
        """Wait for more of its output, or for its end; where a daemon died, from the next one."""
        try:
            if self._answer is None:
                self._follow()
            else:
                self._take(self._answer.read())
        except wire.Gone as gone:
            time.sleep(self._lost(gone))

    async def _more_later(self) -> None:
        """The same without stopping other tasks; of several that wait, one reads for all."""
        import asyncio  # noqa: PLC0415 - whoever awaits has it already

        if self._lock is None:
            self._lock = asyncio.Lock()
        before = dict(self._seen)
        async with self._lock:
            if self._end is not None or before != self._seen:
                return
            try:
                if self._answer is None:
                    self._follow()
                else:
                    await _readable(self._answer.fileno())
                    self._take(self._answer.read())
            except wire.Gone as gone:
                await asyncio.sleep(self._lost(gone))

    def _follow(self) -> None:
        """Ask for what comes after the last byte seen. Raises Gone."""
        answer = wire.Answer("GET", f"/v1/jobs/{self.id}/follow?out={self._seen[_OUT]}&err={self._seen[_ERR]}")
        if answer.status >= 400:
            raise answer.error(answer.whole())
        self._answer, self._frames, self._lost_since = answer, b"", 0.0
        self._take(answer.buffer)

    def _lost(self, gone: wire.Gone) -> float:
        """The daemon died: how long to wait before the next is asked."""
        self._answer = None
        self._lost_since = self._lost_since or time.monotonic()
        return wire.revive(self._lost_since, gone)

    def _take(self, data: bytes) -> None:
        """Frames: a byte of type, four of length, the rest."""
        self._frames += data
        while len(self._frames) >= _HEAD:
            end = _HEAD + int.from_bytes(self._frames[1:_HEAD], "big")
            if len(self._frames) < end:
                return
            kind, payload, self._frames = self._frames[0], self._frames[_HEAD:end], self._frames[end:]
            if kind == _EVENT:
                self._hear(json.loads(payload))
            else:
                self._seen[kind] += len(payload)
                if kind == _OUT or self._keep:
                    self._bytes[kind] += payload

    def _hear(self, event: "Json") -> None:
        if event["event"] == "ended":
            self._end = event["job"]
            if self._answer is not None:
                self._answer.close()
        elif event["event"] == "job":
            self.pid = event["job"]["pid"] or self.pid
        elif event["event"] == "dropped":
            self._seen[_OUT if event["stream"] == "out" else _ERR] = event["to"]
            self._complete = False


async def _readable(fd: int) -> None:
    import asyncio  # noqa: PLC0415 - likewise

    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(fd, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(fd)
