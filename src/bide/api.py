"""The verbs. One Protocol, done on this machine by `runtime` and over the socket by `client`.

The docstrings here are the ones the doors show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol, Unpack

from bide.beside import Conversations, Events, Groups, Llm, Outbox, Services, Sessions, Upkeep
from bide.model.excerpt import BUDGET, Excerpt
from bide.model.job import Job
from bide.model.output import Slice, Stream
from bide.model.request import Request, RunOptions
from bide.model.results import Filter, Group, Killed, Page, Ran, SessionEnded, SessionStarted
from bide.model.until import Until
from bide.model.waiting import Mode, Waited
from bide.questions import Questions

__all__ = [
    "BUDGET",
    "PAGE",
    "READ_LIMIT",
    "Conversations",
    "Events",
    "Excerpt",
    "Filter",
    "Group",
    "Groups",
    "Jobs",
    "Killed",
    "Llm",
    "Outbox",
    "Page",
    "Questions",
    "Ran",
    "Services",
    "SessionEnded",
    "SessionStarted",
    "Sessions",
    "Upkeep",
]

READ_LIMIT = 1024 * 1024
"""The most bytes of one read; more of it is read from `next` on."""
PAGE = 50


class Jobs(Protocol):
    """The verbs of jobs. Wherever an id is taken, a name is taken as well: the owner's active job, else the newest."""

    @property
    def groups(self) -> Groups:
        """Limits on how many run at once."""
        ...

    @property
    def events(self) -> Events:
        """What happens to them, as it happens."""
        ...

    @property
    def llm(self) -> Llm:
        """LLM command lines."""
        ...

    @property
    def services(self) -> Services:
        """What services have beyond these."""
        ...

    @property
    def sessions(self) -> Sessions:
        """The sessions that jobs can run in."""
        ...

    @property
    def outbox(self) -> Outbox:
        """Who is to be told what of jobs."""
        ...

    @property
    def questions(self) -> Questions:
        """What they ask, and who answers."""
        ...

    async def run(self, command: str | Sequence[str] | Request, **options: Unpack[RunOptions]) -> Ran:
        """Start a command as a job and answer with its end, or with the job itself.

        The job is durable before its id is given out. In the foreground the answer comes at its end, with the tails of
        its output; past the deadline it is deferred: the job goes on and the answer says so. In the background the
        answer comes as soon as it runs, or, if its turn has not come, as soon as it is queued. A request that asks for
        reuse may join an equal job instead. Cancelling the call never touches the job.
        """
        ...

    async def get(self, job: str, *, owner: str | None = None) -> Job:
        """One job as it is now: phase, end, usage, whether it waits for input. With an `owner`, only its own jobs are found."""
        ...

    async def list(self, where: Filter = ..., *, limit: int = PAGE, before: str | None = None) -> Page:
        """Jobs, newest first, one page at a time."""
        ...

    async def wait(
        self,
        jobs: Sequence[str],
        *,
        mode: Mode = Mode.ALL,
        until: Until = ...,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
    ) -> Waited:
        """Wait until any or all of the jobs ended, or until a condition holds; costs nothing meanwhile.

        A timeout is a result, not an error. Cancelling a wait never touches the jobs.
        """
        ...

    async def read(
        self,
        job: str,
        *,
        stream: Stream = Stream.OUT,
        offset: int | None = None,
        limit: int = READ_LIMIT,
        tail: int | None = None,
        grep: str | None = None,
        follow: timedelta | None = None,
    ) -> Slice:
        """Bytes of one stream, from an absolute offset or as the last `tail` lines, and at most the last `limit` bytes of them.

        One read has at most 1 MiB; go on from `next`. Joining successive reads gives the output byte for byte. If the offset was dropped the slice begins at the head
        and says so. With `grep`, only whole lines that match the regular expression, each with its offset. With
        `follow`, an empty read waits that long for more bytes or the end.
        """
        ...

    async def excerpt(
        self,
        job: str,
        *,
        stream: Stream | None = None,
        budget: int = BUDGET,
        since: Mapping[Stream, int] | None = None,
    ) -> Excerpt:
        """Show what is worth reading of a job's output in at most `budget` characters: what went wrong, and the end.

        All of the output is looked through, however long it is. What fits is whole; else lines that say what went wrong
        and rare lines come before frequent ones, the end is always there, and repeats are folded. Each piece has its
        bytes, so that `read` gives what is left out. Of both streams unless one is named; the budget goes where there is
        something to show. With `since`, only what comes after these offsets; the next call takes `next` of each part.
        """
        ...

    async def send(
        self,
        job: str,
        *,
        data: bytes = b"",
        eof: bool = False,
        signal: int | None = None,
        at: int | None = None,
        key: str | None = None,
        pause: bool | None = None,
    ) -> Job:
        """Write bytes to a job's stdin or terminal, close it, send its process group a signal, pause or resume it.

        With `at`, the data is what begins at this byte of all its input: what is there already is not written again, so
        that whoever does not know whether it was heard can say it once more; with a `key`, the same without knowing the
        place. What is written to a queued job it finds
        when it starts. With `pause`, its whole tree is stopped, and the answer comes when it is; with False it goes on.
        Its time limit counts meanwhile.
        """
        ...

    async def kill(
        self, job: str, *, signal: int = 15, grace: timedelta = timedelta(seconds=5), by: str = "user"
    ) -> Killed:
        """Signal the whole tree, wait for the grace time, then KILL what is left (grace 0: no KILL).

        Reaches children that left the group or session. Answers when the tree is verified empty, or says what survives.
        On an ended job it ends the descendants that outlived it.
        """
        ...

    async def forget(self, job: str) -> None:
        """Remove an ended job's record and output; its id then says that it was forgotten, and when."""
        ...
