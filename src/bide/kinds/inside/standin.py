"""Runs in the place of a coroutine of another program: writes what it writes, hands it what is sent, ends as it ends.

Frames on the program's socket are a letter, four bytes of length, and that many bytes: `h`ello with the token, `i`nput and its
`z` end, `t`erminate to the program; `o`utput, `e`rror output and the e`x`it code from it.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import sys

_READ = 65536


def main(path: str, token: str) -> int:
    """Stand in until the coroutine is over. Never returns if its program went away first."""
    alarm, ring = os.pipe()
    os.set_blocking(ring, False)
    signal.set_wakeup_fd(ring)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _heard)
    program = socket.socket(socket.AF_UNIX)
    try:
        program.connect(path)
        _send(program, b"h", token.encode())
        return _serve(program, alarm)
    except OSError:
        return _lost()


def _heard(number: int, frame: object) -> None:
    """The signal is in the alarm's pipe by now."""


def _serve(program: socket.socket, alarm: int) -> int:
    """Pass on what comes from either side."""
    sources: "list[socket.socket | int]" = [program, 0, alarm]
    buffer = b""
    while True:
        for ready in select.select(sources, [], [])[0]:
            if ready is program:
                data = program.recv(_READ)
                if not data:
                    return _lost()
                buffer, code = _take(buffer + data)
                if code is not None:
                    return code
            elif ready == alarm:
                os.read(alarm, _READ)
                _send(program, b"t")
            else:
                data = os.read(0, _READ)
                _send(program, b"i" if data else b"z", data)
                if not data:
                    sources.remove(0)


def _take(buffer: bytes) -> "tuple[bytes, int | None]":
    """Write what whole frames say; what is left over, and the exit code if it was among them."""
    while len(buffer) >= 5:
        (size,) = struct.unpack("!I", buffer[1:5])
        if len(buffer) < 5 + size:
            break
        kind, data, buffer = buffer[:1], buffer[5 : 5 + size], buffer[5 + size :]
        if kind == b"x":
            return buffer, int(data)
        _write(2 if kind == b"e" else 1, data)
    return buffer, None


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _send(program: socket.socket, kind: bytes, data: bytes = b"") -> None:
    """A program that has said its last word and closed hears no more; that word is still to be read."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        program.sendall(kind + struct.pack("!I", len(data)) + data)


def _lost() -> int:
    """Nobody knows how the coroutine ended: SIGPIPE says so to whoever reads this job's end."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with contextlib.suppress(AttributeError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})
    os.kill(os.getpid(), signal.SIGPIPE)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
