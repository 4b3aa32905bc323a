"""Control groups: one per job that has a memory, CPU or process limit, where the kernel and our rights allow it.

Per controller: cgroup v2 if it is there, else v1, else the stated fallback.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from msgspec import Struct

from bide.model.limits import Limits

CONTROLLERS = ("memory", "cpu", "pids")
FALLBACK = {"memory": "sampled", "cpu": "none", "pids": "sampled"}
_PERIOD_US = 100_000
_PREFIX = "bide-"
_FRESH_SECONDS = 60.0


class Base(Struct, frozen=True):
    """The folder under which groups with this controller can be made."""

    version: int
    path: str


@dataclass(slots=True)
class Group:
    """What was set up for one job: how each limit is enforced, and the orders for its keeper."""

    enforced: dict[str, str] = field(default_factory=dict[str, str])
    orders: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def _own_paths() -> dict[str, str]:
    """This process's own group per controller; '' is the v2 hierarchy."""
    paths: dict[str, str] = {}
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in names.split(","):
                paths[name] = path
    return paths


def _mounts() -> Iterator[tuple[str, str, set[str]]]:
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, kind, options, *_ = line.split()
            if kind in ("cgroup", "cgroup2"):
                yield kind, point, set(options.split(","))


@cache
def bases() -> dict[str, Base]:
    """Where groups can be made, per controller, found once."""
    found: dict[str, Base] = {}
    try:
        own, mounts = _own_paths(), list(_mounts())
    except OSError:
        return found
    for kind, point, options in mounts:
        if kind == "cgroup2":
            path = point + own.get("", "/").rstrip("/")
            for name in _unified_controllers(path):
                found[name] = Base(2, path)
        else:
            for name in CONTROLLERS:
                path = point + own.get(name, "/").rstrip("/")
                if name in options and name not in found and os.access(path or point, os.W_OK):
                    found[name] = Base(1, path)
    return found


def _unified_controllers(path: str) -> list[str]:
    """The controllers that children of this v2 group can have, switched on if that is allowed."""
    try:
        with open(f"{path}/cgroup.controllers", encoding="ascii") as file:
            wanted = [name for name in CONTROLLERS if name in file.read().split()]
        if not wanted or not os.access(path, os.W_OK):
            return []
        switch = f"{path}/cgroup.subtree_control"
        with open(switch, encoding="ascii") as file:
            on = file.read().split()
        missing = [name for name in wanted if name not in on]
        if missing:
            # v2 allows no processes beside child groups with controllers: this process moves to a leaf of its own.
            leaf = f"{path}/{_PREFIX}daemon"
            os.makedirs(leaf, exist_ok=True)
            _put(f"{leaf}/cgroup.procs", str(os.getpid()))
            _put(switch, " ".join(f"+{name}" for name in missing))
    except OSError:
        return []
    return wanted


def _put(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def make(job: str, limits: Limits) -> Group:
    """Set up what these limits need; what cannot be had is enforced by its fallback, and says so."""
    group = Group()
    wanted = {"memory": limits.memory_bytes, "cpu": limits.cpus, "pids": limits.pids}
    for name, value in wanted.items():
        if value is None:
            continue
        base = bases().get(name)
        try:
            if base is None:
                raise FileNotFoundError(name)
            _limit(group, base, name, job, value)
            group.enforced[name] = f"cgroup v{base.version}"
        except OSError:
            group.enforced[name] = FALLBACK[name]
    return group


def _limit(group: Group, base: Base, name: str, job: str, value: float) -> None:
    path = f"{base.path}/{_PREFIX}{job}"
    os.makedirs(path, exist_ok=True)
    for file, text in _settings(base.version, name, value):
        _put(f"{path}/{file}", text)
    _add(group, "join", f"{path}/cgroup.procs")
    _add(group, "remove", path)
    if name != "memory":
        return
    if base.version == 2:
        with contextlib.suppress(OSError):
            _put(f"{path}/memory.oom.group", "1")
        _add(group, "cg_oom", f"{path}/memory.events")
        _add(group, "cg_peak", f"{path}/memory.peak")
    else:
        _add(group, "cg_oom", f"{path}/memory.oom_control")
        _add(group, "cg_peak", f"{path}/memory.max_usage_in_bytes")
        _add(group, "cg_event", f"{path}/cgroup.event_control")


def _settings(version: int, name: str, value: float) -> list[tuple[str, str]]:
    quota = str(max(int(value * _PERIOD_US), 1000))
    table = {
        (2, "memory"): [("memory.max", str(int(value)))],
        (1, "memory"): [("memory.limit_in_bytes", str(int(value)))],
        (2, "cpu"): [("cpu.max", f"{quota} {_PERIOD_US}")],
        (1, "cpu"): [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", quota)],
        (2, "pids"): [("pids.max", str(int(value)))],
        (1, "pids"): [("pids.max", str(int(value)))],
    }
    return table[version, name]


def _add(group: Group, key: str, value: str) -> None:
    values = group.orders.setdefault(key, [])
    if value not in values:
        values.append(value)


def discard(group: Group) -> None:
    """Remove the groups of a job that was never started."""
    for path in group.orders.get("remove", []):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def remove(job: str) -> None:
    """Remove the groups of a job that waited for its turn and was never started."""
    for base in set(bases().values()):
        with contextlib.suppress(OSError):
            os.rmdir(f"{base.path}/{_PREFIX}{job}")


def sweep(active: set[str], *, older_than: float = _FRESH_SECONDS) -> None:
    """Remove empty groups that no active job has; one still in use cannot be removed and stays.

    So does a fresh one: it may be that of another home, made a moment ago for a job about to enter it.
    """
    for base in set(bases().values()):
        with contextlib.suppress(OSError):
            for name in os.listdir(base.path):
                if name.startswith(f"{_PREFIX}j") and name.removeprefix(_PREFIX) not in active:
                    with contextlib.suppress(OSError):
                        _remove(f"{base.path}/{name}", older_than)


def _remove(path: str, older_than: float) -> None:
    if time.time() - os.stat(path).st_ctime >= older_than:
        os.rmdir(path)
