"""Be there for an owner while a program runs.

Jobs started with --lifetime owner end when their owner's last client has been away for
the time of grace (retention.owner_grace, 30s). This is such a client: it starts CMD,
says that the owner is there until CMD ends, and exits with its status. Without CMD it
stays until it is interrupted.
"""

import os
import select
import signal

from bide.cli.terminal import complain, print_json
from bide.client.http1 import quote
from bide.client.patience import Gone, Patience
from bide.model.errors import BideError, DaemonUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Exchange, Link

_FORWARDED = (signal.SIGTERM, signal.SIGHUP)
_IGNORED = (signal.SIGINT, signal.SIGQUIT)
_AGAIN_MS = 5000


def configure(parser: "Parser") -> None:
    """The options of `bide attend`."""
    parser.command_follows = True
    parser.usage = "bide attend OWNER [-- CMD [ARG...]]"
    parser.add_argument("owner", metavar="OWNER", help="whose presence it is")
    parser.add_argument("words", nargs="*", metavar="CMD", help="the program and its arguments")
    parser.examples(
        "BIDE_OWNER=agent-7 bide attend agent-7 -- my-agent",
        "bide run --owner agent-7 --lifetime owner --bg -- npm run dev   # ends with the agent",
    )


def execute(args: "Namespace", link: "Link") -> int:
    """Attend, run the program, and leave with its status."""
    command: list[str] = args.words
    held = _Held(link, f"/v1/owners/{quote(args.owner)}/attend")
    if args.json:
        print_json({"attending": args.owner})
    try:
        return _run(command, held) if command else held.until(None)
    finally:
        held.close()


class _Held:
    """The attendance; if the daemon dies, the next one is told."""

    def __init__(self, link: "Link", path: str) -> None:
        self._link = link
        self._path = path
        self._exchange: Exchange | None = self._attend()

    def _attend(self) -> "Exchange":
        patience = Patience(self._link.home)
        while True:
            try:
                exchange = self._link.begin("GET", self._path)
                while not (exchange.answer.complete or (exchange.answer.has_head and exchange.answer.length is None)):
                    exchange.receive()
            except (Gone, DaemonUnavailable) as error:
                patience.failed(error)
            else:
                if exchange.answer.complete:
                    exchange.answer.json()
                return exchange

    def until(self, pidfd: int | None) -> int:
        """Be there until this process ends; without one, for ever."""
        while True:
            poll = select.poll()
            for fd in (pidfd, self._exchange.fileno() if self._exchange else None):
                if fd is not None:
                    poll.register(fd, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(None if self._exchange else _AGAIN_MS)]
            if pidfd in ready:
                return 0
            self._look()

    def _look(self) -> None:
        """There is something on the connection, most likely its end, or there is none. The program is not to notice."""
        try:
            if self._exchange is not None:
                self._exchange.receive()
                return
        except Gone:
            self._exchange = None
        try:
            self._exchange = self._attend()
        except BideError as error:
            complain(f"nobody is told that the owner is there: {error}; it is tried again")

    def close(self) -> None:
        """Leave."""
        if self._exchange is not None:
            self._exchange.close()


def _run(command: list[str], held: _Held) -> int:
    # A signal that comes before we can pass it on waits until we can.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_IGNORED, *_FORWARDED))
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, setsigmask=before)
    except OSError as error:
        complain(f"cannot run {command[0]!r}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    for number in _IGNORED:
        # A terminal sends these to the program as well, which decides.
        signal.signal(number, signal.SIG_IGN)
    for number in _FORWARDED:
        signal.signal(number, lambda number, _: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    pidfd = os.pidfd_open(pid)
    held.until(pidfd)
    os.close(pidfd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return 128 - code if code < 0 else code
