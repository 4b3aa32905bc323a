"""The status line while waiting: elapsed time and the last line of output, about once a second."""

import os
import select
import sys

from bide.cli.table import fit
from bide.cli.terminal import width
from bide.cli.times import seconds_since
from bide.client.blocking import Link
from bide.client.http1 import quote
from bide.model.errors import BideError, DaemonUnavailable
from bide.model.sanitize import one_line
from bide.model.units import show_duration
from bide.model.words import called, short_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bide.client.http1 import Json

_MOST_JOBS = 20
_ECHO = 3
"""Columns left free: a ^C that is echoed at the end of the line must not begin another, which would stay."""
_CLEAR = "\r\x1b[K"


class Progress:
    """One line on stderr, rewritten in place and cleared at the end."""

    def __init__(self, home: str, jobs: "Sequence[str]") -> None:
        """For these jobs, with a connection of its own that starts no daemon."""
        self._link = Link(home, starts=False)
        self._jobs = jobs
        self._shown = False

    def show_until_readable(self, fd: int) -> None:
        """Keep the line fresh until there is something to read."""
        seconds = 0.2
        while not select.select([fd], [], [], seconds)[0]:
            self._show(self._line())
            seconds = 1.0

    def clear(self) -> None:
        """Leave nothing on the screen."""
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False

    def _show(self, line: str) -> None:
        sys.stderr.write(_CLEAR + fit(one_line(line), width() - _ECHO))
        sys.stderr.flush()
        self._shown = True

    def _line(self) -> str:
        try:
            jobs = [self._link.call("GET", f"/v1/jobs/{quote(job)}") for job in self._jobs[:_MOST_JOBS]]
            active = [job for job in jobs if job["phase"] != "ended"]
            if not active:
                return "…"
            first = active[0]
            elapsed = show_duration(1000 * seconds_since(first["started_at"] or first["created_at"]))
            others = f" and {len(active) - 1} more" if len(active) > 1 else ""
            return f"{called(first)}{others} {short_status(first)} {elapsed}  {self._last_line(first)}"
        except DaemonUnavailable:
            return "the daemon is away; waiting for the next one"
        except BideError as error:
            return str(error)

    def _last_line(self, job: "Json") -> str:
        for stream in ("out", "err"):
            query = {"stream": stream, "tail": 1, "limit": 4096}
            answer = self._link.raw("GET", f"/v1/jobs/{job['id']}/output", query=query)
            line = answer.take().strip()
            if line and answer.status == 200:
                return os.fsdecode(line.rpartition(b"\r")[2])
        return ""
