"""What arrives is read into a buffer that connections share: none of them sees what another was sent."""

import os
import socket
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path

import anyio.from_thread
from tests.support.patience import PATIENCE

from bide.gate import Limits
from bide.web.http import Reply, serving
from bide.web.request import HttpRequest

BODIES = [os.urandom(size) for size in (1, 65_535, 65_536, 65_537, 3_000_001)]


class Unix(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self.path))


LIMITS = Limits(most=100, asks_within=PATIENCE)


async def digest(request: HttpRequest, reply: Reply) -> None:
    await reply.send(sha256(request.body).digest())


@contextmanager
def server(path: Path) -> Generator[None]:
    """One in an event loop and a thread of its own."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(sock, "test", lambda _: digest, LIMITS)),
    ):
        yield


def wrong(path: Path, found: list[int]) -> None:
    """How many bodies arrive at this server other than they were sent."""
    with closing(Unix(path)) as http:
        for body in BODIES * 4:
            http.request("POST", "/", body)
            found.append(http.getresponse().read() != sha256(body).digest())


def test_bodies_that_arrive_at_the_same_time_are_not_mixed(tmp_path: Path) -> None:
    """Neither those of one event loop nor those of two."""
    one, other = tmp_path / "one.sock", tmp_path / "other.sock"
    found: list[int] = []
    with server(one), server(other):
        senders = [threading.Thread(target=wrong, args=(path, found)) for path in [one, other] * 4]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    assert (sum(found), len(found)) == (0, len(senders) * 4 * len(BODIES))
