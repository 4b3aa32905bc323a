"""The daemon's routes, from inside a job: one connection per request, and another daemon when one dies.

docs/http.md has the routes. What is asked here can be asked twice: a run has its key, input has its place.
"""

import _socket
import errno
import json
import os
import time
from binascii import b2a_base64

from .session import HOME, JOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]
else:
    Json = dict

PATIENCE = 60.0
"""Seconds in a row that no daemon answers; recovery of many jobs comes before the first answer."""
_ASK_AGAIN = 10.0
_PATH_MAX = 107
_CHUNK = 256 * 1024
_ABSENT = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR, errno.EAGAIN)


asked = [-_ASK_AGAIN]
"""When a daemon was last asked for; forgotten as soon as one answers."""


class CommandError(RuntimeError):
    """A command could not be started or followed; `code` is the error's code."""

    def __init__(self, message: str, code: str = "daemon_unavailable") -> None:
        """One sentence."""
        super().__init__(message)
        self.code = code


class Gone(Exception):
    """The connection ended before the answer did."""


def call(method: str, path: str, body: "Json | None" = None, again: "Json | None" = None) -> "Json":
    """The answer as an object; where it may have been heard before, `again` is what is asked. Raises CommandError."""
    return json.loads(get(method, path, body, again)[1])


def get(
    method: str, path: str, body: "Json | None" = None, again: "Json | None" = None
) -> "tuple[dict[str, str], bytes]":
    """The headers and the bytes of an answer."""
    since = 0.0
    while True:
        try:
            answer = Answer(method, path, body)
            data = answer.whole()
        except Gone as gone:
            since = since or time.monotonic()
            time.sleep(revive(since, gone))
            body = body if again is None else again
            continue
        if answer.status >= 400:
            raise answer.error(data)
        return answer.headers, data


def send(job: str, data: bytes, at: int, *, eof: bool = False) -> "Json | None":
    """Input from this place on, once however often it is asked; the job, or None if it takes no more."""
    body: Json = {"base64": b2a_base64(data, newline=False).decode("ascii"), "at": at, "eof": eof}
    try:
        return call("POST", f"/v1/jobs/{job}/send", body)
    except CommandError as error:
        if error.code in ("job_ended", "no_stdin"):
            return None
        raise


class Answer:
    """One request on a connection of its own, and its answer as far as it was read."""

    def __init__(self, method: str, path: str, body: "Json | None" = None) -> None:
        """Ask, and read the head of the answer. Raises Gone."""
        self.sock = _connect()
        self.buffer = b""
        self.status = 0
        self.headers: dict[str, str] = {}
        payload = b"" if body is None else json.dumps(body).encode("ascii")
        head = f"{method} {path} HTTP/1.1\r\nHost: bide\r\nConnection: close\r\nContent-Length: {len(payload)}\r\n\r\n"
        try:
            self.sock.sendall(head.encode("ascii") + payload)
        except OSError as error:
            self.close()
            raise Gone(str(error)) from error
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.read()
        asked[0] = -_ASK_AGAIN
        lines, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *rest = lines.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1])
        for line in rest:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()

    def fileno(self) -> int:
        """What to poll for more of it."""
        return self.sock.fileno()

    def read(self) -> bytes:
        """What comes next. Raises Gone where nothing does."""
        try:
            data = self.sock.recv(_CHUNK)
        except OSError as error:
            self.close()
            raise Gone(str(error)) from error
        if not data:
            self.close()
            raise Gone("the connection was closed")
        return data

    def whole(self) -> bytes:
        """The body of an answer that is not streamed. Raises Gone."""
        length = int(self.headers.get("content-length", "0"))
        parts = [self.buffer]
        size = len(self.buffer)
        while size < length:
            parts.append(self.read())
            size += len(parts[-1])
        self.close()
        return b"".join(parts)

    def error(self, data: bytes) -> CommandError:
        """What the daemon refused, and why."""
        try:
            said = json.loads(data)["error"]
            return CommandError(said["message"], said["code"])
        except (ValueError, KeyError, TypeError):
            return CommandError(f"the daemon answered {self.status} without a word", "internal_error")

    def close(self) -> None:
        """Give up the connection."""
        self.sock.close()


def _connect() -> _socket.socket:
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    path = os.path.join(HOME, "bide.sock")
    folder = -1
    try:
        if len(os.fsencode(path)) > _PATH_MAX:
            folder = os.open(HOME, os.O_PATH | os.O_DIRECTORY)
            path = f"/proc/self/fd/{folder}/bide.sock"
        sock.connect(path)
    except OSError as error:
        sock.close()
        if error.errno in _ABSENT:
            raise Gone(str(error)) from error
        raise CommandError(f"the daemon of {HOME!r} cannot be asked: {error.strerror}") from error
    finally:
        if folder >= 0:
            os.close(folder)
    return sock


def revive(since: float, gone: Gone) -> float:
    """There is no daemon, or it died: have one started; how long to wait before it is asked. Raises CommandError."""
    waited = time.monotonic() - since
    if waited > PATIENCE:
        raise CommandError(f"no daemon of {HOME!r} has answered for {PATIENCE:.0f} s ({gone})") from gone
    server = _server()
    if server and b"bide.daemon" not in server[1]:
        detail = f"process {server[0]} serves {HOME!r} by bide.local(), without a daemon that could be asked"
        raise CommandError(f"cmd() starts jobs of their own, but {detail}; use bide.connect() there")
    if not server and time.monotonic() - asked[0] > _ASK_AGAIN:
        asked[0] = time.monotonic()
        _start_daemon()
    return min(0.01 + waited / 4, 0.25)


def _server() -> "tuple[int, bytes] | None":
    """The process that serves the home, with its words, if it is alive and not another that was given its pid."""
    try:
        with open(os.path.join(HOME, "lock"), "rb") as lock:
            pid, written = int(lock.read()), os.fstat(lock.fileno()).st_mtime
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError):
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    is_the_one = age + 1 > time.time() - written
    return (pid, words) if words and is_the_one else None  # what only waits to be collected has no words


def _start_daemon() -> None:
    """By the job's keeper, because a daemon below a job would be fenced in with it; without one, by ourselves."""
    for place in ("jobs", "new"):
        folder = os.path.join(HOME, place, JOB)
        try:
            fifo = os.open(os.path.join(folder, "ctl"), os.O_WRONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            continue
        except OSError:
            _spawn(folder)
            return
        os.write(fifo, b"daemon\n")
        os.close(fifo)
        return


def _spawn(folder: str) -> None:
    """Do what the job's orders say of how a daemon is started."""
    with open(os.path.join(folder, "spec"), "rb") as file:
        words = file.read().split(b"\0")
    at = next(number for number, word in enumerate(words) if word.startswith(b"starter="))
    starter = words[at + 1 : at + 1 + int(words[at][8:])]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    # Without what marks it as part of this job, or it would be ended with it.
    marks = ("BIDE_JOB", "BIDE_PARENT", "BIDE_SESSION", "BIDE_SESSION_FOLDER")
    env = {name: value for name, value in os.environ.items() if name not in marks}
    os.posix_spawn(starter[0], starter, env, file_actions=silent, setsid=True)
