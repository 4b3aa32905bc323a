"""Control groups: one per job that has a memory, CPU or process limit, where the kernel and our rights allow it.

Per controller: cgroup v2 if it is there, else v1, else the stated fallback. What a job is told, what `limits.required` asks
and what `bide doctor` shows all come from `Groups.place`. Each home has a folder of its own for its groups, so none touches
another's.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from bide.keeper import hierarchy
from bide.keeper.hierarchy import Base, Unavailable
from bide.keeper.launch import Nursery
from bide.keeper.place import Place, find, name_of
from bide.model.limits import FALLBACK, Limits

_PERIOD_US = 100_000
_TRIES = 3


@dataclass(slots=True)
class Group:
    """What was set up for one job: how each limit is enforced, and the orders for its keeper."""

    enforced: dict[str, str] = field(default_factory=dict[str, str])
    orders: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Of each limit that could not be set although there is a place for it: the value, and what the kernel said."""


ORDERS = ("join", "remove", "inside", "loose", "cg_oom", "cg_peak", "cg_event", "cg_cpu")
"""The keys of a group's orders."""


def needed(limits: Limits) -> bool:
    """Tell whether a job with these limits is put into a group."""
    return not (limits.memory_bytes is None and limits.cpus is None and limits.pids is None)


class Groups:
    """The groups of one home's jobs."""

    def __init__(self, home: str) -> None:
        """Nothing is looked for before it is needed."""
        self._home = home
        self._place: Place | None = None
        self._lock = threading.Lock()
        self._made: set[str] = set()
        """Jobs that have groups in this place."""

    def place(self) -> Place:
        """The place of the groups, found or made when first needed, and again if its scope is gone. Callable in any thread."""
        with self._lock:
            if not self.known or self._place is None:
                self._made.clear()
                self._place = find(self._home)
            return self._place

    def forget(self) -> None:
        """Look for a place anew when one is needed next."""
        with self._lock:
            self._place = None
            self._made.clear()

    @staticmethod
    def _is_there(place: Place) -> bool:
        """Tell whether its scope still is: it ends with its last process, or when somebody stops it."""
        if place.nursery is None:
            return True
        return place.nursery.fileno() >= 0 and all(os.path.isdir(base.path) for base in place.bases.values())

    @property
    def known(self) -> bool:
        """Whether `place` answers at once."""
        return self._place is not None and self._is_there(self._place)

    @property
    def scoped(self) -> bool:
        """Whether only keepers of the scope's own nursery can put jobs into groups."""
        return self._place is not None and self._place.nursery is not None

    def nursery(self) -> Nursery:
        """The nursery in the scope. Raises OSError if there is none any more."""
        nursery = self.place().nursery
        if nursery is None:
            raise ConnectionError("there is no scope for jobs any more")
        return nursery

    def has(self, job: str) -> bool:
        """Tell whether the groups of this job are in the place that is in use."""
        return job in self._made and self.known

    def make(self, job: str, limits: Limits) -> Group:
        """Set up what these limits need; what cannot be had is enforced by its fallback, and says so."""
        group = Group()
        if not needed(limits):
            return group
        place = self.place()
        for name, value in _values(limits):
            base = place.bases.get(name)
            group.enforced[name] = place.enforced(name)
            if base is None:
                continue
            try:
                _limit(group, base, name, job, value)
            except OSError as error:
                group.enforced[name] = FALLBACK[name]
                group.refused[name] = f"the kernel refuses {value:.15g}: {error.strerror or error}"
                _drop(group, base, job)
        _stay_inside(group, place, job)
        self._made.add(job)
        return group

    def make_again(self, job: str, limits: Limits, enforced: dict[str, str]) -> dict[str, list[str]]:
        """Orders for groups like those that a job was given, where a restart or a logout may have removed them."""
        told = {name: how for name, how in enforced.items() if how not in FALLBACK.values()}
        group = self.make(job, _only(limits, told))
        if loose := [name for name in told if not group.enforced[name].startswith("cgroup")]:
            group.orders["loose"] = [",".join(loose)]
        return group.orders

    def remove(self, job: str) -> None:
        """Remove the groups of a job that waited for its turn and was never started."""
        self._made.discard(job)
        if self._place is not None:
            for base in self._place.bases.values():
                hierarchy.remove(f"{base.path}/{job}")

    def sweep(self, active: set[str]) -> None:
        """Remove the empty groups of this home that no active job has; one still in use cannot be removed and stays."""
        for folder in self._left():
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):
                    if name not in active:
                        hierarchy.remove(f"{folder}/{name}")
                os.rmdir(folder)

    def _left(self) -> Iterator[str]:
        """Folders that an earlier runtime of this home may have left; systemd removes its scopes itself."""
        name = name_of(self._home)
        for base in hierarchy.v1_bases().values():
            yield f"{base.path}/{name}"
        with contextlib.suppress(Unavailable):
            for base in hierarchy.above(hierarchy.own_unified(hierarchy.unified())):
                yield f"{base.path}/{name}"

    def close(self) -> None:
        """Remove the folder of this home, if no group is in it, and let a nursery end that nobody has asked."""
        if self._place is not None:
            if self._place.nursery is not None:
                self._place.nursery.close()
            for base in self._place.bases.values():
                if base.shared:
                    with contextlib.suppress(OSError):
                        os.rmdir(base.path)


def discard(group: Group) -> None:
    """Remove the groups of a job that was never started."""
    for path in group.orders.get("remove", []):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def _drop(group: Group, base: Base, job: str) -> None:
    """Remove the group of a limit that could not be set, unless another limit is set in it."""
    path = f"{base.path}/{job}"
    if path not in group.orders.get("remove", ()):
        with contextlib.suppress(OSError):
            os.rmdir(path)
            if base.shared:
                os.rmdir(base.path)


def _values(limits: Limits) -> Iterator[tuple[str, float]]:
    for name, value in (("memory", limits.memory_bytes), ("cpu", limits.cpus), ("pids", limits.pids)):
        if value is not None:
            yield name, value


def _only(limits: Limits, names: dict[str, str]) -> Limits:
    return Limits(
        memory_bytes=limits.memory_bytes if "memory" in names else None,
        cpus=limits.cpus if "cpu" in names else None,
        pids=limits.pids if "pids" in names else None,
    )


def _limit(group: Group, base: Base, name: str, job: str, value: float) -> None:
    path = f"{base.path}/{job}"
    _make_folder(base, path)
    for file, text in _settings(base.version, name, value):
        try:
            hierarchy.put(f"{path}/{file}", text)
        except FileNotFoundError:
            if "sw" not in file:  # a kernel without accounting of swap has no such file
                raise
    _add(group, "join", f"{path}/cgroup.procs")
    _add(group, "remove", path)
    # Groups of v2 count the CPU time of all that was in them; of v1 those do in whose hierarchy cpuacct is as well.
    counted = f"{path}/cpu.stat" if base.version == 2 else f"{path}/cpuacct.usage"
    if os.path.exists(counted):
        _add(group, "cg_cpu", counted)
    if name != "memory":
        return
    if base.version == 2:
        with contextlib.suppress(OSError):
            hierarchy.put(f"{path}/memory.oom.group", "1")
        _add(group, "cg_oom", f"{path}/memory.events")
        _add(group, "cg_peak", f"{path}/memory.peak")
    else:
        _add(group, "cg_oom", f"{path}/memory.oom_control")
        _add(group, "cg_peak", f"{path}/memory.max_usage_in_bytes")
        _add(group, "cg_event", f"{path}/cgroup.event_control")


def _make_folder(base: Base, path: str) -> None:
    """Make a job's group, and first the folder of its home: a keeper that leaves removes that if it is empty."""
    for last in range(_TRIES):
        try:
            if base.shared:
                os.makedirs(base.path, exist_ok=True)
                if base.version == 2:
                    hierarchy.enable(Base(2, base.path, base.shown))
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)
        except Unavailable as error:
            raise OSError(str(error)) from error
        except FileNotFoundError:
            if last == _TRIES - 1:
                raise
        else:
            return


def _stay_inside(group: Group, place: Place, job: str) -> None:
    """Order the keeper to watch that the job stays in its groups, and to remove the home's folder with the last of them."""
    inside: dict[str, list[str]] = {}
    for name, how in group.enforced.items():
        base = place.bases.get(name)
        if base is not None and how.startswith("cgroup"):
            inside.setdefault(f"{base.hierarchy}:{base.shown.rstrip('/')}/{job}", []).append(name)
            if base.shared:
                _add(group, "remove", base.path)
    if inside:
        group.orders["inside"] = [f"{','.join(names)} {where}" for where, names in inside.items()]
    if "remove" in group.orders:
        group.orders["remove"].sort(key=lambda path: -len(path))


def _settings(version: int, name: str, value: float) -> list[tuple[str, str]]:
    quota = str(max(int(value * _PERIOD_US), 1000))
    size = str(int(value))
    table = {
        # v2 limits memory and swap apart: without swap the two together are what was asked for.
        (2, "memory"): [("memory.max", size), ("memory.swap.max", "0")],
        (1, "memory"): [("memory.limit_in_bytes", size), ("memory.memsw.limit_in_bytes", size)],
        (2, "cpu"): [("cpu.max", f"{quota} {_PERIOD_US}")],
        (1, "cpu"): [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", quota)],
        (2, "pids"): [("pids.max", size)],
        (1, "pids"): [("pids.max", size)],
    }
    return table[version, name]


def _add(group: Group, key: str, value: str) -> None:
    values = group.orders.setdefault(key, [])
    if value not in values:
        values.append(value)
