"""Requests over the daemon's socket for asynchronous callers: a few kept connections, and another try when it died."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import UNIXSocketStream

from bide.client.http1 import Answer, error_of, request
from bide.client.start import ensure_daemon, try_connect
from bide.model.errors import DaemonUnavailable

if TYPE_CHECKING:
    from _socket import socket

    from bide.client.http1 import Json, Query

_TRIES = 5
_KEPT = 32
_RECEIVE = 256 * 1024
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError)


class _DaemonGone(Exception):
    """The connection ended before an answer came."""


class Transport:
    """Connections to the daemon of one home."""

    def __init__(self, home: str) -> None:
        """Connects when it is first used."""
        self._home = home
        self._idle: list[UNIXSocketStream] = []
        self._starting = anyio.Lock()

    async def call(
        self, method: str, path: str, body: Json | None = None, *, query: Query | None = None, again: bool = True
    ) -> Json:
        """A request and its JSON answer; raises the error it carries."""
        message = request(method, path, body, query)
        return (await self._ask(message, message if again else None)).json()

    async def call_once(self, path: str, first: Json, again: Json) -> Json:
        """A POST that says `again` where it may have been heard before."""
        return (await self._ask(request("POST", path, first), request("POST", path, again))).json()

    async def raw(self, method: str, path: str, *, query: Query | None = None) -> tuple[Mapping[str, str], bytes]:
        """A request and the headers and bytes of its answer."""
        message = request(method, path, None, query)
        answer = await self._ask(message, message)
        if answer.status >= 400:
            raise error_of(answer.json(), answer.status)
        return answer.headers, answer.take()

    async def _ask(self, message: bytes, again: bytes | None) -> Answer:
        for attempt in range(_TRIES):
            # What may be asked once only is not risked on a kept connection, which a restart may have closed.
            stream = await self._connection(kept=again is not None)
            try:
                return await self._exchange(stream, message if attempt == 0 else again or b"")
            except _DaemonGone as error:
                if again is None or attempt + 1 == _TRIES:
                    detail = "it ended before it answered, so it is not known whether this was done"
                    raise DaemonUnavailable(home=self._home, detail=detail) from error
        raise AssertionError

    async def _exchange(self, stream: UNIXSocketStream, message: bytes) -> Answer:
        answer = Answer()
        try:
            await stream.send(message)
            while not answer.complete:
                answer.feed(await stream.receive(_RECEIVE))
        except _GONE as error:
            await stream.aclose()
            raise _DaemonGone from error
        except BaseException:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
            raise
        if answer.keeps_alive and len(self._idle) < _KEPT:
            self._idle.append(stream)
        else:
            await stream.aclose()
        return answer

    async def _connection(self, *, kept: bool) -> UNIXSocketStream:
        if kept and self._idle:
            return self._idle.pop()
        sock = try_connect(self._home) or await self._start()
        return await UNIXSocketStream.from_socket(sock.detach())

    async def _start(self) -> socket:
        """A connection to a daemon that was not there; callers at the same time start one together."""
        async with self._starting:
            sock = try_connect(self._home)
            if sock is None:
                await anyio.to_thread.run_sync(ensure_daemon, self._home)
                sock = try_connect(self._home)
        if sock is None:
            raise DaemonUnavailable(home=self._home, detail="it ended as soon as it was started")
        return sock

    async def aclose(self) -> None:
        """Close what was kept."""
        with anyio.CancelScope(shield=True):
            for stream in self._idle:
                await stream.aclose()
        self._idle.clear()
