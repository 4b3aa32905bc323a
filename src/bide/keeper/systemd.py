"""The service manager of this machine or user (systemd), and scopes for our processes in it.

A scope is a control group of our own in a tree that systemd manages: with `Delegate` we may make groups in it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import time

from msgspec import Struct

from bide.keeper.dbus import CallFailed, Connection, Writer

BOOTED = "/run/systemd/system"
"""This folder exists where systemd is the service manager."""
LINGER = "/var/lib/systemd/linger"
_SECONDS = 5.0
_LOOK_AGAIN = 0.005
_NO_LIMIT = (1 << 64) - 1
_NAME = "org.freedesktop.systemd1"
_OBJECT = "/org/freedesktop/systemd1"


class Manager(Struct, frozen=True):
    """A service manager that may start scopes for us."""

    sockets: tuple[tuple[str, bool], ...]
    """Paths, and whether there is a bus behind; the first that answers is used."""
    stays: bool
    """It goes on after the last logout of its user."""


def is_running() -> bool:
    """Tell whether systemd manages this machine."""
    return os.path.isdir(BOOTED)


def user_name() -> str:
    """The name of our user, or its number."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def lingers() -> bool:
    """Tell whether our user's service manager goes on after the last logout."""
    return os.path.exists(os.path.join(LINGER, user_name()))


def manager() -> Manager | None:
    """The service manager that may start scopes for us: the system's for root, else that of our user, if it runs."""
    if not is_running():
        return None
    if os.geteuid() == 0:
        return Manager((("/run/systemd/private", False), ("/run/dbus/system_bus_socket", True)), stays=True)
    # After `su` the variable is missing, or still names the folder of another user.
    for runtime in (os.environ.get("XDG_RUNTIME_DIR"), f"/run/user/{os.geteuid()}"):
        if runtime and _is_ours(runtime):
            return Manager(((f"{runtime}/systemd/private", False), (f"{runtime}/bus", True)), stays=lingers())
    return None


def _is_ours(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.geteuid() and os.path.exists(f"{folder}/systemd")
    except OSError:
        return False


def group_of(pid: int | str) -> str:
    """The cgroup v2 path of a process, as /proc shows it; empty if it has none. Raises OSError."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            number, names, path = line.rstrip("\n").split(":", 2)
            if number == "0" and not names:
                return path
    return ""


def leave_session(description: str) -> bool:
    """Move this process out of its login session into a scope, if its service manager goes on after the logout.

    Raises OSError if that cannot be done.
    """
    found = manager()
    if found is None or not found.stays or not is_session(group_of("self")):
        return False
    # Not delegated: the groups of jobs belong into a scope of their own, which goes on when this one is stopped.
    start_scope(found, "daemon", description, os.getpid(), delegate=False)
    return True


def is_session(group: str) -> bool:
    """Tell whether a control group is that of a login session."""
    unit = os.path.basename(group)
    return unit.startswith("session-") and unit.endswith(".scope")


def start_scope(found: Manager, kind: str, description: str, pid: int, *, delegate: bool = True) -> str:
    """Move a process of ours into a new scope, in which we may make groups if it is delegated; its cgroup path. Raises OSError, which says why not."""
    unit = f"bide-{kind}-{secrets.token_hex(4)}.scope"
    error: OSError = CallFailed("no socket of the service manager answers")
    for path, bus in found.sockets:
        try:
            connection = Connection(path, bus=bus, seconds=_SECONDS)
        except OSError as refused:
            error = refused
            continue
        with contextlib.closing(connection):
            connection.call(
                _NAME,
                _OBJECT,
                f"{_NAME}.Manager",
                "StartTransientUnit",
                "ssa(sv)a(sa(sv))",
                _scope(unit, description, pid, delegate=delegate),
            )
            return _entered(connection, unit, pid)
    raise error


def _scope(unit: str, description: str, pid: int, *, delegate: bool) -> bytes:
    body = Writer()
    body.text(unit)
    body.text("fail")
    body.properties(
        [
            ("Description", "s", description),
            ("PIDs", "au", [pid]),
            ("Delegate", "b", delegate),
            ("CollectMode", "s", "inactive-or-failed"),
            # By default a unit may have 15 % of the machine's processes.
            ("TasksMax", "t", _NO_LIMIT),
        ]
    )
    body.number(0)  # no further units
    body.pad(8)
    return bytes(body.data)


def _entered(connection: Connection, unit: str, pid: int) -> str:
    """The path of the scope once the process is in it: the call is answered before that."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if (path := group_of(pid)).endswith(f"/{unit}"):
            return path
        result = connection.removed_job(unit, _LOOK_AGAIN)
        if result is not None and result != "done":
            raise CallFailed(f"{unit} could not be started: {result}")
    raise CallFailed(f"{unit} was not started in time")
