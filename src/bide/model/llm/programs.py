"""What is known of the CLIs of a machine, and of bringing one to another version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """One CLI as it is on this machine."""

    cli: str
    installed: bool
    path: str | None = None
    version: str = ""
    login: str = "not_checked"
    """`authenticated`, `not_authenticated`, `unknown` for one that cannot be asked, `not_checked`."""
    hint: str = ""
    """How to install it, if it is not there."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one CLI that are known by name; it may have others."""

    cli: str
    default: str | None
    """What is named where a request names none; `None` leaves it to the CLI."""
    models: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What brings a CLI to another version, and what came of it."""

    cli: str
    command: tuple[str, ...]
    dry_run: bool = True
    job: str | None = None
    """The job that does it, unless it was only to be shown."""
