"""Admits connections to a listening socket: a limited number at once, each with a limited time to say what it wants.

A connection that has not asked for anything gives way to a new one when the door is full. Doors that anybody on this machine
can reach leave descriptors free, and the doors of the owner have some in reserve.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import select
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator

from msgspec import Struct

log = logging.getLogger(__name__)

_STARVED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_AT_ONCE = 64
"""How many connections are accepted before others of the event loop have their turn."""
_REST = 0.2
"""Seconds without an accept when not even one descriptor can be had."""
_SAY_AGAIN = 60.0
"""Seconds between two lines of the log that say the same."""
_RESERVED = 32
_LOOKS = 2
_LENT = 4
"""Descriptors freed for one connection: its own, and what its request opens."""
_SHARE = 8
"""A door that anybody can reach takes one of so many descriptors at most, and so do those that owe a request at any door."""
_GRACE = 0.1
"""Seconds in which a connection does not give way to such a share: it may just not have been read yet."""


class Limits(Struct, frozen=True, kw_only=True):
    """How much of the daemon one door may take."""

    most: int
    """Connections at once."""
    asks_within: float
    """Seconds from the connection, or from the first byte of another request, to the end of the request."""
    rests: float | None = None
    """Seconds that a connection may be kept after an answer; None for any time."""
    public: bool = False
    """Anybody on this machine can connect: most descriptors are out of reach of this door."""


class Guest:
    """One admitted connection, as far as its door must know it."""

    def __init__(self, gate: Gate) -> None:
        """It has not asked for anything."""
        self._gate = gate
        self.drop: Callable[[], None] = lambda: None
        """Close the connection: set by whoever serves it."""
        self.since = time.monotonic()

    def busy(self) -> None:
        """It asked, and is being answered."""
        self._gate.asking.pop(self, None)
        self._gate.resting.pop(self, None)

    def asks(self) -> None:
        """It has begun to ask."""
        if self._gate.waits_for(self) and self not in self._gate.asking:
            self._gate.resting.pop(self, None)
            self._wait(self._gate.asking)

    def rests(self) -> None:
        """It was answered, and may ask again."""
        if self._gate.waits_for(self):
            self._gate.asking.pop(self, None)
            self._wait(self._gate.resting)

    def left(self) -> None:
        """The connection is closed."""
        self.busy()
        self._gate.gone(self)
        RESERVE.fill()

    def _wait(self, where: dict[Guest, None]) -> None:
        self.since = time.monotonic()
        where[self] = None
        self._gate.watch()


class Reserve:
    """Descriptors that nothing but a connection of the owner can have."""

    def __init__(self) -> None:
        """Nothing is reserved before there is a door."""
        self._held: list[int] = []
        self.doors = 0

    def fill(self) -> None:
        """Reserve as many as there should be, or as there are."""
        wanted = min(_RESERVED, _limit() // 8) if self.doors else 0
        with contextlib.suppress(OSError):
            while len(self._held) < wanted:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def lend(self) -> bool:
        """Free some for a connection; False if there are none."""
        if len(self._held) < _LENT + _LOOKS:
            return False
        self._release(_LENT)
        return True

    @contextlib.contextmanager
    def free(self) -> Generator[None]:
        """Have two free while inside, for a look at who connected, which must not wait for anything."""
        self._release(_LOOKS)
        try:
            yield
        finally:
            self.fill()

    def _release(self, most: int) -> None:
        released, self._held = self._held[:most], self._held[most:]
        for fd in released:
            os.close(fd)

    def close(self) -> None:
        """Free all of them."""
        self._release(len(self._held))


RESERVE = Reserve()


def _limit() -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if most == resource.RLIM_INFINITY else most


class Gate:
    """The connections of one listening socket."""

    def __init__(
        self,
        sock: socket.socket,
        name: str,
        limits: Limits,
        admit: Callable[[socket.socket, Guest], None],
        refuse: Callable[[socket.socket], None],
    ) -> None:
        """`admit` takes over a connection, `refuse` may say a word to one that is closed at once; neither waits."""
        self.guests: set[Guest] = set()
        self.asking: dict[Guest, None] = {}
        """Those that owe a request, the oldest first."""
        self.resting: dict[Guest, None] = {}
        """Those that were answered and did not ask again, the oldest first."""
        self._sock = sock
        self._name = name
        self._limits = limits
        self._admit = admit
        self._refuse = refuse
        self._closing: set[Guest] = set()
        """Those that were told to go, and whose descriptors are not free yet."""
        self._most = min(limits.most, _limit() // _SHARE) if limits.public else limits.most
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._again: asyncio.TimerHandle | None = None
        self._said_at = -_SAY_AGAIN

    def open(self) -> None:
        """Accept from now on."""
        RESERVE.doors += 1
        RESERVE.fill()
        self._sock.settimeout(0)
        self._resume()

    def renew(self, sock: socket.socket) -> None:
        """Accept from this socket instead; connections stay."""
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()
        self._sock = sock
        sock.settimeout(0)
        self._resume()

    def _resume(self) -> None:
        self._loop.add_reader(self._sock.fileno(), self._accept)

    def close(self) -> None:
        """Accept nothing more."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock.fileno())
        for timer in (self._timer, self._again):
            if timer is not None:
                timer.cancel()
        self._sock.close()
        RESERVE.doors -= 1
        if not RESERVE.doors:
            RESERVE.close()

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            full = self._is_full()
            if full and (self._closing or self._drop_oldest()):
                return  # the loop closes it, and then looks here again
            if len(self.asking) >= max(_limit() // _SHARE, 1):
                self._drop_silent()
                return
            peer = self._next()
            if peer is None:
                return
            peer.settimeout(0)
            self._take(peer, full=full)
            if self._is_full():
                return

    def _is_full(self) -> bool:
        return len(self.guests) >= self._most

    def _next(self) -> socket.socket | None:
        """Accept a connection; None if there is none, or no descriptor for it."""
        try:
            return self._sock.accept()[0]
        except (BlockingIOError, InterruptedError, ConnectionError):
            return None
        except OSError as error:
            if error.errno not in _STARVED:
                raise
            # The kernel looks for a descriptor first, so that this is no sign of a connection.
            if self._somebody_waits() and not self._make_room():
                self._pause()
            return None

    def _somebody_waits(self) -> bool:
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def _take(self, peer: socket.socket, *, full: bool) -> None:
        if full:
            self._say("closes new connections: %d are open and busy", len(self.guests))
            with contextlib.suppress(OSError):
                self._refuse(peer)
            peer.close()
            return
        guest = Guest(self)
        self.guests.add(guest)
        self.asking[guest] = None
        self.watch()
        self._admit(peer, guest)

    def _make_room(self) -> bool:
        """Free a descriptor, so that the next connection can be accepted."""
        return bool(self._closing) or self._drop_oldest() or (not self._limits.public and RESERVE.lend())

    def _drop_oldest(self) -> bool:
        """Close the connection that has owed a request for longest, or has rested for longest."""
        for waiting in (self.asking, self.resting):
            for guest in waiting:
                self._close(guest)
                return True
        return False

    def _drop_silent(self) -> None:
        """Close the connection that has owed a request for longest, as soon as it has had time to say something."""
        wait = next(iter(self.asking)).since + _GRACE - time.monotonic()
        if wait <= 0:
            self._drop_oldest()
            return
        self._loop.remove_reader(self._sock.fileno())
        self._again = self._loop.call_later(wait, self._resume)

    def _close(self, guest: Guest) -> None:
        guest.busy()
        self._closing.add(guest)
        guest.drop()

    def waits_for(self, guest: Guest) -> bool:
        """Whether it is open, and was not told to go."""
        return guest in self.guests and guest not in self._closing

    def gone(self, guest: Guest) -> None:
        """Its connection is closed."""
        self.guests.discard(guest)
        self._closing.discard(guest)

    def _pause(self) -> None:
        self._say("accepts nothing for a moment: no descriptor is left")
        self._loop.remove_reader(self._sock.fileno())
        self._again = self._loop.call_later(_REST, self._resume)

    def _say(self, what: str, *facts: object) -> None:
        if time.monotonic() >= self._said_at + _SAY_AGAIN:
            self._said_at = time.monotonic()
            log.warning(f"%s {what}", self._name, *facts)  # noqa: G004 - the sentence is one of this module

    def watch(self) -> None:
        """See to it that whoever waits now is looked at in time."""
        if self._timer is None and (soonest := self._soonest()) is not None:
            self._timer = self._loop.call_later(max(soonest - time.monotonic(), 0.0), self._look)

    def _soonest(self) -> float | None:
        limits = ((self.asking, self._limits.asks_within), (self.resting, self._limits.rests))
        ends = [guest.since + most for waiting, most in limits if most is not None for guest in _first(waiting)]
        return min(ends, default=None)

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        for waiting, most in ((self.asking, self._limits.asks_within), (self.resting, self._limits.rests)):
            for guest in tuple(waiting):
                if most is None or guest.since + most > now:
                    break
                self._close(guest)
        self.watch()


def _first(waiting: dict[Guest, None]) -> tuple[Guest, ...]:
    for guest in waiting:
        return (guest,)
    return ()


@contextlib.asynccontextmanager
async def admitting(
    sock: socket.socket,
    name: str,
    limits: Limits,
    admit: Callable[[socket.socket, Guest], None],
    refuse: Callable[[socket.socket], None] = lambda _: None,
) -> AsyncGenerator[Gate]:
    """Admit connections while inside. The socket is closed at the end; connections are whoever admitted them's."""
    gate = Gate(sock, name, limits, admit, refuse)
    gate.open()
    try:
        yield gate
    finally:
        gate.close()
