"""The kernel, control groups, and who might end our processes."""

import os

from bide.cli.checks.finding import Finding
from bide.cli.checks.limits import limit_checks
from bide.cli.checks.programs import kill_mode
from bide.cli.daemon import info
from bide.model.errors import BideError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bide.client.blocking import Link

SIGNAL_SCOPE_ABI = 6
"""The first version of Landlock that can fence signals."""
EXIT_INFO_KERNEL = (6, 15)
"""The first kernel that tells the exit status of a process that is not one's child."""

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION_FLAG = 1


def machine_checks(link: "Link") -> "Iterator[Finding]":
    """Everything about this machine."""
    yield check_pidfd()
    yield check_exit_info(os.uname().release)
    yield check_landlock(landlock_abi())
    daemon = _daemon_pid(link)
    groups = process_groups(daemon or "self")
    yield from limit_checks(link, groups.get("", ""), runs=daemon is not None)
    yield check_service(groups)


def check_pidfd() -> Finding:
    """Can processes be held by descriptor, so that a reused pid is never mistaken for them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return Finding("fail", "pidfd", f"not available: {error.strerror}", "bide needs Linux 5.3 or newer")
    return Finding("ok", "pidfd", "available")


def check_exit_info(release: str) -> Finding:
    """Can the exit status of another's child be read."""
    numbers = release.partition("-")[0].split(".")
    version = tuple(int(number) for number in numbers[:2] if number.isdecimal())
    if version >= EXIT_INFO_KERNEL:
        return Finding("ok", "exit info", f"kernel {release} tells exit statuses by pidfd")
    text = (
        f"kernel {release} does not tell exit statuses by pidfd: if keeper and daemon die together, an end may be lost"
    )
    return Finding("warn", "exit info", text, "Linux 6.15 or newer has it")


def landlock_abi() -> int:
    """The version of Landlock this kernel offers; 0 for none."""
    import ctypes  # noqa: PLC0415 - there is no other way to a system call

    answer = ctypes.CDLL(None, use_errno=True).syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_VERSION_FLAG)
    )
    return max(0, int(answer))


def check_landlock(abi: int) -> Finding:
    """Can jobs be kept from signalling what is not theirs."""
    if abi >= SIGNAL_SCOPE_ABI:
        return Finding("ok", "fence", f"Landlock ABI {abi}: signals of a job reach only the job")
    has = f"Landlock ABI {abi}" if abi else "no Landlock"
    text = f"{has}: a job can signal other processes of yours, bide's own as well"
    return Finding("warn", "fence", text, "Linux 6.12 or newer with Landlock switched on has it")


def process_groups(pid: int | str) -> dict[str, str]:
    """A process's control group per controller; '' is the unified hierarchy."""
    groups: dict[str, str] = {}
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                _, names, path = line.rstrip("\n").split(":", 2)
                groups |= dict.fromkeys(names.split(","), path)
    except OSError:
        return {}
    return groups


def _daemon_pid(link: "Link") -> int | None:
    try:
        found = info(link)
    except BideError:
        found = None
    return found["pid"] if found else None


def check_service(groups: dict[str, str]) -> Finding:
    """Will somebody end the jobs when a service stops."""
    path = groups.get("") if groups.get("", "/") != "/" else groups.get("name=systemd")
    unit = next((part for part in reversed((path or "").split("/")) if part.endswith((".service", ".scope"))), "")
    if not unit.endswith(".service"):
        return Finding("ok", "service", f"in {unit}" if unit else "not in a systemd service")
    mode = kill_mode(unit, user="/user@" in (path or ""))
    if mode == "process":
        return Finding("ok", "service", f"in {unit}, KillMode=process")
    said = f"KillMode={mode}" if mode else "its KillMode is not known"
    advice = f"systemctl edit {unit}: [Service] KillMode=process, OOMPolicy=continue, Delegate=yes"
    return Finding("warn", "service", f"in {unit}, {said}: jobs end when it stops", advice)
