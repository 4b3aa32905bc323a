"""Settings of a home: what its `config.toml` says, over the defaults. Read once, when a runtime opens the home."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import fields, replace

from bide.model.errors import BadSettings
from bide.model.fields import LARGEST
from bide.model.handletools import HandlesSettings, ToolSettings, check_tool
from bide.model.llm.ask import Policy
from bide.model.llm.choices import LlmSettings
from bide.model.outboxsettings import OutboxSettings, SinkSettings
from bide.model.question import Policy as QuestionPolicy
from bide.model.questionsettings import ASKED, QuestionSettings

if TYPE_CHECKING:
    from bide.model.spawning import AgentToolSettings

MIB = 1024 * 1024
FILE = "config.toml"
CONVERSATION = "conversation"
"""The section of a file that has the tools of a program that embeds bide."""
LONGEST = timedelta(days=36_500)
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)


T = TypeVar("T")


class QueueSettings(Struct, frozen=True):
    """How many jobs may run at once, and wait."""

    running: int | None = None
    """All jobs together; no limit if not given."""
    waiting: int = 10_000
    """Past this many queued jobs, another is refused."""
    groups: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many jobs of each group may run at once."""


class LimitSettings(Struct, frozen=True):
    """What limits of memory, CPU and processes must be."""

    required: bool = False
    """Refuse a job with a limit that no control group can enforce."""


class SessionSettings(Struct, frozen=True):
    """What sessions may hold."""

    most: int = 10
    """Past this many, the least recently active one is ended."""
    bytes: int = 50 * MIB
    """What the ended jobs of a session may hold together, before the oldest are forgotten."""
    shown_bytes: int = MIB
    """How much of each stream is shown, from its end."""
    keep: timedelta = timedelta(minutes=5)
    """A job is kept at least this long after its end."""


class RetentionSettings(Struct, frozen=True):
    """How long what is over is kept."""

    keep: timedelta = timedelta(days=30)
    """Ended jobs are forgotten after this long."""
    keep_unseen: timedelta = timedelta(days=90)
    """Those that nobody has seen are forgotten after this long; never sooner than those that somebody has."""
    bytes: int = 5 * 1024 * MIB
    """What all outputs may hold together, before the oldest go."""
    owner_grace: timedelta = timedelta(seconds=30)
    """How long an owner's last client may be away before the jobs that live with it are ended."""


class JobToolSettings(Struct, frozen=True):
    """What the MCP toolset `job` does."""

    poll_wait: str = "30s"
    """How long a poll waits: 5s, 10s, 30s, 1m, 5m or smart; anything else means 30s."""
    most: int = 100
    """How many background jobs of one owner may run at once: 1 to 100."""
    async_enabled: bool = True
    """Whether a command can be put into the background."""
    auto_background: bool = False
    """Whether a command that takes long goes into the background by itself."""
    auto_background_after: timedelta = timedelta(seconds=60)
    """After how long it does; after no time, at once."""


class ProcessSettings(Struct, frozen=True):
    """What a process of the toolset `process` may use at most, and uses unless told."""

    cpus: float = 0.5
    memory_bytes: int = 512 * MIB
    pids: int = 100


class McpSettings(Struct, frozen=True):
    """How MCP clients reach this home, beside stdio, and what their toolsets do."""

    port: int | None = None
    """Serve streamable HTTP on this port of the loopback address; not at all if not given."""
    job: JobToolSettings = field(default_factory=JobToolSettings)
    process: ProcessSettings = field(default_factory=ProcessSettings)
    handles: HandlesSettings = field(default_factory=HandlesSettings)


class Settings(Struct, frozen=True):
    """Everything that can be set for a home."""

    queue: QueueSettings = field(default_factory=QueueSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    outbox: OutboxSettings = field(default_factory=OutboxSettings)
    questions: QuestionSettings = field(default_factory=QuestionSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)


def load(home: str) -> Settings:
    """The settings of a home. Raises BadSettings, which names the file and the key."""
    return check(read(home) or {}, os.path.join(home, FILE))


def check(found: Mapping[str, Any], path: str) -> Settings:
    """The settings that a file says. Raises BadSettings, with the path of the file.

    The tools of a program that embeds bide may be in it as well: they are checked, and left to that program.
    """
    own = {key: one for key, one in found.items() if key != CONVERSATION}
    if len(own) < len(found):
        agent_tools(found, path)
    settings = filled(Settings(), own, path, "")
    builtin = HandlesSettings().builtin
    if not set(settings.mcp.handles.builtin) <= set(builtin):
        raise BadSettings(path=path, detail=f"'mcp.handles.builtin' lists some of {', '.join(builtin)}")
    if not set(settings.questions.ask) <= set(ASKED):
        raise BadSettings(path=path, detail=f"'questions.ask' lists some of {', '.join(ASKED)}")
    return settings


def agent_tools(found: Mapping[str, Any], path: str) -> dict[str, AgentToolSettings]:
    """Return the tools of a parsed file, `[conversation.tools.NAME]`. Raises BadSettings, which names the key.

    One that has the section `spawn` alone has no command: it says how a tool of the program may be spawned.
    """
    from bide.model.spawning import AgentToolSettings, check_spawn  # noqa: PLC0415 - most homes have no such tools

    tools: dict[str, AgentToolSettings] = {}
    for name, row in _sections(_sections(found, CONVERSATION, path), "tools", path, f"{CONVERSATION}.").items():
        where = f"{CONVERSATION}.tools.{name}"
        said = _checked(_table(row), path, where, f"a section, written [{where}]")
        tools[name] = settings = filled(AgentToolSettings(), said, path, f"{where}.")
        wrong = check_spawn(settings.spawn) or (None if set(said) == {"spawn"} else check_tool(name, settings))
        if wrong is not None:
            raise BadSettings(path=path, detail=f"{where!r} {wrong}")
    return tools


def _sections(found: Mapping[str, Any], key: str, path: str, within: str = "") -> dict[str, Any]:
    return _checked(_table(found.get(key, {})), path, f"{within}{key}", f"a section, written [{within}{key}]")


def read(home: str) -> dict[str, Any] | None:
    """What the file says, unchecked; `None` if there is none. Raises BadSettings."""
    path = os.path.join(home, FILE)
    try:
        with open(path, "rb") as file:
            import tomllib  # noqa: PLC0415 - most homes have no such file, and need not pay for it

            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadSettings(path=path, detail=f"it cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadSettings(path=path, detail=f"it is not TOML ({error})") from error


def filled(default: T, found: Mapping[str, Any], path: str, within: str) -> T:
    """The defaults with what a table says. Raises BadSettings, which names the key as it stands `within` the file."""
    known = {one.name: getattr(default, one.name) for one in fields(cast("Any", default))}
    given: dict[str, Any] = {}
    for key, value in found.items():
        name = f"{within}{key}"
        if key not in known:
            from bide.model.settingnames import unknown  # noqa: PLC0415 - only a mistake pays for it

            raise BadSettings(path=path, detail=unknown(name, value, [f"{within}{one}" for one in known]))
        given[key] = _value(known[key], value, path, name)
    return cast("T", replace(cast("Any", default), **given))


def _value(default: object, value: object, path: str, name: str) -> object:
    if isinstance(default, Struct):
        if not isinstance(value, dict):
            raise BadSettings(path=path, detail=f"{name!r} is a section, written [{name}]")
        return filled(default, cast("dict[str, Any]", value), path, f"{name}.")
    if isinstance(default, Mapping):
        return _section(value, path, name)
    if name.endswith("bytes"):
        return _checked(_size(value), path, name, "a size such as 1048576, '512K', '10M', '5G' or '1T'")
    if name.endswith(".command"):
        return _checked(_command(value), path, name, "text for the shell, or a list of words")
    kind = bool if default is None and name.rpartition(".")[2].startswith("on_") else type(default)
    read, what = _PLAIN.get(kind, (_whole, "a whole number"))
    return _checked(read(value), path, name, what)


def _section(value: object, path: str, name: str) -> Mapping[str, object]:
    """A section whose keys are the operator's: tools, texts, or whole numbers."""
    if name.endswith(".tools"):
        rows = _checked(_table(value), path, name, f"a section for each tool, written [{name}.NAME]")
        return {key: _tool(key, _table(row), path, f"{name}.{key}") for key, row in rows.items()}
    if name == "outbox.sinks":
        rows = _checked(_table(value), path, name, f"a section for each sink, written [{name}.NAME]")
        return {key: _sink(_table(row), path, f"{name}.{key}") for key, row in rows.items()}
    texts = name.endswith((".parameters", ".env", "llm.models", "llm.aliases", "llm.mcp_servers"))
    what = "text" if texts else "a whole number"
    rows = _checked(_table(value), path, name, "a section of texts" if texts else "a section of whole numbers")
    for key, one in rows.items():
        _checked(_text(one) if texts else _whole(one), path, f"{name}.{key}", what)
    return rows


def _tool(tool: str, found: dict[str, Any] | None, path: str, name: str) -> ToolSettings:
    settings = filled(ToolSettings(), _checked(found, path, name, f"a section, written [{name}]"), path, f"{name}.")
    wrong = check_tool(tool, settings)
    if wrong is not None:
        raise BadSettings(path=path, detail=f"{name!r} {wrong}")
    return settings


def _sink(found: dict[str, Any] | None, path: str, name: str) -> SinkSettings:
    sink = filled(SinkSettings(), _checked(found, path, name, f"a section, written [{name}]"), path, f"{name}.")
    if sum(map(bool, (sink.webhook, sink.command, sink.desktop))) != 1:
        raise BadSettings(path=path, detail=f"{name!r} needs one of webhook, command or desktop = true")
    if sink.webhook and not sink.webhook.startswith(("http://", "https://")):
        raise BadSettings(path=path, detail=f"'{name}.webhook' must be an http or https URL")
    return sink


def _checked(value: T | None, path: str, name: str, what: str) -> T:
    if value is None:
        raise BadSettings(path=path, detail=f"{name!r} must be {what}")
    return value


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6 else None


def _table(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and "\0" not in value else None


def _words(value: object) -> tuple[str, ...] | None:
    words = [_text(one) for one in cast("list[object]", value)] if isinstance(value, list) else [None]
    return None if None in words else tuple(cast("list[str]", words))


def _command(value: object) -> str | tuple[str, ...] | None:
    return _text(value) if isinstance(value, str) else _words(value)


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


def _policy(value: object) -> Policy | None:
    return Policy(value) if value in list(Policy) else None


def _question_policy(value: object) -> QuestionPolicy | None:
    return QuestionPolicy(value) if value in list(QuestionPolicy) else None


_PLAIN: dict[type, tuple[Callable[[object], object], str]] = {
    timedelta: (_duration, "a time such as '30s', '5m', '2h' or '30d', at most '36500d'"),
    bool: (_flag, "true or false"),
    Policy: (_policy, f"one of {', '.join(Policy)}"),
    QuestionPolicy: (_question_policy, f"one of {', '.join(QuestionPolicy)}"),
    str: (_text, "text"),
    float: (_number, "a number above 0"),
    tuple: (_words, "a list of texts"),
}
"""How settings with a default of this type are read."""
