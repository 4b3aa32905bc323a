"""How a tool may be spawned, and what becomes of its handles: the seed's `[conversation.tools.NAME.spawn]`."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct, field

from bide.model.handletools import ToolSettings

INQUIRE, AWAIT, ABORT = "inquire", "await", "abort"
ON_TURN_END = (INQUIRE, AWAIT, ABORT)


class Notifications(Struct, frozen=True):
    """Of what the assistant is told by itself; of what it awaits or fetches it is not told again."""

    on_success: bool = True
    on_failure: bool = True
    on_waiting: bool = True
    on_content: bool = False


class Lifecycle(Struct, frozen=True):
    """What becomes of a handle that is active when the turn would end."""

    on_turn_end: str = INQUIRE
    """`inquire` asks the assistant, `await` waits and tells it in the next turn, `abort` kills."""
    wait_timeout: timedelta = timedelta(seconds=300)
    """How long is waited for one that the assistant chose to wait for."""
    await_timeout: timedelta = timedelta(seconds=60)
    """How long the policy `await` waits before it aborts."""


class Spawn(Struct, frozen=True):
    """How a tool may be spawned."""

    stateful: bool = False
    """It can be spawned; otherwise every call runs to completion."""
    notifications: Notifications = field(default_factory=Notifications)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)


class AgentToolSettings(ToolSettings, frozen=True):
    """A command that an agent has as a tool, and how it may be spawned."""

    spawn: Spawn = field(default_factory=Spawn)


def check_spawn(spawn: Spawn) -> str | None:
    """What is wrong with it; `None` if nothing is."""
    if spawn.lifecycle.on_turn_end not in ON_TURN_END:
        return f"lifecycle.on_turn_end must be one of {', '.join(ON_TURN_END)}"
    return None
