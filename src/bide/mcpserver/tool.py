"""What a tool is, what a call of it knows, and what it answers. Nothing here knows the protocol."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from bide.api import Jobs
from bide.mcpserver.display import CHOICES, Display, display_of
from bide.mcpserver.scope import Own, Reach, owner_in
from bide.mcpserver.shown import Memory, Showing
from bide.model.errors import BideError
from bide.model.job import Job
from bide.model.question import Posed
from bide.model.schema import Json

Progress = Callable[[float, str], Awaitable[None]]


class Caller(Struct, frozen=True):
    """The client on the other side of a connection."""

    owner: str
    client: str
    """The name it gives itself."""
    cwd: str
    env: Mapping[str, str]
    connection: str
    """Names the connection for as long as its client lives, over restarts of the daemon."""
    patience: float | None = None
    """Seconds one call may take, where configured."""
    toolsets: tuple[str, ...] = ("core",)
    connected_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    scope: str = "own"
    shared: tuple[str, ...] = ()
    attended: bool = False
    """It is known when it goes away, so that jobs can end with it."""
    channel: bool = False
    """It can be woken by what is said to it unasked."""
    output: str | None = None
    """Which part of an answer carries output to its model, where configured."""

    @property
    def display(self) -> Display:
        """Which part of an answer carries output to its model."""
        return display_of(self.client, self.output)

    @property
    def reach(self) -> Reach:
        """What it may see beside its own jobs."""
        return Reach(self.scope, self.cwd, self.shared)


def caller_of(hello: Json) -> Caller:
    """The caller, from what its copier says first."""
    return Caller(
        owner=owner_in(hello),
        client=str(hello.get("client") or ""),
        cwd=str(hello["cwd"]),
        env={str(key): str(value) for key, value in dict(hello["env"]).items()},
        connection=re.sub(r"[^0-9a-zA-Z]", "", str(hello["connection"]))[:64],
        patience=float(hello["patience"]) if hello.get("patience") else None,
        toolsets=tuple(str(name) for name in hello.get("tools") or ("core",)),
        connected_at=datetime.fromtimestamp(float(hello.get("connected_at") or time.time()), UTC),
        attended=bool(hello.get("attended")),
        channel=bool(hello.get("channel")),
        output=str(hello["output"]) if hello.get("output") in CHOICES else None,
        scope=str(hello.get("scope") or "own"),
        shared=tuple(str(owner) for owner in hello.get("shared") or ()),
    )


class Call(Struct, frozen=True):
    """One call of a tool."""

    jobs: Jobs
    own: Own
    """The caller's jobs among them."""
    caller: Caller
    key: str
    """The same if the same request comes again after a restart of the daemon."""
    progress: Progress
    later: Callable[[Callable[[], Awaitable[object]]], object]
    """Does something that the answer need not wait for."""
    longest: float
    """Seconds that the client can be kept waiting."""
    elicit: Callable[[Posed], Awaitable[object]] | None = None
    """Has the client put a question to its user; `None` where it cannot."""
    asks_again: bool = False
    """The client can, but by being told so, and making the same call again with what its user said."""
    unanswered: frozenset[str] = frozenset()
    """What its user was asked before, and did not say."""
    shown: Showing = field(default_factory=lambda: Showing(Memory()))
    """How far the client was shown each job's output."""
    mark: str = field(default_factory=lambda: secrets.token_hex(2))
    """What sets our words in this answer apart from a job's."""


class InputNeeded(Exception):
    """The answer to a question comes with another call, which is the same one."""

    def __init__(self, posed: Posed) -> None:
        """The question."""
        super().__init__(posed.id)
        self.posed = posed


class Answer(Struct, frozen=True):
    """An answer, complete as text and complete as data."""

    text: str
    data: Json
    is_error: bool = False
    aside: str = ""
    """What else is to be said, and is no part of it."""
    own: str = ""
    """The job that the call itself began and whose end this is: nobody is told of it again, not even after a lost connection."""
    bare: bool = False
    """Sent without the data: a client that finds data shows its model nothing else."""
    brief: str | None = None
    """The text for clients to whom the data carries the output; with it, the answer is fitted to each client."""
    facts: Json | None = None
    """The data for clients to whom the text carries the output; `None` with a `brief` if they get the text alone."""


def fitted(answer: Answer, display: Display, *, ours: bool) -> Answer:
    """Return the answer with its output where this client's model finds it, and nowhere else; `ours`: of bide's own tools."""
    if display is Display.ALONE:
        return replace(answer, bare=ours or answer.brief is not None)
    if answer.brief is None:
        return answer
    if display is Display.DATA:
        return replace(answer, text=answer.brief)
    return replace(answer, bare=True) if answer.facts is None else replace(answer, data=answer.facts)


def sendable(answer: Answer) -> Answer:
    """The answer without what no message can carry: bytes that are no text are halves of surrogate pairs here."""
    whole = json.dumps([answer.text, answer.data, answer.aside], ensure_ascii=False)
    try:
        whole.encode()
    except UnicodeEncodeError:
        text, data, aside = json.loads(whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        return replace(answer, text=text, data=data, aside=aside)
    return answer


def refusal(error: BideError) -> Answer:
    """An error in bide's own words."""
    return Answer(str(error), {"error": {"code": error.code, "message": str(error)}}, is_error=True)


class Tool(Struct, frozen=True):
    """A tool as clients see it, and who does it."""

    name: str
    description: str
    schema: Json
    act: Callable[[Call, Json], Awaitable[Answer]]
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    refuse: Callable[[BideError], Answer] = refusal
    """An error in this vocabulary's words; a wrong argument is a BadRequest whose facts name the `field`."""
    listed: bool = True
    """What is not listed answers all the same, to say why."""
    wider: Tool | None = None
    """Stands in for both where another toolset has a tool of this name: it takes the calls of either."""
    also: Json = field(default_factory=dict[str, Any])
    """Keywords of the schema that clients are shown and that `act` checks."""
    shown: Json | None = None
    """The schema that clients are shown, where it is shorter than the one that arguments are checked against."""
    task: Callable[[Call, Json], Awaitable[Job | None]] | None = None
    """Starts the job of a call whose client takes a task for it; `None` where the call is answered at once."""
    output: Json | None = None
    """The schema of its answers that are no errors."""
    meta: Json | None = None
    """What clients are told of it beside its schemas, under names with a prefix."""
    one_text: bool = False
    """Its answers have exactly one text: what else is to be said goes behind it."""
    needs_task: bool = False
    """Whether only such clients can call it."""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names under which a field is taken, as that of another tool: where it is a list, one value is a list of one."""
    timed: Callable[[Json], bool] = lambda _: False
    """Whether a call says itself when it is to be answered; it is a task only for clients that ask for one."""


def stateful_actions(tool: Tool) -> tuple[str, ...]:
    """Return what can be done to a handle of a tool; nothing where it makes none."""
    return tuple(tool.schema["properties"].get("action", {}).get("enum", ()))


def renamed(tool: Tool, given: Json) -> Json:
    """Return arguments under the names of the tool's own fields."""
    if tool.aliases.keys().isdisjoint(given):
        return given
    found = {key: value for key, value in given.items() if key not in tool.aliases}
    for key in given.keys() & tool.aliases.keys():
        name, value = tool.aliases[key], given[key]
        several = tool.schema["properties"][name]["type"] == "array"
        if several and isinstance(value, str):
            value = [value]
        elif not several and isinstance(value, list) and len(cast("list[object]", value)) == 1:
            value = cast("list[object]", value)[0]
        found.setdefault(name, value)
    return found
