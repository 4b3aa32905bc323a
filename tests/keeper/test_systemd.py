"""Scopes of the service manager, asked of a server on a real socket that answers as systemd does."""

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import processes

from bide.keeper import dbus, systemd
from bide.keeper.dbus import CallFailed, Writer
from bide.keeper.systemd import Manager

UNIFIED = Path("/sys/fs/cgroup/unified") if Path("/sys/fs/cgroup/unified").is_dir() else Path("/sys/fs/cgroup")
Answer = Callable[["Server", bytes], None]


def message(kind: int, fields: list[tuple[int, str, object]], body: bytes = b"") -> bytes:
    """What a server sends."""
    writer = Writer()
    writer.data += struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), 7, 0)
    for code, signature, value in fields:
        writer.pad(8)
        writer.data.append(code)
        if signature == "u":
            writer.signature("u")
            writer.number(int(str(value)))
        else:
            writer.variant(signature, value)
    struct.pack_into("<I", writer.data, 12, len(writer.data) - 16)
    writer.pad(8)
    return bytes(writer.data) + body


def texts(*words: str, first: int | None = None) -> bytes:
    writer = Writer()
    if first is not None:
        writer.number(first)
    for word in words:
        writer.text(word)
    return bytes(writer.data)


class Server:
    """Takes one connection, lets it in, and answers its one call."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self.path = path
        self.asked = b""
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(20)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def unit(self) -> str:
        """The name of the scope that was asked for."""
        at = self.asked.index(b".scope")
        return self.asked[self.asked.rindex(b"\0", 0, at) + 1 : at].decode() + ".scope"

    def _serve(self) -> None:
        self.peer, _ = self._listener.accept()
        with closing(self.peer):
            self.peer.settimeout(20)
            greeting = self.peer.recv(4096)
            assert greeting == b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n"
            self.peer.sendall(b"OK 0123\r\n")
            data = self.peer.recv(4096)
            while len(data) < len(b"BEGIN\r\n") + 16:
                data += self.peer.recv(4096)
            assert data.startswith(b"BEGIN\r\n")
            self.asked = data.removeprefix(b"BEGIN\r\n")
            self._answer(self, self.asked)
            self.peer.recv(1)  # until the other side has had enough

    def accept_call(self) -> None:
        """Say that the scope is being started."""
        self.peer.sendall(message(2, [(5, "u", 1), (8, "g", "o")], texts("/org/freedesktop/systemd1/job/1")))

    def close(self) -> None:
        self._listener.close()
        self._thread.join(20)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process to be put into a scope."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[[Answer], tuple[Server, Manager]]]:
    servers: list[Server] = []

    def serve(answer: Answer) -> tuple[Server, Manager]:
        servers.append(Server(tmp_path / "private", answer))
        return servers[-1], Manager(((str(tmp_path / "none"), True), (str(tmp_path / "private"), False)), stays=True)

    yield serve
    for server in servers:
        server.close()


Served = Callable[[Answer], tuple[Server, Manager]]


def test_a_process_is_moved_to_a_delegated_scope(served: Served, sleeper: int) -> None:
    if os.geteuid() != 0 or not (UNIFIED / "cgroup.procs").exists():
        pytest.skip("no cgroup v2 to make a scope in")

    def start(server: Server, _: bytes) -> None:
        server.accept_call()
        (UNIFIED / server.unit).mkdir()
        (UNIFIED / server.unit / "cgroup.procs").write_text(str(sleeper))

    server, manager = served(start)
    path = systemd.start_scope(manager, "jobs", "jobs of a test", sleeper)
    try:
        assert path == f"/{server.unit}"
        assert server.unit.startswith("bide-jobs-")
        for word in (b"StartTransientUnit", b"ssa(sv)a(sa(sv))", b"Delegate", b"jobs of a test", b"TasksMax"):
            assert word in server.asked
        assert struct.pack("<II", 4, sleeper) in server.asked
    finally:
        processes.end(sleeper, 9)
        os.waitpid(sleeper, 0)
        (UNIFIED / server.unit).rmdir()


def test_a_refusal_is_told_in_the_words_of_the_service_manager(served: Served, sleeper: int) -> None:
    def refuse(server: Server, _: bytes) -> None:
        fields: list[tuple[int, str, object]] = [(5, "u", 1), (4, "s", "org.example.No"), (8, "g", "s")]
        server.peer.sendall(message(3, fields, texts("not today")))

    with pytest.raises(CallFailed, match="not today"):
        systemd.start_scope(served(refuse)[1], "jobs", "jobs of a test", sleeper)


def test_a_scope_that_fails_to_start_is_told_of_at_once(served: Served, sleeper: int) -> None:
    def fail(server: Server, _: bytes) -> None:
        server.accept_call()
        said = texts("/job/1", server.unit, "failed", first=1)
        server.peer.sendall(message(4, [(3, "s", "JobRemoved"), (8, "g", "uoss")], said))

    with pytest.raises(CallFailed, match="could not be started: failed"):
        systemd.start_scope(served(fail)[1], "jobs", "jobs of a test", sleeper)


def test_a_service_manager_that_hangs_up_is_an_error(served: Served, sleeper: int) -> None:
    def hang_up(server: Server, _: bytes) -> None:
        server.peer.shutdown(socket.SHUT_RDWR)

    with pytest.raises(OSError, match="closed"):
        systemd.start_scope(served(hang_up)[1], "jobs", "jobs of a test", sleeper)


def test_a_service_manager_that_says_nothing_is_given_up(served: Served) -> None:
    server, _ = served(lambda _server, _asked: None)
    connection = dbus.Connection(str(server.path), bus=False, seconds=0.2)
    with closing(connection), pytest.raises(CallFailed, match="no answer in time"):
        connection.call("a.b", "/a", "a.b", "C", "", b"")


@pytest.fixture
def booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As on a machine with systemd; the folder of the test is the runtime folder of a user."""
    monkeypatch.setattr(systemd, "BOOTED", str(tmp_path))
    monkeypatch.setattr(systemd, "LINGER", str(tmp_path / "linger"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "systemd").mkdir()
    return tmp_path


def test_without_systemd_there_is_no_service_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "BOOTED", str(tmp_path / "none"))
    assert systemd.manager() is None


@pytest.mark.root
def test_root_asks_the_manager_of_the_system_which_outlives_logouts(booted: Path) -> None:
    found = systemd.manager()
    assert found is not None
    assert found.stays
    assert str(booted) not in str(found.sockets)


@pytest.mark.root
def test_a_user_asks_the_manager_of_their_own_and_never_that_of_another(
    booted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `su` the variable still names the folder of the user before."""
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert systemd.manager() is None
    os.chown(booted, 4242, -1)
    found = systemd.manager()
    assert found is not None
    assert found.sockets == ((f"{booted}/systemd/private", False), (f"{booted}/bus", True))
    assert not found.stays
    (booted / "linger").mkdir()
    (booted / "linger" / "4242").touch()
    again = systemd.manager()
    assert again is not None
    assert again.stays


@pytest.mark.parametrize(
    ("group", "session"),
    [
        ("/user.slice/user-1000.slice/session-3.scope", True),
        ("/user.slice/user-1000.slice/session-c1.scope", True),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/bide-daemon-1.scope", False),
        ("/system.slice/agent.service", False),
        ("/", False),
    ],
)
def test_a_login_session_is_told_by_its_scope(group: str, session: bool) -> None:
    assert systemd.is_session(group) is session
