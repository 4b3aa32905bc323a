"""Limits of memory, CPU and processes, and what logout does to jobs.

What is said of limits comes from the code that sets them up for jobs: from the daemon, or without one from a process of the
same code. `docs/platforms.md` has the background.
"""

import json
import os
import sys

from bide.cli.checks.finding import Finding
from bide.cli.checks.programs import answer, ends_sessions
from bide.client.start import try_connect
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.blocking import Link
    from bide.client.http1 import Json

SYSTEMD = "/run/systemd/system"
LINGER = "/var/lib/systemd/linger"
_SHOWN = {"sampled": "sampling", "none": "nothing"}


def limit_checks(link: "Link", group: str, *, runs: bool) -> "Iterator[Finding]":
    """Everything about limits; `group` is the cgroup v2 path of the daemon if one `runs`, else our own."""
    found = place(link)
    yield check_limits(found)
    if os.path.isdir(SYSTEMD):
        stays = os.geteuid() == 0 or _lingers()
        # A daemon that starts leaves the session where that helps.
        where = group if runs or not stays else ""
        yield check_logout(where, stays=stays, ends=ends_sessions(), scoped="cgroup v2" in found.values())


def place(link: "Link") -> "Json":
    """Return what would enforce each limit of a job that starts now; empty if that cannot be learned."""
    try:
        sock = try_connect(link.home)
        if sock is not None:
            sock.close()
            return link.call("GET", "/v1/daemon/limits")
    except BideError:
        return {}
    try:
        return json.loads(answer(sys.executable, "-P", "-m", "bide.keeper.probe", link.home))
    except ValueError:
        return {}


def check_limits(found: "Json") -> Finding:
    """Does the kernel enforce limits of memory, CPU and processes."""
    if not found:
        return Finding("warn", "limits", "what enforces limits could not be learned", "see 'bide daemon logs'")
    by = {name: _SHOWN.get(found[name], found[name]) for name in ("memory", "cpu", "pids")}
    text = ", ".join(f"{name} by {how}" for name, how in by.items())
    if not found["why"]:
        return Finding("ok", "limits", text)
    return Finding("warn", "limits", f"{text}: {found['why']}", found["advice"])


def check_logout(group: str, *, stays: bool, ends: bool | None, scoped: bool) -> Finding:
    """Do jobs outlive the logout of their user.

    `group` is the daemon's, `stays` says that the service manager does (root's, or with lingering), `ends` is the login
    manager's KillUserProcesses, `scoped` says that limits are enforced in a scope of the service manager.
    """
    in_session = os.path.basename(group).startswith("session-")
    if stays:
        if in_session and ends is not False:
            text = "the daemon is in a login session, which may end with its processes"
            return Finding(
                "warn", "logout", text, "bide daemon restart  (moves it out; jobs that run stay where they are)"
            )
        return Finding("ok", "logout", "the daemon and all jobs go on after logout")
    advice = "loginctl enable-linger, then: bide daemon restart  (jobs then go on after logout)"
    if "/user@" in group:
        text = "your service manager stops soon after your last logout, and the daemon and all jobs end with it"
    elif in_session and ends:
        text = "logout ends the daemon and all jobs (KillUserProcesses=yes)"
    elif scoped and in_session:
        text = "the daemon and all jobs go on after logout; without a daemon, jobs with a limit of memory, CPU or processes end"
        return Finding("ok", "logout", text, "loginctl enable-linger keeps them then as well")
    else:
        return Finding("ok", "logout", "the daemon and all jobs go on after logout")
    return Finding("warn", "logout", text, advice)


def _lingers() -> bool:
    import pwd  # noqa: PLC0415 - only this check needs it

    try:
        return os.path.exists(os.path.join(LINGER, pwd.getpwuid(os.geteuid()).pw_name))
    except KeyError:
        return False
