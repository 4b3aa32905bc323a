"""Conditions beyond the end of a job."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from bide.model.errors import BadRequest


class Until(Struct, frozen=True):
    """A condition beyond the end. The first that holds ends the wait; so does the end of the jobs."""

    log: str | None = None
    """A regular expression; a line of either stream matches (from the start of the output)."""
    port: int | None = None
    """A TCP port of this machine accepts."""
    http: str | None = None
    """An http URL answers with a status below 400."""
    quiet_seconds: float | None = None
    """No output for this long."""
    input: bool | None = None
    """A job asks for input; with False, none does (any more)."""
    question: tuple[str, ...] | None = None
    """A job has an open question that is none of these."""
    prompt: tuple[str, ...] | None = None
    """A program of the jobs shows a prompt, and waits for input, that is none of these."""
    stalled: bool | None = None
    """The output of a job waits for room on the disk; with False, that of none does (any more)."""
    ready: bool | None = None
    """The services are ready: all of them, or one for a wait for any."""


def check_until(until: Until) -> None:
    """Refuse what can never hold."""
    if until.port is not None and not 0 < until.port < 65536:
        raise BadRequest(detail=f"port {until.port} is out of range; use 1 to 65535")
    if until.http is not None and not _is_http(until.http):
        raise BadRequest(detail=f"{until.http!r} is not an http:// URL")
    if until.quiet_seconds is not None and not until.quiet_seconds > 0:
        raise BadRequest(detail="quiet must be longer than 0 seconds")
    if until.ready is False:
        raise BadRequest(
            detail="one can wait for services to be ready, not for the contrary; leave 'ready' out or give true"
        )


def http_port(url: str) -> int | None:
    """The port of this machine that a URL names; `None` if it names another machine."""
    parts = urlsplit(url)
    return (parts.port or 80) if parts.hostname in ("localhost", "127.0.0.1", "::1") else None


def _is_http(url: str) -> bool:
    if not url.startswith("http://") or not url.isascii() or any(char <= " " for char in url):
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
