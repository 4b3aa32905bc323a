"""Decides how long a client goes on without an answer when daemons die or hang up."""

import time

from bide.model.errors import DaemonUnavailable

PAUSES = (0.02, 0.1, 0.4, 1.0, 2.0)
"""Seconds before each new try in a row; the last one again and again. One daemon may hang up so many times in a row."""
STEADY_SECONDS = 10.0
"""A connection that lasted this long counts as progress."""
GIVE_UP_SECONDS = 60.0
"""How long none may be had, after there was one."""
DEATHS = 20
"""Daemons that may die over one request that is to be answered at once: it may be what ends them."""


class Gone(Exception):
    """The connection ended before the answer did: the daemon went away, or hung up."""

    def __init__(self, why: str = "", daemon: int = 0) -> None:
        """`daemon` is its pid, where that is known."""
        super().__init__(why or "the connection was closed")
        self.daemon = daemon


class Patience:
    """Counts failures in a row. What comes between, bytes or time, starts the count anew."""

    def __init__(self, home: str, *, lasting: bool = True) -> None:
        """Nothing has failed yet. A `lasting` request goes on over any number of daemons that die."""
        self._home = home
        self._lasting = lasting
        self._daemon = 0
        self._hung_up = 0
        self._failures = 0
        self._since = time.monotonic()
        self._had_at: float | None = None

    def progressed(self) -> None:
        """Something new has come."""
        self._failures = self._hung_up = 0
        self._had_at = time.monotonic()

    def failed(self, error: "Gone | DaemonUnavailable") -> None:
        """Wait a little before the next try; raises DaemonUnavailable when there is no hope."""
        time.sleep(self.pause(error))

    def pause(self, error: "Gone | DaemonUnavailable") -> float:
        """Return how long to wait before the next try; raises DaemonUnavailable when there is no hope."""
        now = time.monotonic()
        if now - self._since > STEADY_SECONDS:
            self._failures = self._hung_up = 0
        if isinstance(error, Gone):
            self._hung_up_by(error)
            self._had_at = now
        elif self._had_at is None or now - self._had_at > GIVE_UP_SECONDS:
            raise error
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        self._since = now
        return pause

    def _hung_up_by(self, gone: Gone) -> None:
        if gone.daemon != self._daemon:
            self._daemon, self._hung_up = gone.daemon, 0
        if self._hung_up >= len(PAUSES):
            detail = f"process {gone.daemon} hung up {self._hung_up} times in a row ({gone})"
            raise DaemonUnavailable(home=self._home, detail=detail) from gone
        if not self._lasting and self._failures >= DEATHS:
            detail = f"{self._failures} daemons went away in a row over this request ({gone})"
            raise DaemonUnavailable(home=self._home, detail=detail) from gone
        self._hung_up += 1
