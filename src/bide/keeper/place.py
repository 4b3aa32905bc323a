"""Where the groups of a home's jobs are made: found once, by asking the kernel's tree and, under systemd, the service manager."""

from __future__ import annotations

import contextlib
import os

from msgspec import Struct

from bide.keeper import hierarchy, systemd
from bide.keeper.hierarchy import CONTROLLERS, Base, Unavailable
from bide.keeper.launch import Nursery
from bide.model.limits import FALLBACK

_KEEPERS = "keepers"
"""The group of a scope that keepers are in."""
_UNDELEGATED = "as root: systemctl edit user@.service, with [Service] Delegate=pids memory cpu; then log in again"
_OUT_OF_SCOPES = "as root: loginctl enable-linger {user}; or log in by ssh or at a desktop rather than by su"


class Place(Struct, frozen=True):
    """Where the groups of a home are made, per controller; for those that are missing, why, and what would help."""

    bases: dict[str, Base]
    why: str = ""
    advice: str = ""
    nursery: Nursery | None = None
    """Keepers that it makes can put their jobs into these groups; with `None` every keeper can."""

    def enforced(self, name: str) -> str:
        """What enforces a limit: `memory`, `cpu` or `pids`."""
        base = self.bases.get(name)
        return FALLBACK[name] if base is None else f"cgroup v{base.version}"

    def to_json(self) -> dict[str, str]:
        """What `bide doctor` shows."""
        return {name: self.enforced(name) for name in CONTROLLERS} | {"why": self.why, "advice": self.advice}


def name_of(home: str) -> str:
    """A name for the folder of a home's groups that no other home on this machine has. Raises OSError."""
    found = os.stat(home)
    return f"bide-{found.st_dev:x}-{found.st_ino:x}"


def find(home: str) -> Place:
    """Find, or have made, the place for the groups of a home."""
    bases: dict[str, Base] = {}
    why = advice = ""
    nursery = None
    try:
        base, names, nursery = _unified(home)
        bases |= dict.fromkeys(names, base)
        if missing := [name for name in CONTROLLERS if name not in names]:
            why = f"cgroup v2 has no {' and no '.join(missing)} controller here"
            advice = _UNDELEGATED if nursery is not None and os.geteuid() != 0 else ""
    except Unavailable as error:
        why, advice = str(error), error.advice
    for name, base in hierarchy.v1_bases().items():
        bases.setdefault(name, base.within(name_of(home)))
    missing = [name for name in CONTROLLERS if name not in bases]
    return Place(bases, why if missing else "", advice if missing else "", nursery)


def _unified(home: str) -> tuple[Base, tuple[str, ...], Nursery | None]:
    mount = hierarchy.unified()
    own = hierarchy.own_unified(mount)
    if not systemd.is_running():
        base, names = hierarchy.open_nearest(own)
        return base.within(name_of(home)), names, None
    if hierarchy.is_delegated(own):
        with contextlib.suppress(Unavailable):
            return own.within(name_of(home)), hierarchy.open_own(own), None
    return _scope(mount, home)


def _scope(mount: hierarchy.Mount, home: str) -> tuple[Base, tuple[str, ...], Nursery]:
    """A scope of the service manager: only processes that it put there can be moved to groups in it, so one forks keepers."""
    manager = systemd.manager()
    if manager is None:
        user = systemd.user_name()
        raise Unavailable(f"no service manager runs for user {user}", _OUT_OF_SCOPES.format(user=user))
    nursery = Nursery()
    try:
        nursery.open()
        shown = systemd.start_scope(manager, "jobs", f"jobs of bide in {home}", nursery.pid)
        base, names = _settled(mount.at(shown))
    except Unavailable:
        nursery.close()
        raise
    except OSError as error:
        nursery.close()
        raise Unavailable(f"the service manager starts no scope ({error})") from error
    return base, names, nursery


def _settled(scope: Base | None) -> tuple[Base, tuple[str, ...]]:
    """Make a scope ready for the groups of jobs: its process goes to a group of its own."""
    if scope is None:
        raise Unavailable("the service manager's scope is not below what is mounted")
    hierarchy.clear(scope, _KEEPERS)
    return Base(2, scope.path, scope.shown, shared=False), hierarchy.enable(scope)
