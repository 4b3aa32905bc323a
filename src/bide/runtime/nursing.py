"""Asking the nursery for keepers, and starting another nursery when it is gone."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable

from bide.keeper import launch
from bide.runtime.hub import Hub
from bide.runtime.spares import PREFIX, Spares

log = logging.getLogger(__name__)

_NUMBERS = itertools.count(1)


class Nursing:
    """Keepers on request; what becomes of each request is told by id."""

    def __init__(
        self,
        new: str,
        hub: Hub,
        made: Callable[[str, int, int], None],
        gone: Callable[[], None],
        opened: Callable[[], launch.Nursery],
        spares: int,
    ) -> None:
        """`made(id, pid, pidfd)` for every keeper made (pid below 0: an errno), `gone()` when a nursery died.

        `opened` is what opens one. As many spare keepers as wanted wait in the folder `new`.
        """
        self._hub = hub
        self._made = made
        self._gone = gone
        self._opened = opened
        self._nursery = launch.Nursery()
        self.spares: Spares = Spares(new, hub, self._ask_spares, spares)
        self.number: int = 0
        """Which nursery it is; no two of a process have the same number."""

    @property
    def pid(self) -> int:
        """The nursery itself."""
        return self._nursery.pid

    def ask(self, path: str, *, replace: bool = False, in_fd: int = -1, tty_fd: int = -1) -> int:
        """Have a keeper made, by a new nursery if the old one is gone; the number of the nursery. Raises OSError."""
        try:
            self._nursery.ask(path, replace=replace, in_fd=in_fd, tty_fd=tty_fd)
        except OSError:
            self._renew()
            self._nursery.ask(path, replace=replace, in_fd=in_fd, tty_fd=tty_fd)
        return self.number

    def _ask_spares(self, number: int, path: str) -> None:
        self._nursery.ask_spares(number, path)

    def _renew(self) -> None:
        if self._nursery.fileno() >= 0:
            self._read()
        self.close()
        self._nursery = self._opened()
        self.number = next(_NUMBERS)
        self._hub.call_soon(self._gone)
        self._hub.watch(self._nursery.fileno(), self._read)

    def _read(self) -> None:
        answers = self._nursery.answers()
        if answers is None:
            self.close()
            log.warning("the nursery is gone; what it was asked for is asked again")
            self.number = next(_NUMBERS)
            self._hub.call_soon(self._gone)
            return
        self._take(answers)

    def _take(self, answers: list[tuple[int, int, str]]) -> None:
        for pid, fd, path in answers:
            name = os.path.basename(path)
            if name.startswith(PREFIX):
                self.spares.made(path, fd)
            else:
                self._made(name, pid, fd)

    def close(self) -> None:
        """Let the nursery end; keepers go on, spare ones leave."""
        if self._nursery.fileno() >= 0:
            self._hub.unwatch(self._nursery.fileno())
            self._take(self._nursery.close())
        self.spares.forget()
