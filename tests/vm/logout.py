"""What becomes of a user's jobs when the user logs out, and whether doctor says so beforehand."""

import json

from tests.vm.image import USER
from tests.vm.machine import Machine, pause
from tests.vm.table import Table

AREA = "logout"
_SCRIPT = "while :; do sleep 1; done"
_SETTLED = 60.0
_GOES_ON = "go on after logout"
"""What doctor says of jobs that outlive a logout."""


def run(machine: Machine, table: Table) -> None:
    """Log in, start a job, ask doctor, log out; for both settings of lingering and of KillUserProcesses."""
    machine.run("mkdir -p /etc/systemd/logind.conf.d")
    for kills in ("no", "yes"):
        machine.put(f"[Login]\nKillUserProcesses={kills}\nUserStopDelaySec=0\n", "/etc/systemd/logind.conf.d/vm.conf")
        machine.run("systemctl restart systemd-logind")
        for linger in ("disable", "enable"):
            machine.run(f"loginctl {linger}-linger {USER}")
            with table.part(AREA):
                _try(machine, table, kills, lingers=linger == "enable")
            _clear(machine, lingers=linger == "enable")
    machine.run(
        f"rm /etc/systemd/logind.conf.d/vm.conf; systemctl restart systemd-logind; loginctl disable-linger {USER}"
    )


def _try(machine: Machine, table: Table, kills: str, *, lingers: bool) -> None:
    said = machine.login(USER, f"bide run --bg -- sh -c '{_SCRIPT}' && bide doctor --json; true").stdout
    job, _, doctor = said.partition("\n")
    _wait_for_logout(machine, lingers=lingers, lasts=kills == "no" and not lingers)
    alive = int(machine.run(f"pgrep -c -u {USER} -f '^sh -c while' || true") or 0)
    shown = json.loads(machine.login(USER, f"bide show --json {job}").stdout)
    told = next((check["text"] for check in json.loads(doctor)["checks"] if check["check"] == "logout"), "nothing")
    goes_on = shown["phase"] == "running"
    true = goes_on == bool(alive) and (goes_on or shown["status"] != 0)
    what = f"lingering {'on' if lingers else 'off'}, KillUserProcesses={kills}"
    seen = "the job goes on" if goes_on else f"the job is over: {shown['reason']} ({shown['error'] or shown['signal']})"
    table.add(AREA, what, f"{seen}; doctor had said: {told}", good=true and (_GOES_ON in told) == goes_on)


def _wait_for_logout(machine: Machine, *, lingers: bool, lasts: bool = False) -> None:
    """Return when systemd has done all that it does at a logout.

    A session in which the daemon runs `lasts`, in state `closing`, and so does the service manager.
    """
    states = "while read id _; do loginctl show-session $id -p State --value; done"
    count = "grep -vc closing" if lasts else "wc -l"
    sessions = f"loginctl list-sessions --no-legend | grep {USER} | {states} | {count}"
    manager = "true" if lingers or lasts else "systemctl is-active --quiet user@1000"
    for _ in range(int(_SETTLED)):
        busy = machine.run(
            f"{sessions}; {manager} && echo busy; systemctl list-jobs --no-legend | grep -c 'user\\|session'; true"
        ).split()
        if busy == (["0", "busy", "0"] if lingers or lasts else ["0", "0"]):
            return
        pause(0.5)
    raise AssertionError(f"the session does not end: {machine.run('loginctl; systemctl list-jobs; true')}")


def _clear(machine: Machine, *, lingers: bool) -> None:
    machine.login(USER, "bide daemon stop --kill", check=False)
    machine.run(f"pkill -KILL -u {USER} -f '^sh -c while'; true")
    _wait_for_logout(machine, lingers=lingers)
