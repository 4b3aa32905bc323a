"""A service: a job that is meant to stay, is ready at some point, and comes back when it fails."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from bide.model.errors import BadRequest
from bide.model.phase import End, Reason
from bide.model.until import Until, check_until, http_port

READY_TIMEOUT = timedelta(seconds=30)
RESTARTS = 10
KIND = "service"
FIRST_PAUSE = timedelta(seconds=0.5)
LONGEST_PAUSE = timedelta(seconds=30)
STEADY = timedelta(seconds=10)
"""A run that lasted this long was no failed start: the count of restarts in a row begins anew."""


class Restart(StrEnum):
    """When a service that ended is started again."""

    NO = "no"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


class Service(Struct, frozen=True):
    """What makes a job a service."""

    ready: Until = field(default_factory=Until)
    """Ready when this holds: a line of the log, a port, or a URL."""
    ready_command: str | None = None
    """Ready when this command exits with 0."""
    ready_timeout: timedelta = READY_TIMEOUT
    """How long a foreground run waits for that; the service goes on all the same."""
    port: int | None = None
    """A TCP port it will listen on: it is not started while another has it."""
    restart: Restart = Restart.NO
    restarts: int = RESTARTS
    """How many times in a row it is started again before bide gives up."""
    run: int = 0
    """Which start this is: 0 for the first, counted up by each restart."""
    tries: int = 0
    """How many restarts in a row led to this one, none of which lasted."""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of this machine that it says it will listen on."""
        found = (self.port, self.ready.port, None if self.ready.http is None else http_port(self.ready.http))
        return tuple(dict.fromkeys(port for port in found if port is not None))


class Port(Struct, frozen=True):
    """A TCP port that a process of a job listens on."""

    address: str
    port: int
    pid: int


class Verdict(Struct, frozen=True):
    """What is to become of a service that ended."""

    next: Service | None = None
    """What its successor is, if it gets one."""
    pause: timedelta = timedelta(0)
    """How long after the end it starts."""
    gave_up: str = ""
    """One sentence, if only the number of restarts stands in the way of another."""


def verdict(service: Service, end: End) -> Verdict:
    """Whether a service comes back after this end, and when. Who was killed, by whomever, stays down."""
    wanted = service.restart is Restart.ALWAYS or (service.restart is Restart.ON_FAILURE and not end.success)
    if not wanted or end.reason is Reason.KILLED:
        return Verdict()
    tries = 0 if end.duration >= STEADY else service.tries
    if tries >= service.restarts:
        how = f"it was started again {tries} times in a row, and each time ended within {STEADY.total_seconds():g} s"
        return Verdict(gave_up=how if tries else "it ended, and may not be started again (restarts is 0)")
    pause = min(FIRST_PAUSE * 2 ** min(tries, 16), LONGEST_PAUSE)
    return Verdict(replace(service, run=service.run + 1, tries=tries + 1), pause)


def check_service(service: Service) -> None:
    """Refuse what cannot be meant."""
    ready = service.ready
    check_until(ready)
    if replace(ready, log=None, port=None, http=None) != Until():
        raise BadRequest(detail="a service is ready by a log line, a port, a URL or a command; give one of these")
    given = [one for one in (ready.log, ready.port, ready.http, service.ready_command) if one is not None]
    if len(given) > 1:
        raise BadRequest(
            detail="a service is ready by one thing: a log line, a port, a URL or a command; give only one"
        )
    if service.ready_command is not None and not service.ready_command.strip():
        raise BadRequest(detail="the command that says whether a service is ready cannot be empty")
    if service.port is not None and not 0 < service.port < 65536:
        raise BadRequest(detail=f"port {service.port} is out of range; use 1 to 65535")
    if service.ready_timeout <= timedelta(0):
        raise BadRequest(detail="the time for a service to be ready must be above 0")
    if service.restarts < 0:
        raise BadRequest(detail="the number of restarts cannot be negative; 0 means none")
