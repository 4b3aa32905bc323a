"""A model on loopback that does what a script says, in the three protocols that the command lines speak."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.acceptance import dialects
from tests.acceptance.dialects import Refuse, Reply, Say, Seen

Script = Callable[[Seen], Reply]
"""What the model answers to a request that offers it tools. It may wait: each request has a thread."""

_NOT_ASKED = Say("ok")
"""What is asked without tools is the command line's own business: a title, a summary."""


class Model(ThreadingHTTPServer):
    """The server, what it is to say, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: Script = lambda seen: Say(f"you said: {seen.said[-1]}")
        self.seen: list[Seen] = []
        self.hold = threading.Event()
        self.hold.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, seen: Seen) -> Reply:
        """What to say, once it is not held back."""
        if not seen.tools:
            return _NOT_ASKED
        self.seen.append(seen)
        self.hold.wait()
        return self.script(seen)


class _Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer(200, "application/json", b"")

    def do_GET(self) -> None:
        self._answer(404, "application/json", b"{}")

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        path, _, query = self.path.partition("?")
        dialect = dialects.of(path, query, body)
        if dialect is None:
            self._answer(404, "application/json", b"{}")
            return
        if isinstance(dialect, dict):
            self._answer(200, "application/json", json.dumps(dialect).encode())
            return
        assert isinstance(self.server, Model)
        reply = self.server.reply(dialect.seen())
        if isinstance(reply, Refuse):
            error = {"type": reply.kind, "code": reply.status, "status": reply.kind, "message": reply.message}
            self._answer(reply.status, "application/json", json.dumps({"type": "error", "error": error}).encode())
            return
        kind = "text/event-stream" if dialect.streams else "application/json"
        self._answer(200, kind, dialect.answer(reply))

    def _answer(self, status: int, kind: str, data: bytes) -> None:
        # Who asked may have been ended meanwhile.
        with suppress(ConnectionError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
        """Say nothing."""


@contextmanager
def serving() -> Generator[Model]:
    """A model, until the end of the block."""
    with Model() as model:
        thread = threading.Thread(target=model.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield model
        finally:
            model.hold.set()
            model.shutdown()
            thread.join()
