"""The cgroup hierarchies of this machine: where they are mounted, and where in them this process may make groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from msgspec import Struct

CONTROLLERS = ("memory", "cpu", "pids")
_PASSES = 10
_DEPTH = 32


class Base(Struct, frozen=True):
    """The folder in which the groups of a home's jobs are made, and how /proc/PID/cgroup shows it."""

    version: int
    path: str
    shown: str
    hierarchy: str = ""
    """The name of a v1 hierarchy, as in /proc/PID/cgroup."""
    shared: bool = True
    """It lies in a tree that other homes use as well, and comes and goes with its groups."""

    def within(self, name: str) -> Base:
        """The same, for a folder inside it."""
        return Base(
            self.version, f"{self.path}/{name}", f"{self.shown.rstrip('/')}/{name}", self.hierarchy, self.shared
        )


class Mount(Struct, frozen=True):
    """A mounted hierarchy."""

    version: int
    point: str
    root: str
    """Which of its groups is mounted there, as /proc/PID/cgroup shows it."""
    names: tuple[str, ...]
    """Of v1: its controllers."""
    read_only: bool

    def at(self, shown: str, hierarchy: str = "") -> Base | None:
        """The folder of a group; `None` if it is not below what is mounted."""
        root = self.root.rstrip("/")
        if shown != root and not shown.startswith(f"{root}/"):
            return None
        return Base(self.version, (self.point + shown.removeprefix(root)).rstrip("/"), shown, hierarchy)


class Unavailable(Exception):
    """No groups can be made; why not, and what would help."""

    def __init__(self, why: str, advice: str = "") -> None:
        """Both are for people to read."""
        super().__init__(why)
        self.advice = advice


def own_groups() -> dict[str, str]:
    """This process's own group per controller; '' is the v2 hierarchy. Raises OSError."""
    paths: dict[str, str] = {}
    with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            for name in names.split(","):
                paths[name] = path
    return paths


def mounts() -> Iterator[Mount]:
    """The hierarchies that are mounted. Raises OSError."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            _, _, _, root, point, options, *_ = before.split(" ")
            kind, _, more = after.rstrip("\n").split(" ", 2)
            if kind in ("cgroup", "cgroup2"):
                words = tuple(more.split(","))
                read_only = "ro" in options.split(",") or "ro" in words
                yield Mount(2 if kind == "cgroup2" else 1, _plain(point), _plain(root), words, read_only)


def _plain(text: str) -> str:
    """A path without the escapes of the kernel's lists."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text


def v1_bases() -> dict[str, Base]:
    """Our own groups in v1 hierarchies, where groups can be made below them."""
    found: dict[str, Base] = {}
    with contextlib.suppress(OSError):
        own = own_groups()
        for mount in mounts():
            for name in CONTROLLERS:
                if mount.version == 1 and name in mount.names and name not in found and name in own:
                    base = mount.at(own[name], name)
                    if base is not None and os.access(base.path, os.W_OK):
                        found[name] = base
    return found


def unified() -> Mount:
    """The v2 hierarchy, if groups can be made in it at all. Raises Unavailable."""
    try:
        found = [mount for mount in mounts() if mount.version == 2]
    except OSError as error:
        raise Unavailable(f"/proc/self/mountinfo cannot be read ({error.strerror})") from error
    if not found:
        raise Unavailable("no cgroup v2 hierarchy is mounted")
    if not any(words(f"{mount.point}/cgroup.controllers") for mount in found):
        raise Unavailable("the cgroup v2 hierarchy has no controllers")
    mount = next(mount for mount in found if words(f"{mount.point}/cgroup.controllers"))
    if mount.read_only:
        raise Unavailable("the cgroup tree is mounted read-only", "run bide outside this container or service")
    return mount


def words(path: str) -> list[str]:
    """The words of a small file; none if it cannot be read."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except (OSError, ValueError):
        return []


def put(path: str, value: str) -> None:
    """Write to a file of a group. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)


def remove(path: str, depth: int = _DEPTH) -> None:
    """Remove a group with the empty groups in it; what is in use stays, and so does what lies too deep."""
    with contextlib.suppress(OSError):
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries if depth and entry.is_dir(follow_symlinks=False)]
        for one in inside:
            remove(one, depth - 1)
        os.rmdir(path)


def above(base: Base) -> Iterator[Base]:
    """A group and those above it, as far as they are mounted."""
    while True:
        yield base
        point, name = os.path.split(base.path)
        if not os.path.exists(f"{point}/cgroup.procs"):
            return
        base = Base(base.version, point, base.shown.removesuffix(f"/{name}") or "/")


def own_unified(mount: Mount) -> Base:
    """Our own group in the v2 hierarchy. Raises Unavailable."""
    try:
        base = mount.at(own_groups().get("", "/"))
    except OSError as error:
        raise Unavailable(f"/proc/self/cgroup cannot be read ({error.strerror})") from error
    if base is None:
        raise Unavailable("our control group is not below what is mounted")
    return base


def is_delegated(base: Base) -> bool:
    """Tell whether systemd has left this group to us."""
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(base.path, name) == b"1":
                return True
    return False


def open_own(base: Base) -> tuple[str, ...]:
    """Let our own group, which only we and our children are in, have groups with controllers. Raises Unavailable."""
    if not set(words(f"{base.path}/cgroup.procs")) <= _family():
        raise Unavailable("other processes are in our control group")
    return enable(base, leaf="bide")


def open_nearest(base: Base) -> tuple[Base, tuple[str, ...]]:
    """The nearest group from here up that can have groups with most controllers, where no service manager is.

    At the top of what a container sees, all processes go to a group of their own: one that has groups with controllers
    can have no processes, unless it is the machine's root. Raises Unavailable.
    """
    found = [
        (one, [name for name in CONTROLLERS if name in words(f"{one.path}/cgroup.controllers")]) for one in above(base)
    ]
    why = Unavailable("no control group of ours can be written", "run as root, or where cgroups are delegated to you")
    for at, (one, names) in sorted(enumerate(found), key=lambda each: (-len(each[1][1]), each[0])):
        if not names or not os.access(one.path, os.W_OK):
            continue
        try:
            if is_root(one):
                return one, enable(one)
            return one, enable(one, leaf="bide") if at == len(found) - 1 else open_own(one)
        except Unavailable as error:
            why = error
    raise why


def is_root(base: Base) -> bool:
    """Tell whether this is the root of the machine, which may have processes beside its groups."""
    return not os.path.exists(f"{base.path}/cgroup.type")


def _family() -> set[str]:
    """Ourselves and all below us."""
    found, new = set[str](), [str(os.getpid())]
    while new:
        pid = new.pop()
        found.add(pid)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                new += [child for child in words(f"/proc/{pid}/task/{task}/children") if child not in found]
    return found


def enable(base: Base, leaf: str = "") -> tuple[str, ...]:
    """Switch the controllers on for the groups in this one, whose processes go to a leaf; those that are on.

    Raises Unavailable.
    """
    wanted = [name for name in CONTROLLERS if name in words(f"{base.path}/cgroup.controllers")]
    switch = f"{base.path}/cgroup.subtree_control"
    if not set(wanted) <= set(words(switch)):
        try:
            _switch_on(base, wanted, leaf)
        except OSError as error:
            raise Unavailable(f"{switch} cannot be written ({error.strerror})") from error
    return tuple(wanted)


def _switch_on(base: Base, wanted: list[str], leaf: str) -> None:
    for last in range(_PASSES):
        if leaf:
            clear(base, leaf)
        try:
            put(f"{base.path}/cgroup.subtree_control", " ".join(f"+{name}" for name in wanted))
            break
        except OSError:
            # A process that was being forked meanwhile is in it.
            if not leaf or last == _PASSES - 1:
                raise


def clear(base: Base, leaf: str) -> None:
    """Move all processes of this group to a group in it. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(f"{base.path}/{leaf}")
    for pid in words(f"{base.path}/cgroup.procs"):
        with contextlib.suppress(ProcessLookupError):
            put(f"{base.path}/{leaf}/cgroup.procs", pid)
