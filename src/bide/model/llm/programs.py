"""What is known of the CLIs of a machine, and of bringing one to another version."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct, field

from bide.model.llm.retry import State
from bide.model.times import ms


class Program(Struct, frozen=True):
    """One CLI as it is on this machine."""

    cli: str
    installed: bool
    path: str | None = None
    version: str = ""
    login: str = "not_checked"
    """`authenticated`, `not_authenticated`, `unknown` for one that cannot be asked or did not say, `not_checked`."""
    hint: str = ""
    """How to install it, if it is not there; that it did not say its version."""


class Models(Struct, frozen=True):
    """The models of one CLI that are known by name; it may have others."""

    cli: str
    default: str | None
    """What is named where a request names none; `None` leaves it to the CLI."""
    models: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


class Upgrade(Struct, frozen=True):
    """What brings a CLI to another version, and what came of it."""

    cli: str
    command: tuple[str, ...]
    dry_run: bool = True
    job: str | None = None
    """The job that does it, unless it was only to be shown."""


class Health(Struct, frozen=True):
    """How one CLI does: whether it is asked, and how much it has to do."""

    cli: str
    breaker: State = State.CLOSED
    failures: int = 0
    """Attempts in a row whose line failed."""
    rest: timedelta = timedelta(0)
    """How long it is not asked."""
    error: str = ""
    """What was said last, if it failed."""
    running: int = 0
    waiting: int = 0


class Process(Struct, frozen=True):
    """The process of a request that runs, as it was a moment ago."""

    job: str
    cli: str
    pid: int | None
    alive: bool
    zombie: bool
    """It is over, and its keeper has not taken its status yet."""
    cpu_percent: float
    """Of one processor, over the last tenth of a second."""
    rss_kb: int | None
    running: timedelta


def process_to_json(process: Process) -> dict[str, Any]:
    """As the doors send it."""
    found = {name: getattr(process, name) for name in Process.__struct_fields__ if name != "running"}
    return found | {"running_ms": ms(process.running)}


def process_from_json(body: dict[str, Any]) -> Process:
    """As it was sent."""
    given = dict(body)
    return Process(running=timedelta(milliseconds=given.pop("running_ms")), **given)


def health_to_json(health: Health) -> dict[str, Any]:
    """As the doors send it."""
    found = {name: getattr(health, name) for name in ("cli", "failures", "error", "running", "waiting")}
    return found | {"breaker": str(health.breaker), "rest_ms": ms(health.rest)}


def health_from_json(body: dict[str, Any]) -> Health:
    """As it was sent."""
    given = dict(body)
    given["breaker"], given["rest"] = State(given["breaker"]), timedelta(milliseconds=given.pop("rest_ms"))
    return Health(**given)
