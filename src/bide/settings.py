"""Settings of a home: what its `config.toml` says, over the defaults. Read once, when a runtime opens the home."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from bide.model.errors import BadSettings
from bide.model.fields import LARGEST
from bide.model.notify import FLAGS, Notify

MIB = 1024 * 1024
FILE = "config.toml"
LONGEST = timedelta(days=36_500)
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """How many jobs may run at once, and wait."""

    running: int | None = None
    """All jobs together; no limit if not given."""
    waiting: int = 10_000
    """Past this many queued jobs, another is refused."""
    groups: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many jobs of each group may run at once."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What sessions may hold."""

    most: int = 10
    """Past this many, the least recently active one is ended."""
    bytes: int = 50 * MIB
    """What the ended jobs of a session may hold together, before the oldest are forgotten."""
    shown_bytes: int = MIB
    """How much of each stream is shown, from its end."""
    keep: timedelta = timedelta(minutes=5)
    """A job is kept at least this long after its end."""


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long what is over is kept."""

    keep: timedelta = timedelta(days=30)
    """Ended jobs are forgotten after this long."""
    keep_unseen: timedelta = timedelta(days=90)
    """Those that nobody has seen are forgotten after this long; never sooner than those that somebody has."""
    bytes: int = 5 * 1024 * MIB
    """What all outputs may hold together, before the oldest go."""
    owner_grace: timedelta = timedelta(seconds=30)
    """How long an owner's last client may be away before the jobs that live with it are ended."""


@dataclass(frozen=True, slots=True)
class McpSettings:
    """How MCP clients reach this home, beside stdio."""

    port: int | None = None
    """Serve streamable HTTP on this port of the loopback address; not at all if not given."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Somebody who is told of jobs by being called: a webhook, a command, the desktop."""

    webhook: str = ""
    """Post each message to this URL."""
    secret: str = ""
    """Sign what is posted with this."""
    command: tuple[str, ...] = ()
    """Run this, with the message on its stdin."""
    desktop: bool = False
    """Show a desktop notification."""
    owner: str = ""
    """Tell of this owner's jobs alone; of everybody's if not given."""
    all: bool = False
    """Also of what its owner was told already, or watches."""
    gather: timedelta = timedelta(seconds=1)
    """Wait this long for more, so that what happens together is one message."""
    on_success: bool | None = None
    on_failure: bool | None = None
    on_kill: bool | None = None
    on_waiting: bool | None = None
    on_ready: bool | None = None
    on_stalled: bool | None = None
    on_error: bool | None = None
    on_content: bool | None = None

    @property
    def notify(self) -> Notify:
        """What it wants to be told."""
        return Notify(**{flag: getattr(self, flag) for flag in FLAGS})


@dataclass(frozen=True, slots=True)
class OutboxSettings:
    """What is told of jobs, where neither a job nor who is told says otherwise."""

    on_success: bool = True
    on_failure: bool = True
    on_kill: bool = False
    on_waiting: bool = True
    on_ready: bool = True
    on_stalled: bool = True
    on_error: bool = False
    on_content: bool = False
    stalled_after: timedelta = timedelta(minutes=10)
    """A job that wrote nothing for this long is stalled; with '0s' none ever is."""
    sinks: Mapping[str, SinkSettings] = field(default_factory=dict[str, SinkSettings])

    @property
    def notify(self) -> Notify:
        """What is told."""
        return Notify(**{flag: getattr(self, flag) for flag in FLAGS})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set for a home."""

    queue: QueueSettings = field(default_factory=QueueSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    outbox: OutboxSettings = field(default_factory=OutboxSettings)


def load(home: str) -> Settings:
    """The settings of a home. Raises BadSettings, which names the file and the key."""
    return check(read(home) or {}, os.path.join(home, FILE))


def check(found: Mapping[str, Any], path: str) -> Settings:
    """The settings that a file says. Raises BadSettings, with the path of the file."""
    return _filled(Settings(), found, path, "")


def read(home: str) -> dict[str, Any] | None:
    """What the file says, unchecked; `None` if there is none. Raises BadSettings."""
    path = os.path.join(home, FILE)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadSettings(path=path, detail=f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadSettings(path=path, detail=f"it is not TOML ({error})") from error


def _filled(default: T, found: Mapping[str, Any], path: str, within: str) -> T:
    known = {one.name: getattr(default, one.name) for one in fields(cast("Any", default))}
    given: dict[str, Any] = {}
    for key, value in found.items():
        name = f"{within}{key}"
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {within}{near[0]}" if near else f"known are {', '.join(known)}"
            raise BadSettings(path=path, detail=f"there is no setting {name!r}; {hint}")
        given[key] = _value(known[key], value, path, name)
    return cast("T", replace(cast("Any", default), **given))


def _value(default: object, value: object, path: str, name: str) -> object:
    if is_dataclass(default):
        if not isinstance(value, dict):
            raise BadSettings(path=path, detail=f"{name!r} is a section, written [{name}]")
        return _filled(default, cast("dict[str, Any]", value), path, f"{name}.")
    return _of_outbox(default, value, path, name) if name.startswith("outbox.") else _number(default, value, path, name)


def _number(default: object, value: object, path: str, name: str) -> object:
    if isinstance(default, timedelta):
        return _checked(_duration(value), path, name, "a time such as '30s', '5m', '2h' or '30d', at most '36500d'")
    if isinstance(default, Mapping):
        numbers = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        for key, number in numbers.items():
            _checked(_whole(number), path, f"{name}.{key}", "a whole number")
        return _checked(numbers if isinstance(value, dict) else None, path, name, "a section of whole numbers")
    if name.endswith("bytes"):
        return _checked(_size(value), path, name, "a size such as 1048576, '512K', '10M', '5G' or '1T'")
    return _checked(_whole(value), path, name, "a whole number")


def _of_outbox(default: object, value: object, path: str, name: str) -> object:
    if name == "outbox.sinks":
        return _sinks(value, path, name)
    if isinstance(default, timedelta):
        return _checked(_duration(value), path, name, "a time such as '30s', '5m', '2h' or '30d', at most '36500d'")
    return _plain(default, value, path, name)


def _sinks(value: object, path: str, name: str) -> Mapping[str, SinkSettings]:
    found = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BadSettings(path=path, detail=f"{name!r} has a section for each sink, written [{name}.NAME]")
    sinks: dict[str, SinkSettings] = {}
    for key, section in found.items():
        within = f"{name}.{key}"
        sink = _filled(SinkSettings(), cast("dict[str, Any]", section), path, f"{within}.")
        if sum(map(bool, (sink.webhook, sink.command, sink.desktop))) != 1:
            raise BadSettings(path=path, detail=f"{within!r} needs one of webhook, command or desktop = true")
        if sink.webhook and not sink.webhook.startswith(("http://", "https://")):
            raise BadSettings(path=path, detail=f"'{within}.webhook' must be an http or https URL")
        sinks[key] = sink
    return sinks


def _plain(default: object, value: object, path: str, name: str) -> object:
    if isinstance(default, str):
        return _checked(value if isinstance(value, str) and value else None, path, name, "a text that is not empty")
    if isinstance(default, tuple):
        words = cast("list[object]", value) if isinstance(value, list) else []
        right = bool(words) and all(isinstance(word, str) for word in words)
        return _checked(tuple(words) if right else None, path, name, "a list of words")
    return _checked(value if isinstance(value, bool) else None, path, name, "true or false")


def _checked(value: T | None, path: str, name: str, what: str) -> T:
    if value is None:
        raise BadSettings(path=path, detail=f"{name!r} must be {what}")
    return value


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _scaled(value: object, units: Mapping[str, float]) -> float | None:
    if not isinstance(value, str) or not value or value[-1] not in units:
        return None
    if not _NUMBER.fullmatch(value[:-1].strip()):
        return None
    return float(value[:-1]) * units[value[-1]]


def _size(value: object) -> int | None:
    whole = _whole(value)
    scaled = _scaled(value, {"K": 1024, "M": MIB, "G": 1024 * MIB, "T": 1024 * 1024 * MIB})
    size = whole if whole is not None else None if scaled is None else int(scaled)
    return None if size is None or size > LARGEST else size


def _duration(value: object) -> timedelta | None:
    seconds = _scaled(value, {"s": 1, "m": 60, "h": 3600, "d": 86400})
    return None if seconds is None or seconds > LONGEST.total_seconds() else timedelta(seconds=seconds)
