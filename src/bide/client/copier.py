"""What an MCP client starts: copies frames between its stdio and the daemon, and understands no more of them than it must.

It remembers the handshake, the subscriptions and the calls that are not answered yet: when the daemon goes away it
reaches the next one, replays all of it, and the client notices nothing. The opening requests are answered from what the server answered last time,
so that a client need not wait for a daemon that is still loading.
"""

import _socket
import json
import os
import select
import time
from contextlib import suppress

from bide.client.blocking import peer
from bide.client.held import Held
from bide.client.opening import Opening
from bide.client.patience import PAUSES, Gone, Patience
from bide.client.start import MCP_SOCKET, ensure_daemon, try_connect
from bide.model.errors import DaemonUnavailable
from bide.model.frames import TOO_LARGE, LineCutter, Oversize, too_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

_CHUNK = 256 * 1024
_HANDSHAKE = ("initialize", "notifications/initialized")


class Copier:
    """One client on our stdio, one connection to the daemon at a time."""

    def __init__(self, home: str, hello: "Json", opening: Opening) -> None:
        """`hello` says who we are; the daemon reads it first on every connection."""
        self._home = home
        self._hello = hello
        self._opening = opening
        self._poll = select.poll()
        self._client = Lines(0)
        self._daemon = Lines(-1)
        self._sock: _socket.socket | None = None
        self._patience = Patience(home)
        self._connected = False
        """There was a daemon: the next one is told at once that the client is still there."""
        self._handshake: list[bytes] = []
        self._handshake_ids: set[str] = set()
        self._calls: dict[str, bytes] = {}
        """Requests that the client still waits for, by id."""
        self._checks: dict[str, bytes] = {}
        """Requests that were answered from last time and that the daemon has not answered yet."""
        self._held = Held()
        self._had: set[str] = set()
        """Opening requests whose answer the client has had, so that another is for us alone."""

    def run(self) -> int:
        """Copy until the client goes away and everything it asked for is answered."""
        self._poll.register(0, select.POLLIN)
        self._poll.register(1, 0)
        while not (self._client.over and self._calls.keys() <= self._held.listens):
            # The first frames come before the daemon is looked for: what is known from last time need not wait for it.
            if self._sock is None and (self._connected or self._handshake or self._checks or self._calls):
                self._connect()
            for fd, _ in self._poll.poll():
                if fd == 1:
                    return 0  # nobody reads our answers any more
                self._read(fd)
        return 0

    def _read(self, fd: int) -> None:
        if fd == 0:
            for line in self._client.read():
                if isinstance(line, Oversize):
                    self._too_large_from_client(line)
                else:
                    self._from_client(line)
            if self._client.over:
                self._poll.unregister(0)
        elif self._sock is not None:
            for line in self._daemon.read():
                self._from_daemon(_failed(line, "the answer") if isinstance(line, Oversize) else line)
            if self._daemon.over:
                self._poll.unregister(fd)
                daemon = peer(self._sock)
                self._sock.close()
                self._sock = None
                self._patience.failed(Gone(daemon=daemon))

    def _connect(self) -> None:
        """Reach the daemon, start one if there is none, and say again what it must know."""
        while True:
            sock = None
            try:
                sock = self._reached()
                said = [*self._handshake, *self._held.lines(), *self._checks.values(), *self._calls.values()]
                sock.sendall(self._greeting() + b"".join(said))
            except DaemonUnavailable as error:
                self._patience.failed(error)
            except OSError as error:
                self._patience.failed(Gone(str(error), 0 if sock is None else peer(sock)))
            else:
                self._sock, self._daemon, self._connected = sock, Lines(sock.fileno()), True
                self._poll.register(sock.fileno(), select.POLLIN)
                return

    def _reached(self) -> _socket.socket:
        for pause in PAUSES:
            sock = try_connect(self._home, MCP_SOCKET)
            if sock is not None:
                return sock
            ensure_daemon(self._home)
            sock = try_connect(self._home, MCP_SOCKET)
            if sock is not None:
                return sock
            time.sleep(pause)
        raise DaemonUnavailable(home=self._home, detail="it ended as soon as it was started")

    def _greeting(self) -> bytes:
        """Who is there, and whether it waits for answers that an earlier daemon owes it.

        Its name is known, because nothing is asked of the daemon before the client's first words.
        """
        again = not self._calls.keys() <= self._held.listens
        return json.dumps({**self._hello, "client": self._opening.client, "again": again}).encode() + b"\n"

    def _from_client(self, line: bytes) -> None:
        message = _read(line)
        method, id_ = message.get("method"), _id(message)
        if id_ and isinstance(method, str):
            known = self._opening.answer(id_, message)
            if known is not None:
                _write(known)
                self._had.add(id_)
                self._checks |= {id_: line} if method not in _HANDSHAKE else {}
            elif method not in _HANDSHAKE:
                self._calls[id_] = line
                self._held.from_client(id_, message, line)
        if method in _HANDSHAKE:
            self._handshake.append(line)
            self._handshake_ids |= {id_} if id_ else set()
        elif method == "notifications/cancelled":
            cancelled = json.dumps(message.get("params", {}).get("requestId"))
            self._calls.pop(cancelled, None)
            self._held.cancelled(cancelled)
        self._send(line)

    def _too_large_from_client(self, line: Oversize) -> None:
        """Answer a request that is too large; an answer that is too large is passed on as one that failed."""
        if line.is_request or line.id is None:
            _write(_failed(line, "this message"))
        else:
            self._send(_failed(line, "the answer"))

    def _send(self, line: bytes) -> None:
        if self._sock is not None:
            # If it fails, that is noticed when it is read, and then everything is said again.
            with suppress(OSError):
                self._sock.sendall(line)

    def _from_daemon(self, line: bytes) -> None:
        self._patience.progressed()
        message = _read(line)
        id_ = None if "method" in message else _id(message)
        instead = self._held.from_daemon(message, id_)
        if instead is not None:
            _write(b"".join(instead))
            return
        if id_ is None:
            _write(line)
            return
        self._calls.pop(id_, None)
        self._checks.pop(id_, None)
        changed = self._opening.learn(id_, message)
        if id_ not in self._had:
            _write(line)
            if id_ in self._handshake_ids:
                self._had.add(id_)
            return
        if id_ in self._handshake_ids:
            _write(b"".join(self._held.begun_again()))
        if changed:
            _write(b"".join(self._held.tools_changed(handshake=bool(self._handshake))))


class Lines:
    """A descriptor, read as lines."""

    def __init__(self, fd: int) -> None:
        """Nothing is read yet."""
        self._fd = fd
        self._cutter = LineCutter()
        self.over = False

    def read(self) -> "list[bytes | Oversize]":
        """The lines that are complete after reading once, each with its end."""
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError:
            data = b""
        if data:
            found = self._cutter.feed(data)
        else:
            self.over = True
            found = [self._cutter.rest()]
        return [
            one if isinstance(one, Oversize) else one + b"\n"
            for one in found
            if isinstance(one, Oversize) or one.strip()
        ]


def _read(line: bytes) -> "Json":
    """A message, as far as we look into it: where it has no object but should, an empty one. The server refuses it."""
    try:
        found: Json = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if type(found) is not dict:
        return {}
    params: Json = found["params"] if type(found.get("params")) is dict else {}
    if type(params.get("_meta", {})) is not dict:
        params = {**params, "_meta": {}}
    return {**found, "params": params}


def _id(message: "Json") -> str | None:
    """The id of a message as a key: 1 and "1" are two. Nothing else can be an id, and what no answer can name is none."""
    id_ = message.get("id")
    if type(id_) is str:
        return None if any("\ud800" <= letter <= "\udfff" for letter in id_) else json.dumps(id_)
    return json.dumps(id_) if type(id_) is int else None


def _failed(line: Oversize, what: str) -> bytes:
    """The answer in place of a message that is too large."""
    error = {
        "code": TOO_LARGE,
        "message": f"{too_large(what)}; nothing was done" if line.is_request else too_large(what),
    }
    return json.dumps({"jsonrpc": "2.0", "id": line.id, "error": error}).encode() + b"\n"


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
