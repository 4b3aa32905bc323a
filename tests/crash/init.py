"""What init is to a machine, for one test: adopts orphans, collects them at once, and ends everything at the end.

A script of its own. Every line it reads is `{"argv", "env", "said"}`; it starts that, with its words going to the file
`said`, and answers `{"pid"}`, then `{"pid", "status"}` when it is over. When nothing can be read any more, because the
test is done or was killed, everything below it is killed.
"""

import ctypes
import json
import os
import select
import signal
import sys
from contextlib import suppress
from typing import Any

SUBREAPER = 36
HANDLED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT)


def answer(**facts: int) -> None:
    os.write(1, json.dumps(facts).encode() + b"\n")


def start(order: dict[str, Any]) -> int:
    say = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_OPEN, fd, order["said"], say, 0o600) for fd in (1, 2)]
    argv = order["argv"]
    return os.posix_spawnp(argv[0], argv, order["env"], file_actions=actions, setsid=True, setsigdef=HANDLED)


def collect(started: set[int]) -> None:
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] in started:
                started.remove(found[0])
                answer(pid=found[0], status=os.waitstatus_to_exitcode(found[1]))


def children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    return found


def end_all() -> None:
    with suppress(ChildProcessError):
        while True:
            below = children(os.getpid())
            for pid in below:
                below += children(pid)
            for pid in below:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def heard(_number: int, _frame: object) -> None:
    """A signal without a handler does not wake the loop."""


def main() -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, heard)
    started: set[int] = set()
    orders = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            collect(started)
        if 0 not in ready:
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, orders = (orders + data).split(b"\n")
        for line in lines:
            pid = start(json.loads(line))
            started.add(pid)
            answer(pid=pid)
            collect(started)
    end_all()


if __name__ == "__main__":
    sys.exit(main())
