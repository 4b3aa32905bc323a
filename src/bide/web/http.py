"""HTTP/1.1 on a connection: requests parsed by httptools, answers written by hand. Knows nothing of jobs.

A protocol of the event loop rather than a stream: three times less work per request, see docs/decisions/005-anyio.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from urllib.parse import parse_qsl, unquote

import anyio
import httptools

from bide.gate import Gate, Guest, Limits, admitting
from bide.model import jsontext
from bide.model.errors import TooManyConnections
from bide.web.bodies import Bodies
from bide.web.heads import head, whole
from bide.web.request import HttpRequest, PeerGone, has_left
from bide.web.room import SEARCHES, SMALL, Place, Room

log = logging.getLogger(__name__)

BODY_MAX = 8 * 1024 * 1024
HEAD_MAX = 64 * 1024
_FIELDS_MAX = 100
_RECEIVE = 64 * 1024
"""What arrives is read into one buffer per server and parsed at once: one made for each read costs more than reading."""


class Reply:
    """The answer to one request: whole, or streamed until the connection ends."""

    def __init__(self, connection: Connection) -> None:
        """Nothing is sent yet."""
        self._connection = connection
        self.started = False
        self.streamed = False

    async def send(
        self,
        body: bytes,
        *,
        status: int = 200,
        kind: str = "application/json",
        headers: Mapping[str, object] | None = None,
    ) -> None:
        """Send a whole answer."""
        self.started = True
        begins = head(status, kind, {"Content-Length": len(body), **(headers or {})})
        if len(body) <= SMALL:
            await self._connection.write(begins + body)
            return
        async with self.room(len(body)):
            # In pieces: what the peer does not read is not copied into the buffers of its connection.
            await self._connection.write(begins)
            for at in range(0, len(body), SMALL):
                await self._connection.write(memoryview(body)[at : at + SMALL])

    def has_room(self, size: int) -> bool:
        """Return whether an answer of this size can be sent at once."""
        return self._connection.has_room(size)

    def room(self, size: int) -> AbstractAsyncContextManager[None]:
        """Have room for an answer of this size while inside; others may have to be sent before."""
        return self._connection.room(size)

    def search(self) -> AbstractAsyncContextManager[None]:
        """Have one of the places for searches while inside, until what was found is sent."""
        return self._connection.search()

    async def json(self, value: object, *, status: int = 200) -> None:
        """Send a JSON answer."""
        await self.send(jsontext.encode(value), status=status)

    async def stream(self, kind: str) -> Callable[[bytes], Awaitable[None]]:
        """Begin an answer that ends with the connection; returns how to send its parts."""
        self.started = self.streamed = True
        await self._connection.write(head(200, kind, {"Connection": "close", "Cache-Control": "no-store"}))
        return self._connection.write


App = Callable[[HttpRequest, Reply], Awaitable[None]]
Door = Callable[[socket.socket], App | None]
"""Looks at who connected: what answers its requests, or None for somebody who is sent away."""


class Connection(asyncio.BufferedProtocol):
    """Answers the requests of one connection in turn. If the peer goes away, the call in progress is cancelled."""

    def __init__(
        self,
        app: App,
        guest: Guest,
        peers: set[Connection],
        bytes_max: int,
        arriving: memoryview,
        room: Room,
        searches: Room,
        bodies: Bodies,
    ) -> None:
        """While connected, it is one of the peers. So much it may have us hold."""
        self._app = app
        self._guest = guest
        guest.drop = self.drop
        self._peers = peers
        self._dropped = False
        self._bytes_max = bytes_max
        self._arriving = arriving
        self._room = room
        self._searches = searches
        self._bodies = bodies
        self._place: Place | None = None
        self._search: Place | None = None
        self._held = 0
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[HttpRequest] = deque()
        self._request = HttpRequest()
        self._url = b""
        self._head_size = 0
        self._transport: asyncio.Transport | None = None
        self._made: asyncio.Transport | None = None
        """The same, also while it is being closed."""
        self._fault = ""
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connected."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream socket has no other
        if self._dropped:
            transport.abort()
            return
        self._transport = self._made = transport
        self._peers.add(self)

    def drop(self) -> None:
        """Close the connection at once."""
        self._dropped = True
        if self._made is not None:
            self._made.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's own signature
        """Nobody is there any more."""
        self._transport = None
        self._waiting.clear()
        self._request.body.clear()
        self._bodies.hold(self._give_way, 0)
        self._peers.discard(self)
        self._guest.left()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    async def end(self) -> None:
        """Hang up: the call in progress is cancelled, what was already said is still sent."""
        task = self._task
        if self._transport is not None:
            self._transport.close()
        self.connection_lost(None)
        if task is not None:
            await asyncio.wait([task])

    def pause_writing(self) -> None:
        """The peer reads more slowly than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._writable.set()

    async def write(self, data: bytes | memoryview) -> None:
        """Send bytes, no faster than the peer reads. Raises PeerGone."""
        if self._transport is None:
            raise PeerGone
        self._moved()
        self._transport.write(data)
        if not self._writable.is_set():
            await self._writable.wait()
        self._moved()

    def _moved(self) -> None:
        for place in (self._place, self._search):
            if place is not None:
                place.moved()

    def has_room(self, size: int) -> bool:
        """Return whether there is room for an answer of this size at once."""
        return size <= SMALL or self._room.is_free(size)

    def room(self, size: int) -> AbstractAsyncContextManager[None]:
        """Have room for an answer of this size while inside. A part of an answer has the room of the whole."""
        return contextlib.nullcontext() if size <= SMALL or self._place is not None else self._in_room(size)

    @contextlib.asynccontextmanager
    async def _in_room(self, size: int) -> AsyncGenerator[None]:
        async with self._room.of(size, self.drop) as place:
            self._place = place
            try:
                yield
            finally:
                self._place = None

    @contextlib.asynccontextmanager
    async def search(self) -> AsyncGenerator[None]:
        """Have a place for a search while inside. Whoever reads nothing of what it found is hung up on when others wait."""
        async with self._searches.of(1, self.drop) as place:
            place.rests()
            self._search = place
            try:
                yield
            finally:
                self._search = None

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop's own signature
        """Where the next bytes go."""
        return self._arriving

    def buffer_updated(self, nbytes: int) -> None:
        """Take bytes; what they complete is answered in turn."""
        self._held += nbytes
        if self._held > self._bytes_max:
            self._request.body.clear()
            self._refuse(413, f"the request is larger than {self._bytes_max} bytes")
            return
        try:
            self._parser.feed_data(self._arriving[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            what = "this is not HTTP/1.1, or asks for something else (Upgrade, CONNECT), which is not to be had here"
            self._refuse(400, self._fault or what)
            return
        self._go_on()
        self._hold()

    def _hold(self) -> None:
        """Note what is held of requests that are not answered yet. An answer lets go of its request by itself."""
        waiting = len(self._request.body) + sum(len(request.body) for request in self._waiting)
        self._bodies.hold(self._give_way, waiting)

    def _give_way(self) -> None:
        self._waiting.clear()
        self._request.body.clear()
        if self._task is not None:
            self.drop()
        elif self._transport is not None:
            self._transport.write(self._bodies.refusal)
            self._transport.close()
            self._transport = None

    def on_message_begin(self) -> None:
        """The parser begins a request."""
        self._request = HttpRequest()
        self._url = b""
        self._head_size = 0
        if self._task is None:
            self._guest.asks()

    def on_url(self, url: bytes) -> None:
        """The parser has a piece of the target."""
        if self._fits_head(len(url)):
            self._url += url

    def _fits_head(self, size: int) -> bool:
        """What is too large is not kept, and told when all of it has come: who is still sending would not hear it."""
        self._head_size += size
        if self._head_size > HEAD_MAX:
            self._drop_request(size, f"the target and the headers of a request have at most {HEAD_MAX} bytes together")
        return self._head_size <= HEAD_MAX

    def _drop_request(self, size: int, fault: str, status: int = 400) -> None:
        self._held -= size
        self._request.fault, self._request.status = fault, status

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parser has a header. What is given twice is a list, but a request has one Host."""
        headers, name = self._request.headers, name.lower()
        if not self._fits_head(len(name) + len(value) + len(b": \r\n")):
            return
        if name not in headers:
            headers[name] = value
        elif name == b"host":
            self._fault = "a request has one Host header, and this one has more"
            raise ValueError(self._fault)
        else:
            headers[name] += (b"; " if name == b"cookie" else b", ") + value

    def on_body(self, body: bytes) -> None:
        """The parser has a piece of the body."""
        if len(self._request.body) + len(body) > self._bytes_max - HEAD_MAX or self._request.status == 413:
            self._held -= len(self._request.body)
            self._request.body.clear()
            self._drop_request(len(body), f"the body of a request has at most {self._bytes_max - HEAD_MAX} bytes", 413)
        else:
            self._request.body += body

    def on_message_complete(self) -> None:
        """The parser has a whole request."""
        request = self._request
        request.method = self._parser.get_method().decode("ascii")
        if request.method == "GET":
            request.body.clear()  # it means nothing, and an answer may take long
        request.path, _, query = self._url.decode("latin-1").partition("?")
        if query:
            try:
                request.query = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_FIELDS_MAX))
            except ValueError:
                request.fault = f"the query of a request has at most {_FIELDS_MAX} fields"
        request.last = not self._parser.should_keep_alive()
        self._request = HttpRequest()
        self._waiting.append(request)

    def _go_on(self) -> None:
        if self._task is None and self._waiting and self._transport is not None:
            self._guest.busy()
            self._task = asyncio.get_running_loop().create_task(self._answer(self._waiting.popleft()))
            self._task.add_done_callback(self._answered)
            self._hold()

    async def _answer(self, request: HttpRequest) -> None:
        reply = Reply(self)
        if request.fault:
            error = {"code": "bad_request", "message": request.fault, "facts": {"detail": request.fault}}
            await reply.json({"error": error}, status=request.status)
        else:
            await self._app(request, reply)
        if (reply.streamed or request.last) and self._transport is not None:
            self._transport.close()

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not self._waiting:
            self._held = 0
        if not task.cancelled() and (error := task.exception()) is not None:
            if not has_left(error):
                log.error("a request failed", exc_info=error)
            if self._transport is not None:
                self._transport.abort()
        self._go_on()
        if self._task is None and self._transport is not None:
            self._guest.rests()

    def _refuse(self, status: int, message: str) -> None:
        if self._transport is None:
            return
        error = {"code": "bad_request", "message": message, "facts": {"detail": message}}
        self._transport.write(whole(error, status))
        self._transport.close()
        self._transport = None


@contextlib.asynccontextmanager
async def serving(
    sock: socket.socket, name: str, door: Door, limits: Limits, *, bytes_max: int = HEAD_MAX + BODY_MAX
) -> AsyncGenerator[Gate]:
    """Serve a listening socket while inside; it has a name for the log."""
    peers: set[Connection] = set()
    making: set[asyncio.Task[object]] = set()
    loop = asyncio.get_running_loop()
    arriving, room = memoryview(bytearray(_RECEIVE)), Room()
    searches, bodies = Room(SEARCHES), Bodies()

    def admit(peer: socket.socket, guest: Guest) -> None:
        app = door(peer)
        if app is None:
            guest.left()
            peer.close()
            return
        connection = Connection(app, guest, peers, bytes_max, arriving, room, searches, bodies)
        task = loop.create_task(loop.connect_accepted_socket(lambda: connection, peer))
        making.add(task)
        task.add_done_callback(making.discard)

    def refuse(peer: socket.socket) -> None:
        peer.send(whole(TooManyConnections(door=name, most=str(limits.most)).to_json(), 503))

    try:
        async with admitting(sock, name, limits, admit, refuse) as gate:
            yield gate
    finally:
        with anyio.CancelScope(shield=True):
            if making:
                await asyncio.wait(making)
            for peer in tuple(peers):
                await peer.end()


def segments(path: str) -> list[str]:
    """The parts of a path, unquoted."""
    return [unquote(part, errors="surrogateescape") for part in path.split("/")[1:]]
