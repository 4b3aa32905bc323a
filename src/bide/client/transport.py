"""Requests over the daemon's socket for asynchronous callers: a few kept connections, and another try when it died."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bide.client.blocking import peer
from bide.client.http1 import Answer, error_of, request
from bide.client.patience import Gone, Patience
from bide.client.start import ensure_daemon, try_connect
from bide.model import jsontext
from bide.model.errors import DaemonUnavailable

if TYPE_CHECKING:
    from _socket import socket

    from bide.client.http1 import Json, Query

_KEPT = 32
_RECEIVE = 64 * 1024
"""More would be mapped and unmapped for every answer."""
ASKER: ContextVar[str] = ContextVar("asker", default="")
"""Whose answers these are, where that is not said by the environment."""


class _Line:
    """One connection: the bare socket, because a stream costs more than the rest of a call together."""

    def __init__(self, sock: socket) -> None:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        self._sock = sock
        self._fd = sock.fileno()

    async def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._sock.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._fd)
            except BrokenPipeError:
                return  # what it said before it hung up, if anything, is there to read

    async def receive(self) -> bytes:
        while True:
            # An answer takes at least as long as a process, so look only once there is something to see.
            await anyio.wait_readable(self._fd)
            try:
                data = self._sock.recv(_RECEIVE)
            except BlockingIOError:
                continue
            if not data:
                raise ConnectionResetError
            return data

    @property
    def daemon(self) -> int:
        return peer(self._sock)

    def close(self) -> None:
        self._sock.close()


class Streamed:
    """An answer that goes on for as long as the connection lasts."""

    def __init__(self, line: _Line, answer: Answer) -> None:
        """Made by `Transport.stream`."""
        self._line = line
        self._answer = answer

    async def more(self) -> bytes:
        """The next bytes; none when the other side is gone."""
        if begun := self._answer.take():
            return begun
        try:
            return await self._line.receive()
        except OSError:
            return b""

    async def over(self) -> None:
        """Return when the other side is gone."""
        while await self.more():
            pass

    def close(self) -> None:
        """Want no more of it."""
        self._line.close()


class Transport:
    """Connections to the daemon of one home."""

    def __init__(self, home: str) -> None:
        """Connects when it is first used."""
        self.home = home
        self._idle: list[_Line] = []
        self._starting = anyio.Lock()

    async def call(
        self, method: str, path: str, body: Json | None = None, *, query: Query | None = None, again: bool = True
    ) -> Json:
        """A request and its JSON answer; raises the error it carries."""
        message = _message(method, path, body, query)
        return (await self._ask(message, (lambda: message) if again else None)).json(jsontext.decode)

    async def call_once(self, path: str, first: Json, again: Json) -> Json:
        """A POST that says `again` where it may have been heard before."""
        return (await self._ask(_message("POST", path, first), lambda: _message("POST", path, again))).json(
            jsontext.decode
        )

    async def raw(self, method: str, path: str, *, query: Query | None = None) -> tuple[Mapping[str, str], bytes]:
        """A request and the headers and bytes of its answer."""
        message = _message(method, path, None, query)
        answer = await self._ask(message, lambda: message)
        if answer.status >= 400:
            raise error_of(answer.json(), answer.status)
        return answer.headers, answer.take()

    async def stream(self, path: str, *, query: Query | None = None) -> Streamed:
        """A request whose answer goes on for as long as the connection lasts; raises the error it carries."""
        line = await self._connection(kept=False)
        try:
            await line.send(_message("GET", path, None, query))
            answer = Answer()
            while not (answer.complete or (answer.has_head and answer.length is None)):
                answer.feed(await line.receive())
        except ConnectionError as error:
            line.close()
            raise DaemonUnavailable(home=self.home, detail="it ended before it answered") from error
        except BaseException:
            line.close()
            raise
        if answer.length is not None:
            line.close()
            raise error_of(answer.json(), answer.status)
        return Streamed(line, answer)

    async def _ask(self, message: bytes, again: Callable[[], bytes] | None) -> Answer:
        patience = Patience(self.home)
        while True:
            try:
                # What may be asked once only is not risked on a kept connection, which a restart may have closed.
                line = await self._connection(kept=again is not None)
                return await self._exchange(line, message)
            except Gone as gone:
                self.close()  # the other connections to that daemon are no better
                if again is None:
                    detail = "it ended before it answered, so it is not known whether this was done"
                    raise DaemonUnavailable(home=self.home, detail=detail) from gone
                message = again()
                await anyio.sleep(patience.pause(gone))
            except DaemonUnavailable as error:
                await anyio.sleep(patience.pause(error))

    async def _exchange(self, line: _Line, message: bytes) -> Answer:
        answer = Answer()
        try:
            await line.send(message)
            while not answer.complete:
                answer.feed(await line.receive())
        except ConnectionError as error:
            daemon = line.daemon
            line.close()
            raise Gone(str(error), daemon) from error
        except BaseException:
            line.close()
            raise
        if answer.keeps_alive and len(self._idle) < _KEPT:
            self._idle.append(line)
        else:
            line.close()
        return answer

    async def _connection(self, *, kept: bool) -> _Line:
        if kept and self._idle:
            return self._idle.pop()
        sock = try_connect(self.home) or await self._start()
        return _Line(sock)

    async def _start(self) -> socket:
        """A connection to a daemon that was not there; callers at the same time start one together."""
        async with self._starting:
            sock = try_connect(self.home)
            if sock is None:
                await anyio.to_thread.run_sync(ensure_daemon, self.home)
                sock = try_connect(self.home)
        if sock is None:
            raise DaemonUnavailable(home=self.home, detail="it ended as soon as it was started")
        return sock

    def close(self) -> None:
        """Close what was kept."""
        for line in self._idle:
            line.close()
        self._idle.clear()


def _message(method: str, path: str, body: Json | None = None, query: Query | None = None) -> bytes:
    return request(method, path, None if body is None else jsontext.encode(body), query, ASKER.get())
