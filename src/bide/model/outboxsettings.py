"""What a home's settings say of being told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct, field

from bide.model.notify import FLAGS, Notify


class SinkSettings(Struct, frozen=True):
    """Somebody who is told of jobs by being called: a webhook, a command, the desktop."""

    webhook: str = ""
    """Post each message to this URL."""
    secret: str = ""
    """Sign what is posted with this."""
    command: str | tuple[str, ...] = ()
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
    on_act: bool | None = None

    @property
    def notify(self) -> Notify:
        """What it wants to be told."""
        return Notify(**{flag: getattr(self, flag) for flag in FLAGS})


class OutboxSettings(Struct, frozen=True):
    """What is told of jobs, where neither a job nor who is told says otherwise."""

    on_success: bool = True
    on_failure: bool = True
    on_kill: bool = False
    on_waiting: bool = True
    on_ready: bool = True
    on_stalled: bool = True
    on_error: bool = False
    on_content: bool = False
    on_act: bool = True
    stalled_after: timedelta = timedelta(minutes=10)
    """A job that wrote nothing for this long is stalled; with '0s' none ever is."""
    sinks: Mapping[str, SinkSettings] = field(default_factory=dict[str, SinkSettings])

    @property
    def notify(self) -> Notify:
        """What is told."""
        return Notify(**{flag: getattr(self, flag) for flag in FLAGS})
