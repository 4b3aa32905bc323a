"""Every door takes a limited number of connections, and only for a limited time from one that asks nothing."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from tests.support.http import Http
from tests.support.patience import PATIENCE, eventually

from bide.gate import Limits
from bide.web.http import Reply, serving
from bide.web.request import HttpRequest

DAEMON = [sys.executable, "-P", "-m", "bide.daemon", "--home"]
ASK = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def daemon(home: Path, port: int, files: int | None = None) -> Generator[Path]:
    """A daemon that serves MCP over HTTP, with so many descriptors."""
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f"[mcp]\nport = {port}\n")

    words = [*DAEMON, str(home)]
    if files is not None:
        words = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *words]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["ready"]
            yield home
        finally:
            process.terminate()
    assert "Traceback" not in (home / "daemon.log").read_text()


def connected(home: Path, name: str) -> socket.socket:
    """A bare connection to a socket of the home."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    folder = os.open(home, os.O_PATH)
    sock.connect(f"/proc/self/fd/{folder}/{name}")
    os.close(folder)
    return sock


def tcp(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def page_port(home: Path) -> int:
    with closing(Http(home)) as http:
        return int(http.ask("POST", "/v1/web")[1]["url"].split(":")[2].split("/")[0])


def status(port: int, path: str = "/mcp", **headers: str) -> int:
    link = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    link.request("GET", path, headers=headers)
    with closing(link):
        return link.getresponse().status


async def up(port: int) -> None:
    """Return when the port is served."""

    def accepts() -> bool:
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == 0

    await eventually(accepts)


async def test_silent_connections_give_way_to_those_that_ask(home: Path, port: int) -> None:
    with daemon(home, port):
        await up(port)
        page = page_port(home)
        with ExitStack() as held:
            for door in (port, page):
                for _ in range(150):
                    held.enter_context(tcp(door)).sendall(b"GET / HT")
                assert status(door) in (401, 421)


async def test_strangers_cannot_take_the_descriptors_that_the_owner_needs(home: Path, port: int) -> None:
    with daemon(home, port, files=96):
        await up(port)
        page = page_port(home)
        with ExitStack() as held:
            for _ in range(100):
                for door in (port, page):
                    held.enter_context(tcp(door)).sendall(ASK[:20])
            for _ in range(3):
                with closing(Http(home)) as http:
                    assert http.ask("GET", "/v1/daemon")[0] == 200
                    assert http.ask("POST", "/v1/jobs", {"command": "exit 3"})[1]["job"]["exit_code"] == 3


async def test_the_owner_is_answered_when_its_own_connections_have_all_descriptors(home: Path, port: int) -> None:
    with daemon(home, port, files=96), ExitStack() as held:
        for _ in range(150):
            held.enter_context(connected(home, "mcp.sock"))
            held.enter_context(connected(home, "bide.sock"))
        for _ in range(3):
            with closing(Http(home)) as http:
                assert http.ask("GET", "/v1/daemon")[0] == 200
                assert http.ask("POST", "/v1/jobs", {"command": "exit 3"})[1]["job"]["exit_code"] == 3


def test_a_connection_that_asks_for_nothing_is_closed(tmp_path: Path) -> None:
    with server(tmp_path / "s", Limits(most=10, asks_within=0.1, rests=0.1)) as path:
        for said in (b"", b"GET / HTTP/1.1\r\n", ASK):
            with unix(path) as one:
                one.sendall(said)
                assert rest(one).startswith(b"HTTP/1.1 200 " if said is ASK else b"")


def test_a_connection_of_the_owner_may_rest(tmp_path: Path) -> None:
    with server(tmp_path / "s", Limits(most=10, asks_within=0.05)) as path, unix(path) as kept, unix(path) as silent:
        kept.sendall(ASK)
        assert kept.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert rest(silent) == b""
        kept.sendall(ASK)
        assert kept.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_one_too_many_is_refused_while_all_are_busy(tmp_path: Path) -> None:
    with server(tmp_path / "s", Limits(most=2, asks_within=PATIENCE)) as path, ExitStack() as held:
        busy = [held.enter_context(unix(path)) for _ in range(2)]
        for one in busy:
            one.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            assert one.recv(4096).startswith(b"HTTP/1.1 200 ")
        with unix(path) as more:
            answer = rest(more)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_many_connections"
        busy[0].close()
        while True:
            with unix(path) as more:
                more.sendall(ASK)
                if more.recv(4096).startswith(b"HTTP/1.1 200 "):
                    break


@pytest.mark.parametrize("line", [b"\xff\x00garbage\n", b"[]\n", b"{}\n", b'"' * 100 + b"\n", b"[" * 100_000 + b"\n"])
async def test_a_first_line_that_says_nothing_of_the_client_is_answered(home: Path, port: int, line: bytes) -> None:
    with daemon(home, port):
        with connected(home, "mcp.sock") as one:
            one.sendall(line)
            assert json.loads(rest(one))["error"]["code"] == -32600
        assert "Traceback" not in (home / "daemon.log").read_text()


@pytest.mark.parametrize("door", ["bide.sock", "page", "mcp.port"])
async def test_two_hosts_are_refused(home: Path, port: int, door: str) -> None:
    with daemon(home, port):
        await up(port)
        number = page_port(home) if door == "page" else port
        with connected(home, door) if door == "bide.sock" else tcp(number) as one:
            host = f"Host: 127.0.0.1:{number}\r\n".encode()
            one.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\n" + host + b"Connection: close\r\n\r\n")
            assert rest(one).startswith(b"HTTP/1.1 400 ")


async def test_mcp_over_http_takes_its_own_port_alone_as_host_and_origin(home: Path, port: int) -> None:
    with daemon(home, port):
        await up(port)
        bearer = {"Authorization": f"Bearer {(home / 'mcp-token').read_text().strip()}"}
        for name in ("127.0.0.1", "localhost"):
            here = {"Host": f"{name}:{port}", **bearer}
            assert status(port, Origin=f"http://{name}:{port}", **here) not in (403, 421)
            assert status(port, Origin=f"http://{name}:{port + 1}", **here) == 403
            assert status(port, **here | {"Host": f"{name}:{port + 1}"}) == 421
            assert status(port, **here | {"Host": name}) == 421


async def test_an_mcp_client_that_leaves_in_the_middle_of_an_answer_leaves_no_traceback(home: Path, port: int) -> None:
    with daemon(home, port):
        await up(port)
        token = (home / "mcp-token").read_text().strip()
        for at in range(12):
            hello: dict[str, Any] = {"owner": "me", "cwd": "/", "env": {}, "connection": f"c{at}", "tools": ["process"]}
            with connected(home, "mcp.sock") as one:
                one.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in (hello, INITIALIZE, *CALLS)))
                if at % 2:
                    one.recv(10)
            with tcp(port) as one:
                one.sendall(posted(port, token, INITIALIZE))
                if at % 2:
                    one.recv(10)
        with closing(Http(home)) as http:
            assert http.ask("GET", "/v1/daemon")[0] == 200


INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
CALLS: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    *({"jsonrpc": "2.0", "id": id_, "method": "tools/list"} for id_ in range(2, 40)),
]


def posted(port: int, token: str, message: object) -> bytes:
    body = json.dumps(message).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def rest(one: socket.socket) -> bytes:
    """Everything until the other side hangs up."""
    data = b""
    try:
        while piece := one.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data


@contextmanager
def unix(path: Path) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as found:
        found.settimeout(PATIENCE)
        found.connect(str(path))
        yield found


async def _answer(request: HttpRequest, reply: Reply) -> None:
    if request.path == "/wait":
        await reply.stream("text/plain")
        await anyio.sleep_forever()
    await reply.json({})


@contextmanager
def server(path: Path, limits: Limits) -> Generator[Path]:
    """A door in an event loop and a thread of its own."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(sock, "test", lambda _: _answer, limits)),
    ):
        yield path
