"""What there is beside the verbs of jobs, each a small Protocol, with the docstrings that the doors show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from typing import Any, Protocol, Unpack

from bide.model.event import Event
from bide.model.job import Job
from bide.model.llm.answer import Answer, Asked
from bide.model.llm.ask import Ask, AskOptions
from bide.model.llm.conversation import Conversation
from bide.model.llm.programs import Health, Models, Process, Program, Upgrade
from bide.model.llm.steps import SHOWN, Watched
from bide.model.notice import Level, Message, Outlook, Told
from bide.model.results import Group, Ran, SessionEnded, SessionStarted
from bide.model.retention import Collected
from bide.model.session import Session


class Groups(Protocol):
    """How many jobs of a group may run at once, or of all jobs together: there the group is `None`.

    What is set here holds over restarts, and over what the home's config.toml says. What runs goes on in any case.
    """

    async def list(self) -> tuple[Group, ...]:
        """All jobs together, then every group that has a limit, is paused, or has active jobs."""
        ...

    async def limit(self, group: str | None, most: int | None) -> Group:
        """Let at most so many run at once; `None` for any number."""
        ...

    async def pause(self, group: str | None) -> Group:
        """Start nothing more of it."""
        ...

    async def resume(self, group: str | None) -> Group:
        """Start again what waits."""
        ...


class Services(Protocol):
    """What services have beyond the verbs of jobs."""

    async def restart(self, job: str, *, grace: timedelta = ..., by: str = ...) -> Ran:
        """End a service, verified, if it runs; then start it as it was: same command, folder, environment and policy.

        The answer is that of a foreground run: when it is ready, or says that it was not in time. A service that has
        ended is started again. If something of it survives the kill, nothing is started.
        """
        ...


class Sessions(Protocol):
    """Shell-like places: what a run does to its folder, environment and variables holds for the next run."""

    async def start(
        self,
        session: str | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - the word for them everywhere
        base_env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> SessionStarted:
        """Open a session, with an id of the caller's or a short one of its own.

        It begins in the caller's folder and with the caller's environment unless others are given. If there are as
        many as may be, the least recently active one goes; its jobs go on.
        """
        ...

    async def update(
        self,
        session: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        vars: Mapping[str, Any] | None = None,  # noqa: A002
        drop: Sequence[str] = (),
    ) -> Session:
        """Change its folder, set and unset variables of its environment, set `vars` and drop some. All of it or nothing."""
        ...

    async def get(self, session: str) -> Session:
        """One session as it is now, with its newest jobs."""
        ...

    async def list(self, *, owner: str | None = None) -> tuple[Session, ...]:
        """The open sessions, the most recently active first."""
        ...

    async def job(self, session: str, job: str | int) -> Job:
        """One job of a session by its id, its name or its pid; a job of another session is not found."""
        ...

    async def end(self, session: str, *, forget: bool = False) -> SessionEnded:
        """Kill what is active in it, verified, and close it; with `forget`, forget its jobs as well.

        Without, they stay where all jobs are, under their owner.
        """
        ...


class Conversations(Protocol):
    """The threads that CLIs can go on with, as far as answers have named them; each owner has its own."""

    async def list(self, *, owner: str | None = None, cli: str | None = None) -> tuple[Conversation, ...]:
        """Those used within 30 days, the most recently used first."""
        ...

    async def get(self, conversation: str, *, owner: str | None = None) -> Conversation:
        """One of them. Raises ConversationNotFound."""
        ...

    async def start(
        self, cli: str, *, owner: str | None = None, title: str = "", active: bool = True, recorded: bool = True
    ) -> Conversation:
        """Name one that is to come: the first request with this id begins it, later ones go on with it. Gone with the daemon if not recorded."""
        ...

    async def activate(self, cli: str, conversation: str | None, *, owner: str | None = None) -> None:
        """Say which one of a CLI is the active one, or that none is. No request goes on with it unless it says so."""
        ...

    async def drop(self, conversation: str | None = None, *, cli: str | None = None, owner: str | None = None) -> int:
        """Forget one, or all of a CLI, or all; how many there were. The CLI still knows them."""
        ...


class Llm(Protocol):
    """LLM command lines as jobs: Claude Code, Codex, Gemini, Grok, Mistral Vibe, and what was added."""

    @property
    def conversations(self) -> Conversations:
        """The threads that they can go on with."""
        ...

    async def ask(self, cli: str | Ask, prompt: str | None = None, **options: Unpack[AskOptions]) -> Asked:
        """Ask an LLM's command line, as a job, and answer with what it said, or with the job itself.

        The job is durable before its id is given out. An equal request that runs, or that was answered within the
        window, is joined instead. Past the deadline the answer is deferred: the job goes on, and `answer` has it later.
        Cancelling the call never touches the job.
        """
        ...

    async def ask_once(self, asked: Ask, key: str | None = None) -> Asked:
        """Ask; with the same key a second time, be told of the first."""
        ...

    async def answer(self, job: str, *, owner: str | None = None) -> Answer:
        """The answer of a request by its job's id, its name or its correlation id; partial while it runs."""
        ...

    async def watch(
        self, job: str, *, after: int = 0, limit: int = SHOWN, wait: timedelta = timedelta(0), owner: str | None = None
    ) -> Watched:
        """How far a request came after the step of this number; if there is nothing new, wait until there is.

        It returns with what there is, the oldest first, when the request gets further, is over, or `wait` has passed.
        """
        ...

    async def programs(
        self, cli: str | None = None, *, login: bool = False, env: Mapping[str, str] | None = None
    ) -> tuple[Program, ...]:
        """Which CLIs are installed, in which version, and, if asked for, whether somebody is logged in."""
        ...

    async def health(self) -> tuple[Health, ...]:
        """How each CLI does: whether it is asked or was given a rest, and how many of its requests run and wait."""
        ...

    async def processes(self, *, owner: str | None = None) -> tuple[Process, ...]:
        """How the processes of running requests do at this moment, of an owner or of all."""
        ...

    async def models(self, cli: str | None = None) -> tuple[Models, ...]:
        """The models of each CLI that are known by name."""
        ...

    async def upgrade(
        self,
        cli: str,
        target: str | None = None,
        *,
        dry_run: bool = True,
        env: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> Upgrade:
        """What brings a CLI to a version, or to the newest; done, as a job of the owner's, only without `dry_run`; one that runs, or was done just now, is joined."""
        ...

    async def approvals(self, limit: int = 50) -> tuple[dict[str, Any], ...]:
        """What the gate decided lately, newest first."""
        ...

    async def persistence(self, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Where and for how long the answers of a caller with this environment are kept."""
        ...

    async def metrics(self) -> dict[str, Any]:
        """How many requests on record each CLI had, how many succeeded, and how long they took."""
        ...

    async def cache(
        self, *, conversation: str | None = None, prefix: str | None = None, env: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """How well the caches of providers served: of the last day, of one conversation, or of one stable prefix.

        What is enabled, and how long a cache holds, is said as the settings of a caller with this environment have it.
        """
        ...


class Upkeep(Protocol):
    """Who is there, and what of the past is kept."""

    def attend(self, owner: str) -> AbstractAsyncContextManager[None]:
        """While inside, a client of this owner is there: jobs that live with their owner go on.

        When the last one leaves, or dies, those jobs have the time of grace until another comes, and are then ended.
        """
        ...

    async def gc(
        self, *, dry_run: bool = False, older_than: timedelta | None = None, owner: str | None = None
    ) -> Collected:
        """Remove what retention no longer keeps, as the daemon does by itself; with `dry_run`, only say what would go.

        With `older_than`, forget the jobs that ended that long ago or longer, seen or not, of one owner or of all.
        """
        ...


class Events(Protocol):
    """What happens to jobs, as it happens."""

    async def newest(self) -> int:
        """The sequence number of the newest event; 0 before the first."""
        ...

    def follow(self, *, after: int | None = None, job: str | None = None) -> AsyncIterator[Event]:
        """Every move after this sequence number (by default: from now on), in order, for ever."""
        ...


class Outbox(Protocol):
    """Who is to be told what of jobs, durably: one row for each notice and consumer, until something has carried it.

    Every owner is a consumer of the notices on its own jobs; a consumer has a name as owners have.
    """

    async def pull(
        self,
        consumer: str,
        *,
        carrier: str = ...,
        timeout: timedelta | None = ...,  # noqa: ASYNC109 - the timeout is a result here, not a cancellation
        limit: int = ...,
        room: int = ...,
        least: Level = ...,
        known: Collection[str] = ...,
    ) -> Message:
        """Everything due to a consumer as one message, the most severe first; waits for it up to the timeout (`None`: for ever).

        Only what matters at `least` so much, and nothing that is `known` by its id: that stays due. What is ambient ends no wait. It stays due until it is acknowledged. With a carrier it is that carrier's alone until the carrier is settled or
        released, or ten minutes have passed. What its owner watches at this moment is not in it.
        """
        ...

    async def acknowledge(self, consumer: str, notices: Sequence[str]) -> int:
        """These arrived, and are never told again; how many were open."""
        ...

    async def report(self, job: str, act: str, *, by: str, key: str) -> None:
        """Tell the person, who is the consumer `user`, and all other consumers but its owner what was done to a job: `was sent SIGTERM`.

        It is on record on return, once for each key.
        """
        ...

    async def carry(self, consumer: str, notices: Sequence[str], carrier: str) -> int:
        """These were handed over by this carrier, who does not know yet whether they arrived; how many were open."""
        ...

    async def settle(self, carrier: str) -> int:
        """Whatever this carrier has in hand arrived; how much that was."""
        ...

    async def release(self, carrier: str) -> int:
        """Whatever this carrier has in hand is due again; how much that was."""
        ...

    async def list(self) -> tuple[Outlook, ...]:
        """How deliveries stand: to every consumer for whom something is open, and to those that asked or are configured."""
        ...

    async def subscribe(self, consumer: str, *, owner: str | None = None) -> None:
        """Tell this consumer of everybody's jobs from now on, or of one owner's; over restarts, until it unsubscribes."""
        ...

    async def unsubscribe(self, consumer: str) -> bool:
        """Tell it no more, and forget what there was to tell; whether it had subscribed."""
        ...

    def answering(self, asker: str) -> AbstractContextManager[Told]:
        """While inside, what the verbs answer goes to this asker, and counts as told when `told` says so, not before."""
        ...

    def told(self, told: Told, *, carrier: str = ...) -> None:
        """The answer arrived, or, with a carrier, was handed to it."""
        ...
