"""What happens to a job while it runs, and is to be told: that it waits, is ready, is silent, writes, meets an error.

Output is looked at only for jobs of which somebody wants to be told what they write: looking costs.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

import anyio

from bide.keeper import folder, services
from bide.model.job import Job
from bide.model.news import clean_line, is_error
from bide.model.notice import notice
from bide.model.notify import What
from bide.model.output import Match, Stream
from bide.model.pacing import GATHER_SECONDS, Pace, last_lines
from bide.model.phase import Running
from bide.runtime import starting
from bide.runtime.consumers import Consumers
from bide.runtime.core import Core, now, size_of
from bide.runtime.hub import heard
from bide.runtime.live import Live
from bide.runtime.prompts import SURE
from bide.runtime.reading import LineScanner, kept, watching

_AT_ONCE = 50


class _Noticing:
    """The notices of one runtime."""

    def __init__(self, core: Core, consumers: Consumers) -> None:
        self._core = core
        self._consumers = consumers
        self._after = consumers.settings.stalled_after.total_seconds()
        self._due: dict[str, tuple[float, Live]] = {}
        """When each job is next looked at, should it be silent until then."""
        self._timed = False

    def _tell(self, job: Job, what: What, *, place: int | None = None, detail: str = "") -> None:
        self._core.seen.noticed.add(job.id)
        self._consumers.record(job, notice(job, what, now(), place=place, detail=detail))

    def waiting(self, live: Live) -> None:
        """It asks for something, or asks no longer; the same question is told once, by where in its output it stands."""
        if not live.ended and folder.read_live(live.path).get("waiting") == SURE:
            self._tell(live.job, What.WAITING, place=size_of(live.path, "out") + size_of(live.path, "err"))

    def ready(self, live: Live) -> None:
        """A service is ready."""
        self._tell(live.job, What.READY)

    def added(self, live: Live, *, known: bool = False) -> None:
        """A job is active from now on; what one that was `known` before has written is no news."""
        if self._after and live.job.spec.service is None:
            self._look_after(live)
        if self._consumers.anybody_wants(live.job, What.OUTPUT, What.ERROR):
            self._core.spawn(lambda: self._listen(live, known=known))

    def dropped(self, live: Live) -> None:
        """It no longer is."""
        self._core.seen.noticed.discard(live.job.id)
        self._due.pop(live.job.id, None)

    def taken_up(self, live: Live) -> None:
        """What became so while nobody listened."""
        self.added(live, known=True)
        if live.job.spec.stdin or live.job.spec.pty:
            self.waiting(live)
        if live.job.spec.service is not None and services.read_ready(live.path) is not None:
            self.ready(live)

    # Silence.

    def _look_after(self, live: Live) -> None:
        """One timer is for all jobs, and never too late: nobody is looked at later than who comes last."""
        self._due[live.job.id] = (time.monotonic() + self._after, live)
        if not self._timed:
            self._set_timer(self._after)

    def _set_timer(self, seconds: float) -> None:
        self._timed = True
        self._core.hub.call_later(seconds, self._look_around)

    def _look_around(self) -> None:
        at = time.monotonic()
        for due, live in list(self._due.values()):
            if due <= at:
                self._look(live)
        self._timed = False
        if self._due:
            self._set_timer(max(0.0, min(due for due, _ in self._due.values()) - at))

    def _look(self, live: Live) -> None:
        if live.ended:
            self._due.pop(live.job.id, None)
            return
        page = folder.read_live(live.path)
        silent = time.time() - self._spoke(live)
        if not isinstance(live.job.phase, Running) or page.get("waiting") == SURE or page.get("paused"):
            silent = 0.0
        if silent >= self._after:
            place = size_of(live.path, "out") + size_of(live.path, "err")
            self._tell(live.job, What.STALLED, place=place, detail=f"{silent:.0f}")
            silent = 0.0
        self._due[live.job.id] = (time.monotonic() + self._after - silent, live)

    def _spoke(self, live: Live) -> float:
        """When it last wrote, or began."""
        phase = live.job.phase
        times = [phase.started_at.timestamp()] if isinstance(phase, Running) else [time.time()]
        for stream in Stream:
            with suppress(OSError):
                times.append(os.stat(f"{live.path}/{stream}").st_mtime)
        return max(times)

    # Output.

    async def _listen(self, live: Live, *, known: bool) -> None:
        if live.inserted is not None:
            # Its output is looked for where its folder is once its row is on disk.
            await starting.accepted(self._core, live.inserted)
            self._core.keeping.accepted(live)
        starts = {stream: kept(self._core, live.job, stream).size if known else 0 for stream in Stream}
        scanners = [LineScanner(self._core, stream, starts[stream]) for stream in Stream]
        wants_error = self._consumers.anybody_wants(live.job, What.ERROR)
        wants_output = self._consumers.anybody_wants(live.job, What.OUTPUT)
        pace = Pace(time.monotonic())
        with watching(live):
            while not live.ended:
                # What comes within a moment is told together.
                await anyio.sleep(max(GATHER_SECONDS, pace.wait(time.monotonic())))
                with heard([live.output, live.changed]) as alarm:
                    found = [(scanner.stream, list(scanner.lines(live.job))) for scanner in scanners]
                    if not any(lines for _, lines in found):
                        await alarm.wait()
                        continue
                lines = [line for _, some in found for line in some]
                if wants_error:
                    wants_error = not self._first_error(live.job, lines)
                if wants_output:
                    for stream, some in found:
                        self._more(live.job, stream, some)
                    pace.take()

    def _first_error(self, job: Job, lines: list[Match]) -> bool:
        for line in lines:
            said = clean_line(line.line[:1000].decode("utf-8", "replace"))
            if is_error(said):
                self._tell(job, What.ERROR, detail=said)
                return True
        return False

    def _more(self, job: Job, stream: Stream, lines: list[Match]) -> None:
        if lines:
            start, end, left = last_lines([(line.offset, line.offset + len(line.line) + 1) for line in lines])
            detail = {"stream": str(stream), "from": start, "to": end, "left_out": left}
            self._tell(job, What.OUTPUT, place=start, detail=json.dumps(detail))


def watch(core: Core, consumers: Consumers) -> None:
    """Have what happens to active jobs told, also what happened while nobody listened."""
    noticing = _Noticing(core, consumers)
    keeping = core.keeping
    keeping.on_waiting.append(noticing.waiting)
    keeping.on_ready.append(noticing.ready)
    keeping.table.added.append(noticing.added)
    keeping.table.dropped.append(noticing.dropped)
    _take_up(core, noticing, list(keeping.table.live.values()))


def _take_up(core: Core, noticing: _Noticing, lives: list[Live]) -> None:
    """A few at a time, so that with many jobs the first callers need not wait for it."""
    for live in lives[:_AT_ONCE]:
        if not live.ended:
            noticing.taken_up(live)
    if rest := lives[_AT_ONCE:]:
        core.hub.call_soon(lambda: _take_up(core, noticing, rest))
