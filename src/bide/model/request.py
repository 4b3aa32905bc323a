"""What a caller asks `run` for, before anything is decided about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict, Unpack

from msgspec import Struct, field

from bide.model.askfacts import AskFacts
from bide.model.dedup import Dedup, Policy
from bide.model.errors import BadRequest
from bide.model.fields import LARGEST
from bide.model.given import check_options, words_of
from bide.model.job import check_name
from bide.model.lifetime import Lifetime
from bide.model.limits import Limits
from bide.model.notify import Notify
from bide.model.service import Service, check_service
from bide.model.session import check_session_id
from bide.model.turn import NOW, Turn, check_turn

DEADLINE = timedelta(seconds=45)
TAIL_BYTES = 64 * 1024
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,99}\Z")
_LABEL_MAX = 200
COMMAND_MAX = 2 * 1024 * 1024
"""The kernel starts no program with more than 6 MiB of words, and usually with 2."""
KEY_MAX = 200
_LIFETIMES = frozenset(Lifetime)
_NO_LIMITS = Limits()
_NO_DEDUP = Dedup()
_AS_CONFIGURED = Notify()


class RunOptions(TypedDict, total=False):
    """The options of `run`; every one has a default."""

    cwd: str | None
    env: Mapping[str, str]
    base_env: Mapping[str, str] | None
    env_defaults: bool
    name: str | None
    label: str
    owner: str | None
    limits: Limits
    stdin: bool
    pty: bool
    merge: bool
    fence: bool
    background: bool
    deadline: timedelta | None
    key: str | None
    umask: int | None
    language: str | None
    session: str | None
    parent: str | None
    turn: Turn
    dedup: Dedup
    lifetime: Lifetime
    ttl: timedelta | None
    service: Service | None
    notify: Notify


class Request(Struct, frozen=True):
    """A run, as asked for."""

    command: str | tuple[str, ...]
    """A string is given to a shell; a sequence is executed as it is."""
    cwd: str | None = None
    """Where to run; the caller's own folder if not given."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to the environment, above everything else."""
    base_env: Mapping[str, str] | None = None
    """The environment to start from; the caller's own if not given."""
    env_defaults: bool = True
    """Set what suits unattended runs: no pager, no colour, CI, UTF-8."""
    name: str | None = None
    label: str = ""
    owner: str | None = None
    limits: Limits = _NO_LIMITS
    stdin: bool = False
    """Keep a stdin open for `send`; otherwise it is /dev/null."""
    pty: bool = False
    merge: bool = False
    fence: bool = True
    background: bool = False
    """Answer as soon as the job runs."""
    deadline: timedelta | None = DEADLINE
    """How long a foreground run may take before it is deferred; `None` waits for the end."""
    key: str | None = None
    """Asking again with the same key gives the same job."""
    new_key: bool = False
    """The key was made for this very call and never sent before, so that no job can have it."""
    followed: bool = False
    """Asked for by a door that follows the job to its end: in the foreground, although it is answered at once."""
    umask: int | None = None
    """The caller's own if not given."""
    language: str | None = None
    """The command is code in this language: `shell` or `python`."""
    session: str | None = None
    """Run it in this session: its folder, environment and variables."""
    parent: str | None = None
    """The job from which this is asked for; the one the caller runs in if not given."""
    turn: Turn = NOW
    dedup: Dedup = _NO_DEDUP
    lifetime: Lifetime = Lifetime.FREE
    ttl: timedelta | None = None
    """End it this long after it was asked for."""
    service: Service | None = None
    notify: Notify = _AS_CONFIGURED
    """What to tell of it."""
    input: bytes | None = None
    """With `stdin`: all that the job reads from it, on disk before the job starts."""
    ask: AskFacts | None = None
    """The command is that of an LLM, and this is what else is known of it."""

    @staticmethod
    def of(command: str | Sequence[str], **options: Unpack[RunOptions]) -> Request:
        """A checked request."""
        request = Request(words_of(command), **options)
        check(request)
        return request

    @staticmethod
    def asked(command: str | Sequence[str] | Request, options: RunOptions) -> Request:
        """What `run` was given, as one checked request."""
        if not isinstance(command, Request):
            return Request.of(command, **options)
        if options:
            raise BadRequest(detail="a Request already has its options; give one or the other")
        check(command)
        return command


def check(request: Request) -> None:
    """Refuse what cannot be meant, with a sentence that says what to do."""
    check_options(request, request.limits)
    _check_command(request.command)
    if request.name is not None:
        check_name(request.name)
    if request.owner is not None:
        check_owner(request.owner)
    if len(request.label) > _LABEL_MAX or not request.label.isprintable():
        raise BadRequest(detail=f"a label is one printable line of at most {_LABEL_MAX} characters")
    if request.key is not None and not 0 < len(request.key) <= KEY_MAX:
        raise BadRequest(detail=f"a key has 1 to {KEY_MAX} characters")
    check_env(request.env)
    _check_limits(request.limits)
    check_turn(request.turn)
    _check_service(request)
    _check_life(request)
    _check_rest(request)


def check_owner(owner: str) -> str:
    """The owner, if it can be one."""
    if not _OWNER.match(owner):
        raise BadRequest(detail=f"{owner!r} cannot be an owner; use up to 100 letters, digits and . _ : @ / -")
    return owner


def _check_command(command: str | tuple[str, ...]) -> None:
    words = (command,) if isinstance(command, str) else command
    if not words or not words[0].strip():
        raise BadRequest(detail="there is no command to run; give one, as in: bide run -- make test")
    if any("\0" in word for word in words):
        raise BadRequest(detail="a command cannot contain a NUL byte")
    if (size := sum(map(len, words))) > COMMAND_MAX:
        raise BadRequest(
            detail=f"a command has at most {COMMAND_MAX} characters, and this one {size}; write it to a file and run that"
        )
    if not all(_is_encodable(word) for word in words):
        raise BadRequest(detail="a command must be text; this one has half a surrogate pair in it")


def _is_encodable(text: str) -> bool:
    """Whether it can be handed to a program; bytes that are no text come as the halves U+DC80 to U+DCFF."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def check_env(env: Mapping[str, str]) -> None:
    """Refuse what cannot be in an environment."""
    for key, value in env.items():
        if not _are_texts(key, value) or not key or "=" in key or "\0" in key + value or not _is_encodable(key + value):
            raise BadRequest(
                detail=f"{key!r} cannot be an environment variable; names have no '=', and it is text without NUL bytes"
            )


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _check_limits(limits: Limits) -> None:
    if limits == _NO_LIMITS:
        return
    numbers = {
        "timeout": None if limits.timeout is None else limits.timeout.total_seconds(),
        "idle": None if limits.idle is None else limits.idle.total_seconds(),
        "output": limits.output_bytes,
        "memory": limits.memory_bytes,
        "cpus": limits.cpus,
        "pids": limits.pids,
    }
    for what, number in numbers.items():
        if number is not None and not 0 < number <= LARGEST:
            size = "is too large" if number > 0 else "must be above 0"
            raise BadRequest(detail=f"the {what} limit {size}; leave it out for none")
    if limits.grace < timedelta(0):
        raise BadRequest(detail="grace cannot be negative; 0 means no escalation to KILL")


def _check_service(request: Request) -> None:
    if request.service is None:
        return
    if request.name is None:
        raise BadRequest(detail="a service needs a name")
    check_service(request.service)


def _check_life(request: Request) -> None:
    if request.lifetime not in _LIFETIMES:
        raise BadRequest(detail=f"there is no lifetime {request.lifetime!r}; use {', '.join(Lifetime)}")
    if request.ttl is not None and request.ttl <= timedelta(0):
        raise BadRequest(detail="a time to live must be above 0; leave it out for none")
    if request.session is not None:
        check_session_id(request.session)
    elif request.lifetime == Lifetime.SESSION:
        raise BadRequest(detail="only a job in a session can end with it; give the session")
    if request.language is not None and not isinstance(request.command, str):
        raise BadRequest(detail="code is one text, not a list of words")
    if request.dedup.window < timedelta(0):
        raise BadRequest(detail="the window of dedup cannot be negative; 0 joins no job that ended")
    if request.dedup.fresh and request.dedup.policy is Policy.NEW:
        raise BadRequest(detail="fresh says that an equal job is not to be joined; give a policy of reuse as well")


def _check_rest(request: Request) -> None:
    if request.pty and request.merge:
        raise BadRequest(detail="a pty already merges stdout and stderr; leave merge out")
    if request.umask is not None and not 0 <= request.umask <= 0o777:
        raise BadRequest(detail=f"a umask is a number from 0 to 0o777, not {request.umask:#o}")
    if request.deadline is not None and request.deadline < timedelta(0):
        raise BadRequest(detail="a deadline cannot be negative; 0 answers at once, leave it out for the default")
