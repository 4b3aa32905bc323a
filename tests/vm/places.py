"""Limits in the places where people start jobs: tests/vm/limits.py is run in each of them."""

import shlex
from pathlib import Path

from tests.vm.image import USER, VENV
from tests.vm.machine import Machine
from tests.vm.table import Table

AREA = "limits"
_CHECKS = Path(__file__).with_name("limits.py")
_THERE = "/opt/limits.py"
_SECONDS = 400.0
_CONTAINER = (
    "systemd-run --quiet --wait --pipe --collect -p ProtectControlGroups=yes -p InaccessiblePaths=/run/dbus "
    "-p InaccessiblePaths=/run/systemd/private"
)
"""A unit as a container is: the cgroup tree cannot be written, and no service manager can be asked."""

_OWN_TREE = (
    "mkdir -p /sys/fs/cgroup/alone && echo '+cpu +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control && "
    "echo $$ > /sys/fs/cgroup/alone/cgroup.procs && exec unshare --cgroup --mount sh -c "
)
_NO_SYSTEMD = "mount -t tmpfs tmpfs /run && umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "
"""A machine without systemd, as a container with a writable tree is: a cgroup tree of its own, and nobody to ask."""

_LINGER = f"loginctl enable-linger {USER}"
_ALONE = f"loginctl disable-linger {USER} && systemctl stop user@1000"


def run(machine: Machine, table: Table) -> None:
    """Run the checks as root and as a user, in a login by ssh, after `su -`, without systemd, and as in a container."""
    machine.put(_CHECKS.read_text(), _THERE)
    enforced, sampled = (f"{VENV}/bin/python {_THERE} {word}" for word in ("enforced", "sampled"))
    su = f"su - {USER} -c"
    places = (
        ("root, by ssh", "root", enforced),
        (f"{USER}, by ssh", USER, enforced),
        (f"{USER}, by su - from root's login, lingering on", "root", f"{_LINGER} && {su} {shlex.quote(enforced)}"),
        (f"{USER}, by su - from root's login, no service manager", "root", f"{_ALONE} && {su} {shlex.quote(sampled)}"),
        ("root, no systemd, a cgroup tree of its own", "root", _OWN_TREE + shlex.quote(_NO_SYSTEMD + enforced)),
        ("root, read-only cgroup tree, as in a container", "root", f"{_CONTAINER} {sampled}"),
    )
    for place, user, command in places:
        with table.part(AREA):
            done = machine.login(user, command, check=False, within=_SECONDS)
            _report(table, place, done.stdout, done.stderr)


def _report(table: Table, place: str, said: str, errors: str) -> None:
    lines = [line.split(None, 1) for line in said.splitlines() if line.startswith(("ok", "FAIL", "skip"))]
    failed = [words[1] for words in lines if words[0] == "FAIL"]
    passed = sum(words[0] == "ok" for words in lines)
    seen = "; ".join([f"{passed} checks hold", *(f"FAIL: {words}" for words in failed)])
    if not lines:
        seen = f"the checks did not run: {errors[-300:]}"
    table.add(AREA, place, seen, good=bool(passed) and not failed)
