"""Reaches the daemon of a home, and starts it, detached, if there is none.

`_socket` is used as it is, because `socket` takes 3 ms to import and every command would pay for it.
"""

import _socket
import errno
import json
import os
import sys
import time

from bide.model.errors import BideError, DaemonUnavailable, HomeReadOnly, HomeUnusable, from_json, of_os_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.http1 import Json

SOCKET = "bide.sock"
MCP_SOCKET = "mcp.sock"
READY_SECONDS = 60.0
"""How long a daemon may take to say that it is ready; recovery of many jobs comes first."""
KEEPER_SECONDS = 10.0
"""How long to wait for a daemon that a job's keeper was asked to start."""


_PATH_MAX = 107
_ABSENT = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR)


def try_connect(home: str, name: str = SOCKET) -> _socket.socket | None:
    """A connection to a socket of the home's daemon, or None if there is no daemon. Raises HomeUnusable if it is not ours."""
    check_owner(home)
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        _connect(sock, home, name)
    except OSError as error:
        sock.close()
        if error.errno in _ABSENT:
            _check_no_folder(home, name)
            return None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise HomeUnusable(home=home, detail="no permission to use its socket") from error
        raise DaemonUnavailable(home=home, detail=error.strerror or str(error)) from error
    return sock


def _check_no_folder(home: str, name: str) -> None:
    """Raise DaemonUnavailable where a folder has the place of a socket: no daemon removes it, so none can listen there."""
    path = os.path.join(home, name)
    if os.path.isdir(path):
        raise DaemonUnavailable(home=home, detail=f"{path} is a folder where its socket must be; remove it")


def _connect(sock: _socket.socket, home: str, name: str) -> None:
    """Connect, also where the path is longer than a socket address can be."""
    path = os.path.join(home, name)
    if len(os.fsencode(path)) <= _PATH_MAX:
        sock.connect(path)
        return
    folder = os.open(home, os.O_PATH | os.O_DIRECTORY)
    try:
        sock.connect(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)


def lock_pid(home: str) -> int | None:
    """The process that last took the home's lock; None if its file says nothing."""
    try:
        with open(os.path.join(home, "lock"), "rb") as lock:
            return int(lock.read())
    except (OSError, ValueError):
        return None


def daemon_pid(home: str) -> int | None:
    """The daemon that serves the home, by its lock; None if none does. It may have no socket at this moment."""
    pid = lock_pid(home)
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as words:
            return pid if b"bide.daemon" in words.read().split(b"\0") else None
    except OSError:
        return None


def check_owner(home: str) -> None:
    """Raise HomeUnusable if the home is another user's. One that is missing or out of reach passes."""
    try:
        uid = os.stat(home).st_uid
    except OSError:
        return
    if uid != os.geteuid():
        raise HomeUnusable(home=home, detail=f"it belongs to uid {uid}")


def prepare_home(home: str) -> None:
    """Make the home, with mode 0700, if it is not there. Makes nothing in a home of another user, also as root."""
    try:
        os.makedirs(os.path.dirname(home), exist_ok=True)
        os.mkdir(home, 0o700)
    except FileExistsError:
        if not os.path.isdir(home):
            raise HomeUnusable(home=home, detail="it is not a folder") from None
        check_owner(home)
    except OSError as error:
        raise of_os_error(error, home) or HomeUnusable(home=home, detail=error.strerror or str(error)) from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        if os.statvfs(home).f_flag & os.ST_RDONLY:
            raise HomeReadOnly(home=home)
        raise HomeUnusable(home=home, detail="no permission to write in it")


def ensure_daemon(home: str) -> None:
    """Start a daemon for the home and return when one is ready; a second daemon is harmless.

    Inside a job the job's keeper is asked to do it, because a daemon below a job would be fenced in with it.
    """
    prepare_home(home)
    if not (_ask_keeper(home) and _comes_up(home)):
        _spawn(home)


def _comes_up(home: str) -> bool:
    """Whether a daemon that somebody else starts takes a connection in good time."""
    deadline = time.monotonic() + KEEPER_SECONDS
    for pause in _pauses():
        sock = try_connect(home)
        if sock is not None:
            sock.close()
            return True
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
    return False


def _pauses() -> "Iterator[float]":
    pause = 0.005
    while True:
        yield pause
        pause = min(pause * 2, 0.25)


def _ask_keeper(home: str) -> bool:
    job, job_home = os.environ.get("BIDE_JOB"), os.environ.get("BIDE_HOME")
    if not job or not job_home or os.path.abspath(job_home) != home:
        return False
    try:
        fifo = os.open(os.path.join(home, "jobs", job, "ctl"), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.write(fifo, b"daemon\n")
    except OSError:
        return False
    finally:
        os.close(fifo)
    return True


_spawned: set[int] = set()
"""Daemons that this program started, in any of its threads, and that nobody waits for. One that ended must not stay a zombie
as long as the program lives."""


def _collect() -> None:
    for pid in tuple(_spawned):
        try:
            over = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            over = True
        if over:
            _spawned.discard(pid)


def _spawn(home: str) -> None:
    _collect()
    read_end, write_end = os.pipe()
    try:
        pid = _spawn_detached(home, write_end)
    except OSError as error:
        os.close(read_end)
        raise DaemonUnavailable(home=home, detail=f"it could not be started: {error}") from error
    finally:
        os.close(write_end)
    line = None
    try:
        line = _first_line(read_end)
    finally:
        os.close(read_end)
        if line != b"":
            _spawned.add(pid)
    if line is None:
        raise DaemonUnavailable(home=home, detail=f"process {pid} was not ready after {READY_SECONDS:.0f} s")
    error = _error_in(line)
    if error is None and not line:
        _, status = os.waitpid(pid, 0)
        how = os.waitstatus_to_exitcode(status)
        error = DaemonUnavailable(home=home, detail=f"it ended at once with status {how}")
    if error is not None:
        raise error


_OF_A_JOB = ("BIDE_JOB", "BIDE_PARENT", "BIDE_SESSION", "BIDE_SESSION_FOLDER")
"""What marks a program as part of a job: with it, a daemon would be ended when that job is killed."""


def _spawn_detached(home: str, ready: int) -> int:
    import signal  # noqa: PLC0415 - only a cold start pays for it

    log = _log_of(home)
    actions: list[tuple[object, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, ready, 1),
        (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
    ]
    actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited()]
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "bide.daemon", "--home", home],
        {name: value for name, value in os.environ.items() if name not in _OF_A_JOB},
        file_actions=actions,
        setsid=True,
        setsigmask=(),
        setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
    )


def _log_of(home: str) -> str:
    """Return the file for what a daemon says before it opens its log; a full disk may have no room for one."""
    log = os.path.join(home, "daemon.log")
    try:
        os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return os.devnull
    return log


def _inherited() -> list[int]:
    """Descriptors above 2 that a child would get: whoever holds their other end must not wait for the daemon."""
    found: list[int] = []
    beyond = os.sysconf("SC_OPEN_MAX")  # a limit may be lowered below what is open, and spawn refuses to close that
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if 2 < fd < beyond and os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            continue
    return found


def _first_line(fd: int) -> bytes | None:
    """What is written up to the first newline or the end; None if that takes too long."""
    import select  # noqa: PLC0415 - only a cold start pays for it

    deadline = time.monotonic() + READY_SECONDS
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    line = b""
    while b"\n" not in line:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        data = os.read(fd, 65536)
        if not data:
            break
        line += data
    return line


def _error_in(line: bytes) -> BideError | None:
    try:
        said: Json = json.loads(line)
        return from_json(said["error"]) if "error" in said else None
    except (ValueError, TypeError):
        return None
