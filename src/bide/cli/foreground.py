"""A run in the foreground: the job's output passes through, and its status is ours."""

import os
import sys
import time

from bide.cli.exits import BROKEN_PIPE, INTERRUPTED, TIMED_OUT, UNWRITABLE
from bide.cli.following import Follower
from bide.cli.interrupts import Interrupts
from bide.cli.sinks import Sinks
from bide.cli.terminal import complain
from bide.client.http1 import quote
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.cli.echo import Echo
    from bide.cli.feeding import Feeder
    from bide.cli.replying import Reply
    from bide.client.blocking import Link
    from bide.client.http1 import Json


class Foreground:
    """One streamed run. Whatever ends this command, the job goes on unless the user asks for a kill."""

    def __init__(self, link: "Link", body: "Json", *, raw: bool, deadline_ms: int | None, joins: bool = False) -> None:
        """With the body of the request, which has a key. With `joins`, it may find a job that others asked for."""
        self._link = link
        self._sinks = Sinks(raw=raw)
        self._follower = Follower(link, self._sinks, lambda: link.stream("POST", "/v1/jobs", body, {"follow": 1}))
        self._feeds = bool(body["stdin"])
        self._feeder: Feeder | None = None
        self._echo = _hidden_echo() if self._feeds and body.get("pty") else None
        self._deadline = None if deadline_ms is None else time.monotonic() + deadline_ms / 1000
        self._interrupts = Interrupts()
        self._prompt_told = False
        self._stall_told = False
        self._reply: Reply | None = None
        self._joins = joins
        self._told = False

    def run(self) -> int:
        """Follow the job to its end, the deadline, or the user's leave; the answer is the exit status."""
        try:
            with self._interrupts:
                left_with = self._copy()
        except KeyboardInterrupt:
            left_with = self._detach()
        except OSError as error:
            left_with = self._unread(error)
        except BideError:
            if self._follower.job:
                self._say(f"job {self._id} goes on; {self._how_to_return}")
            raise
        finally:
            if self._echo is not None:
                self._echo.show()
        return self._report() if left_with is None else left_with

    @property
    def _id(self) -> str:
        return str(self._follower.job["id"])

    @property
    def _how_to_return(self) -> str:
        return f"come back with: bide wait {self._id}, or: bide logs -f {self._id}"

    def _say(self, sentence: str) -> None:
        """On a line of its own, where the job's output may have stopped in the middle of one."""
        self._sinks.end_line()
        complain(sentence)

    def _copy(self) -> int | None:
        """Copy until the job ends (None), or until there is another status to leave with."""
        while not self._follower.ended:
            seconds = None if self._deadline is None else self._deadline - time.monotonic()
            if seconds is not None and seconds <= 0 and self._follower.job:
                self._sinks.finish()
                self._say(f"job {self._id} is still {self._follower.job['phase']}; {self._how_to_return}")
                return TIMED_OUT
            try:
                ready = self._interrupts.poll(self._descriptors(), seconds)
            except KeyboardInterrupt:
                status = self._interrupted()
                if status is not None:
                    return status
                continue
            self._pump(ready)
        return None

    def _descriptors(self) -> list[int]:
        fds = [self._follower.fileno()]
        if self._feeder is not None and not self._feeder.done:
            fds.append(self._feeder.fileno())
        if self._reply is not None and self._reply.fileno() >= 0:
            fds.append(self._reply.fileno())
        return fds

    def _pump(self, ready: list[int]) -> None:
        if self._feeder is not None and not self._feeder.done and self._feeder.fileno() in ready:
            self._feeder.pump()
        if self._reply is not None and self._reply.fileno() in ready:
            self._reply.pump()
        if self._follower.fileno() in ready:
            self._follower.pump()
        self._tell_start()
        if self._feeds and self._feeder is None and self._follower.job:
            from bide.cli.feeding import Feeder  # noqa: PLC0415 - only a run with --stdin pays for it

            self._feeder = Feeder(self._link.home, self._id)
        self._tell_prompt()
        self._tell_stall()

    def _tell_stall(self) -> None:
        """Report when the job's output begins to wait for room on the disk, and when that is over."""
        stalled = bool(self._follower.job.get("stalled")) and not self._follower.ended
        if stalled is self._stall_told:
            return
        self._stall_told = stalled
        if stalled:
            from bide.model.words import STALLED  # noqa: PLC0415 - only a full disk pays for it

            self._say(f"job {self._id} is stalled: {STALLED}")
        elif not self._follower.ended or self._follower.job.get("missing_bytes") == 0:
            self._say(f"job {self._id} goes on: the disk has room again")

    def _tell_start(self) -> None:
        """Say once that the job is another's, which is not fed our input, or that it waits for its turn."""
        job = self._follower.job
        if self._told or not job:
            return
        self._told = True
        joined = self._joins and self._follower.joined
        self._feeds = self._feeds and not joined
        if joined and self._echo is not None:
            self._echo.show()
        if joined or job["phase"] == "queued":
            from bide.cli.turns import told  # noqa: PLC0415 - a job that starts at once does not pay for it

            said = told({"job": job, "joined": joined})
            if said and (joined or os.isatty(2)):
                self._say(said)

    def _tell_prompt(self) -> None:
        """Put what the job asks to whoever is here; of a program's own prompt, say once how to answer it."""
        waiting: Json | None = self._follower.job.get("waiting")
        if not waiting:
            return
        if waiting.get("question") and waiting["question"]["typed_at"] is None:
            from bide.cli.replying import Reply  # noqa: PLC0415 - only a job that asks pays for it

            self._reply = self._reply or Reply(self._link, feeds=self._feeds)
            self._reply.show(self._follower.job)
        elif not self._feeds and not self._prompt_told and os.isatty(2):
            self._prompt_told = True
            how = "may be waiting" if waiting.get("unsure") else "waits"
            self._say(f"job {self._id} {how} for input; answer it with: bide send {self._id} TEXT")

    def _interrupted(self) -> int | None:
        """Ctrl-C: the status to leave with, or None to go on."""
        while not self._follower.job:
            self._follower.pump()
        if self._follower.ended:
            return None
        if not (os.isatty(0) and os.isatty(2)):
            return self._detach()
        if self._echo is not None:
            self._echo.show()
        answer = self._ask()
        if self._echo is not None:
            self._echo.hide()
        if answer == "k":
            self._link.call("POST", f"/v1/jobs/{quote(self._id)}/kill", {"by": "user"})
        return self._detach() if answer == "d" else None

    def _ask(self) -> str:
        """What the user wants: `d`, `k`, or anything else to go on. Another Ctrl-C, or the end of input, is `d`."""
        question = f"\nbide: job {self._id} is running: [d]etach, [k]ill, or Enter to go on? "
        print(question, end="", file=sys.stderr, flush=True)
        self._sinks.end_line(with_newline=False)
        try:
            self._interrupts.poll([0])
            line = os.read(0, 1024).decode(errors="replace").lower()
        except KeyboardInterrupt:
            line = ""
        if not line:
            print(file=sys.stderr)
        return line.strip()[:1] if line else "d"

    def _detach(self) -> int:
        self._sinks.finish()
        if self._follower.job:
            self._say(f"detached; job {self._id} goes on; {self._how_to_return}")
        else:
            self._say("interrupted before the job's id was known; 'bide ls' shows whether it was started")
        return INTERRUPTED

    def _unread(self, error: OSError) -> int:
        """The output can go nowhere. That is no reason to end a job, and no secret if one goes on."""
        if not self._follower.job:
            raise error
        nobody = isinstance(error, BrokenPipeError)
        goes_on = self._link.call("GET", f"/v1/jobs/{quote(self._id)}")["phase"] != "ended"
        why = "nobody reads the output any more" if nobody else f"the output cannot be written: {error.strerror}"
        if goes_on:
            self._say(f"{why}; job {self._id} goes on; end it with: bide kill {self._id}")
        elif not nobody:
            self._say(f"{why}; it is kept, read it with: bide logs {self._id}")
        return BROKEN_PIPE if nobody else UNWRITABLE

    def _report(self) -> int:
        job = self._follower.job
        self._sinks.finish()
        if job["reason"] != "exited" or job.get("missing_bytes", 0) != 0:
            from bide.model.words import ended_how, missing, outlived  # noqa: PLC0415 - an ordinary end does not pay for it

            if job["reason"] != "exited":
                self._say(f"job {self._id} {ended_how(job)}")
            if left := outlived(job):
                self._say(f"job {self._id}: {left}")
            if missing(job):
                self._say(f"job {self._id}: {missing(job)}")
        return int(job["status"])


def _hidden_echo() -> "Echo":
    """Hidden before the job can ask for a password."""
    from bide.cli.echo import Echo  # noqa: PLC0415 - only a terminal of the job's own pays for it

    echo = Echo()
    echo.hide()
    return echo
