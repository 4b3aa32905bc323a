"""What can be told of a job, and which of it is wanted. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import fields


class What(StrEnum):
    """What a notice is about."""

    ENDED = "ended"
    """It ended well."""
    FAILED = "failed"
    """It ended otherwise."""
    KILLED = "killed"
    """It ended because its owner asked for it."""
    WAITING = "waiting"
    """It asks for input."""
    READY = "ready"
    """A service is ready."""
    STALLED = "stalled"
    """It has been silent for long."""
    ERROR = "error"
    """The first line of its output that looks like an error."""
    OUTPUT = "output"
    """It wrote something."""
    ACTED = "acted"
    """Somebody did something to it that its person is to know of."""


class Notify(Struct, frozen=True):
    """What to tell of a job; what is not said is as configured."""

    on_success: bool | None = None
    on_failure: bool | None = None
    on_kill: bool | None = None
    """Also when its owner asked for the end."""
    on_waiting: bool | None = None
    on_ready: bool | None = None
    on_stalled: bool | None = None
    on_error: bool | None = None
    """The first line that looks like an error; looked for only where this is set."""
    on_content: bool | None = None
    """New output; looked for only where this is set."""
    on_act: bool | None = None
    """What was done to it that a person is to know of. No job says this of itself."""
    ambient: bool | None = None
    """New output comes with other news, and wakes nobody."""


NOTIFY = Notify(
    on_success=True,
    on_failure=True,
    on_kill=False,
    on_waiting=True,
    on_ready=True,
    on_stalled=True,
    on_error=False,
    on_content=False,
    on_act=True,
)
"""What is told where nobody says otherwise."""
FLAGS = tuple(one.name for one in fields(Notify) if one.name != "ambient")
"""Those that settings have."""
JOB_FLAGS = (*(flag for flag in FLAGS if flag != "on_act"), "ambient")
"""Those that a job can set."""
_FLAG = {
    What.ENDED: "on_success",
    What.FAILED: "on_failure",
    What.KILLED: "on_kill",
    What.WAITING: "on_waiting",
    What.READY: "on_ready",
    What.STALLED: "on_stalled",
    What.ERROR: "on_error",
    What.OUTPUT: "on_content",
    What.ACTED: "on_act",
}


def is_wanted(what: What, said: Iterable[Notify]) -> bool:
    """Whether to tell of it: the first of these that says something decides."""
    for notify in (*said, NOTIFY):
        flag = getattr(notify, _FLAG[what])
        if flag is not None:
            return bool(flag)
    return False
