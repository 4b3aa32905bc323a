"""Look after the daemon. Commands start it by themselves when it is needed.

Jobs do not depend on it: 'stop' leaves them running, and the next daemon takes
them up. 'stop --kill' ends them first; its exit status is 1 if something survives.
'status' starts nothing; its exit status is 3 when no daemon runs.
"""

import os
import select
import time
from importlib import import_module

from bide.cli.exits import NOT_RUNNING, Usage
from bide.cli.terminal import complain, print_json, to_the_end
from bide.cli.units import parse_whole
from bide.client.blocking import Exchange
from bide.client.http1 import request
from bide.client.patience import Gone
from bide.client.start import SOCKET, daemon_pid, lock_pid, try_connect
from bide.model.errors import DaemonUnavailable
from bide.model.words import processes
from bide.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from argparse import Namespace
    from collections.abc import Iterator

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

SURVIVED = 1
STOP_SECONDS = 30.0
ANSWER_SECONDS = 5.0
_LOOK_SECONDS = 0.02


def configure(parser: "Parser") -> None:
    """The options of `bide daemon`."""
    parser.add_argument("what", choices=tuple(_ACTIONS), metavar="WHAT", help="status, start, stop, restart or logs")
    parser.add_argument("--kill", action="store_true", help="with stop: end all jobs first")
    parser.add_argument("-f", "--follow", action="store_true", help="with logs: go on")
    parser.add_argument("--tail", metavar="N", type=parse_whole, default=None, help="with logs: only the last N lines")
    parser.examples("bide daemon status", "bide daemon restart", "bide daemon stop --kill", "bide daemon logs -f")


def execute(args: "Namespace", link: "Link") -> int:
    """Do it."""
    if args.kill and args.what != "stop":
        raise Usage(detail="--kill goes with stop; to end jobs and have a new daemon: bide daemon stop --kill")
    if (args.follow or args.tail is not None) and args.what != "logs":
        raise Usage(detail="--follow and --tail go with logs, as in: bide daemon logs --tail 20")
    if args.tail is not None and args.tail < 0:
        raise Usage(detail="--tail cannot be negative")
    return _ACTIONS[args.what](args, link)


def info(link: "Link") -> "Json | None":
    """What the daemon says of itself; None if no daemon runs. Starts none.

    Raises DaemonUnavailable if one runs and does not answer.
    """
    sock = _connect(link.home)
    if sock is None:
        return None
    try:
        exchange = Exchange(sock, request("GET", "/v1/daemon"))
        while select.select([exchange], [], [], ANSWER_SECONDS)[0]:
            if exchange.receive():
                return exchange.answer.json()
    except Gone:
        return None
    finally:
        sock.close()
    raise DaemonUnavailable(home=link.home, detail=_hangs(link.home))


def _connect(home: str) -> "socket | None":
    """A connection to the daemon; None if no daemon runs. One whose socket was deleted makes it anew within a second."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        sock = try_connect(home)
        pid = None if sock is not None else daemon_pid(home)
        if pid is None:
            return sock
        if time.monotonic() > deadline:
            detail = f"process {pid} serves it, and nobody listens at {os.path.join(home, SOCKET)}"
            raise DaemonUnavailable(home=home, detail=f"{detail}; {_advice(pid)}")
        time.sleep(_LOOK_SECONDS)


def _advice(pid: int) -> str:
    return f"'kill -9 {pid}' ends it and no job, and the next command starts another"


def _hangs(home: str) -> str:
    """What is wrong with a daemon that does not answer, and what can be done: nothing depends on it."""
    pid = lock_pid(home)
    advice = f"; {_advice(pid)}" if pid else ""
    return f"it takes connections but has not answered for {ANSWER_SECONDS:.0f} s{advice}"


def _status(args: "Namespace", link: "Link") -> int:
    found = info(link)
    absent = {"pid": None, "home": link.home, "socket": os.path.join(link.home, SOCKET), "version": VERSION}
    if args.json:
        print_json(found or absent)
    elif found is None:
        complain(f"no daemon runs for {link.home}; the next command that needs one starts it")
    else:
        for name in ("pid", "version", "home", "socket", "started_at", "running", "queued", "python", "keeper"):
            print(f"{name:<12}{found.get(name)}")
        if found.get("version") != VERSION:
            complain(
                f"the daemon has version {found.get('version')}, this is {VERSION}; 'bide daemon restart' replaces it"
            )
    return NOT_RUNNING if found is None else 0


def _start(args: "Namespace", link: "Link") -> int:
    found = link.call("GET", "/v1/daemon")
    if args.json:
        print_json(found)
    else:
        print(f"daemon {found['pid']} serves {found['home']}")
    return 0


@to_the_end
def _stop(args: "Namespace", link: "Link") -> int:
    said: Json = {}
    stopped = stop(link, kill=args.kill, said=said)
    left, undelivered = said.get("unverified", []), said.get("undelivered", {})
    if args.json:
        found = {"stopped": stopped is not None, "running": stopped, "killed": args.kill}
        print_json({**found, "unverified": left, "undelivered": undelivered})
    elif stopped is None:
        print(f"no daemon runs for {link.home}")
    else:
        print(f"stopped; {_fate(stopped, killed=args.kill)}")
        for one in left:
            print(f"{one['job']} still has {processes(one['survivors']) or 'processes'}")
        for line in _deliveries(undelivered):
            print(line)
    return SURVIVED if left else 0


def _fate(running: int, *, killed: bool) -> str:
    if not running:
        return "no job was active"
    if killed:
        return f"{_jobs(running)} killed"
    return f"{_jobs(running)} {'goes' if running == 1 else 'go'} on, and the next daemon takes {'it' if running == 1 else 'them'} up"


def _deliveries(undelivered: "Json") -> "Iterator[str]":
    """Say what became of the notices to sinks."""
    if undelivered and not any(undelivered.values()):
        yield "every notice was delivered"
    for sink, count in undelivered.items():
        if count:
            notices, them = ("1 notice", "it") if count == 1 else (f"{count} notices", "them")
            yield f"{notices} to {sink} not delivered in time; the next daemon delivers {them}"


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def stop(link: "Link", *, kill: bool, said: "Json | None" = None) -> int | None:
    """Stop the daemon and return when its process is gone: how many jobs were running, or None if there was no daemon.

    To kill jobs that run without a daemon, one is started first. What the daemon answers is added to `said`.
    """
    found = info(link)
    if found is None:
        if not kill or not os.path.isdir(os.path.join(link.home, "jobs")):
            return None
        found = link.call("GET", "/v1/daemon")
    process = _open_process(found["pid"])
    running = int(found["running"]) + int(found["queued"])
    try:
        exchange = link.begin("POST", "/v1/daemon/stop", {"kill": kill})
        while not exchange.receive():
            pass
        exchange.close()
        if said is not None:
            said.update(exchange.answer.json())
    except Gone:
        pass
    _await_end(link, process, found["pid"])
    return running


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _await_end(link: "Link", process: int | None, pid: int) -> None:
    if process is None:
        return
    try:
        poller = select.poll()
        poller.register(process, select.POLLIN)
        if not poller.poll(STOP_SECONDS * 1000):
            detail = f"process {pid} was told to stop and is still there after {STOP_SECONDS:.0f} s"
            raise DaemonUnavailable(home=link.home, detail=detail)
    finally:
        os.close(process)


@to_the_end
def _restart(args: "Namespace", link: "Link") -> int:
    # One that could not start again goes on as it is.
    import_module("bide.settings").load(link.home)
    running = stop(link, kill=False)
    found = link.call("GET", "/v1/daemon")
    if args.json:
        print_json(found)
    else:
        was = "no daemon ran before" if running is None else f"{_jobs(running)} went on meanwhile"
        print(f"daemon {found['pid']} serves {found['home']}; {was}")
    return 0


def _logs(args: "Namespace", link: "Link") -> int:
    from bide.cli.daemonlog import show  # noqa: PLC0415 - only this action pays for it

    return show(os.path.join(link.home, "daemon.log"), tail=args.tail, follow=args.follow, as_json=args.json)


_ACTIONS = {"status": _status, "start": _start, "stop": _stop, "restart": _restart, "logs": _logs}
