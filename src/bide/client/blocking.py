"""The daemon's routes for a synchronous caller: one connection, few imports, nothing lost when the daemon dies.

`_socket` is used as it is, because `socket` takes 3 ms to import and every command would pay for it.
"""

import _socket
import sys
import time

from bide.client.http1 import Answer, Frames, request
from bide.client.patience import PAUSES, Gone, Patience
from bide.client.start import ensure_daemon, try_connect
from bide.model.errors import DaemonUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.http1 import Json, Query

_CHUNK = 256 * 1024
_WAITS = ("/pull", "/wait", "/jobs", "/asks", "/steps", "/questions")
"""Ends of paths whose answer may take as long as a job."""
_REPEATABLE = ("/v1/groups", "/v1/outbox/", "/v1/carriers/", "/v1/questions/")


def peer(sock: _socket.socket) -> int:
    """The pid of the daemon that a connection was made to."""
    credentials = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)


class Exchange:
    """One request on its way, and its answer as far as it has come. Has a `fileno` to poll."""

    def __init__(self, sock: _socket.socket, message: bytes) -> None:
        """Send the request; raises Gone."""
        self._sock = sock
        self.answer = Answer()
        try:
            sock.sendall(message)
        except BrokenPipeError:
            pass  # what it said before it hung up, if anything, is there to read
        except OSError as error:
            raise self._gone(error) from error

    def fileno(self) -> int:
        """The connection's descriptor."""
        return self._sock.fileno()

    def receive(self) -> bool:
        """Read once, waiting if nothing is there; whether the answer is complete. Raises Gone."""
        self.answer.feed(self._read())
        return self.answer.complete

    def _read(self) -> bytes:
        try:
            data = self._sock.recv(_CHUNK)
        except OSError as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone(None)
        return data

    def close(self) -> None:
        """Give up the connection."""
        self._sock.close()

    def release(self) -> _socket.socket | None:
        """The connection, if it can carry another request; otherwise it is closed."""
        if self.answer.keeps_alive:
            return self._sock
        self._sock.close()
        return None

    def _gone(self, error: OSError | None) -> Gone:
        daemon = peer(self._sock)
        self._sock.close()
        return Gone(str(error or ""), daemon)


class Stream(Exchange):
    """A request whose answer is frames."""

    def __init__(self, sock: _socket.socket, message: bytes) -> None:
        """Send the request; raises Gone."""
        super().__init__(sock, message)
        self._frames = Frames()

    def frames(self) -> list[tuple[int, bytes]]:
        """Read once; the (type, payload) pairs that are whole now. Raises Gone at the end, or the error answered."""
        self.answer.feed(self._read())
        if not self.answer.has_head:
            return []
        if self.answer.length is None:
            return self._frames.feed(self.answer.take())
        while not self.answer.complete:
            self.answer.feed(self._read())
        self.close()
        self.answer.json()
        raise Gone("the answer is not a stream")


class Link:
    """A way to the daemon of one home."""

    def __init__(self, home: str, *, starts: bool = True) -> None:
        """Nothing is connected yet. With `starts`, a missing daemon is started when it is first needed."""
        self.home = home
        self.asker = ""
        """Who asks, if not whom the environment says."""
        self.starts = starts
        self._idle: _socket.socket | None = None

    def call(self, method: str, path: str, body: "Json | None" = None, query: "Query | None" = None) -> "Json":
        """The answer as an object; raises the BideError that was answered.

        If the daemon dies meanwhile, requests that can be repeated are, against the next daemon; for others
        DaemonUnavailable says that nobody knows.
        """
        return self.raw(method, path, body, query).json()

    def raw(self, method: str, path: str, body: "Json | None" = None, query: "Query | None" = None) -> Answer:
        """The answer with its headers and bytes, whatever its status."""
        patience = Patience(self.home, lasting=path == "/v1/wait" or path.endswith(_WAITS))
        while True:
            try:
                exchange = self.begin(method, path, body, query)
                while not exchange.receive():
                    pass
            except Gone as gone:
                if not can_repeat(method, path, body):
                    detail = "it went away during the request, which may or may not have been carried out"
                    raise DaemonUnavailable(home=self.home, detail=detail) from gone
                patience.failed(gone)
            except DaemonUnavailable as error:
                patience.failed(error)
            else:
                self._idle = exchange.release()
                return exchange.answer

    def begin(self, method: str, path: str, body: "Json | None" = None, query: "Query | None" = None) -> Exchange:
        """Send a request and do not wait; raises Gone."""
        return Exchange(self._take(fresh=not can_repeat(method, path, body)), self._message(method, path, body, query))

    def stream(self, method: str, path: str, body: "Json | None" = None, query: "Query | None" = None) -> Stream:
        """Send a request whose answer is frames and do not wait; raises Gone."""
        return Stream(self._take(), self._message(method, path, body, query))

    def frames(
        self, method: str, path: str, body: "Json | None" = None, query: "Query | None" = None
    ) -> "Iterator[tuple[int, bytes]]":
        """The frames of a streamed answer, until the connection ends; raises Gone then."""
        stream = self.stream(method, path, body, query)
        try:
            while True:
                yield from stream.frames()
        finally:
            stream.close()

    def _message(self, method: str, path: str, body: "Json | None", query: "Query | None") -> bytes:
        return request(method, path, body, query, self.asker)

    def close(self) -> None:
        """Close what is open; the link can be used again."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def _take(self, *, fresh: bool = False) -> _socket.socket:
        if self._idle is not None:
            if not fresh:
                sock, self._idle = self._idle, None
                return sock
            self.close()
        sock = try_connect(self.home)
        if sock is None:
            sock = self._start_and_connect()
        return sock

    def _start_and_connect(self) -> _socket.socket:
        if not self.starts:
            raise DaemonUnavailable(home=self.home, detail="none is running")
        for pause in PAUSES:
            ensure_daemon(self.home)
            sock = try_connect(self.home)
            if sock is not None:
                return sock
            time.sleep(pause)
        raise DaemonUnavailable(home=self.home, detail="it said it was ready but takes no connection")


def can_repeat(method: str, path: str, body: "Json | None") -> bool:
    """Whether asking twice does what asking once does."""
    if method == "GET":
        return True
    if method != "POST":
        return False
    if path in ("/v1/jobs", "/v1/asks", "/v1/questions") or path.endswith("/answer"):
        return bool(body and body.get("key"))
    return path in ("/v1/wait", "/v1/gc") or path.endswith("/kill") or path.startswith(_REPEATABLE)
