"""A restart of the machine in order: what was queued starts, what ran is lost or says what ended it, what had ended stays."""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from tests.vm.asks import LINE
from tests.vm.door import Door, Json
from tests.vm.image import USER
from tests.vm.load import wait_for_daemon
from tests.vm.machine import Machine
from tests.vm.table import Table

AREA = "restart"
_SAME = ("reason", "exit_code", "ended_at", "duration_ms", "output", "missing_bytes")


def run(machine: Machine, table: Table) -> None:
    """Restart the machine under jobs of root, whose daemon is a service, and of a user, whose daemon is not."""
    door = Door(machine.socket)
    wait_for_daemon(door)
    door.call("POST", f"/v1/groups/{LINE}", {"limit": 1})
    now = datetime.fromtimestamp(int(machine.run("date +%s")), UTC)
    ended = _start(door, "echo over; exit 3", background=False)
    runs = _start(door, "echo begun; exec sleep 100000")
    first = _start(door, "exec sleep 100000", turn={"group": LINE})
    queued = [_start(door, f"echo {number}", turn={"group": LINE}) for number in (1, 2)]
    timed = _start(door, "echo due", turn={"at": (now + timedelta(seconds=20)).isoformat()})
    theirs = _begin_as_user(machine)
    machine.restart()
    wait_for_daemon(door)
    after = _get(door, ended)
    table.add(
        AREA,
        "a job that had ended",
        f"{after['reason']} {after['exit_code']}",
        good=all(after[name] == ended[name] for name in _SAME) and door.output(ended["id"]) == b"over\n",
    )
    for what, job in (("a job that ran", runs), ("the job at the head of a group", first)):
        after = _get(door, job)
        good = after["reason"] in ("lost", "signaled") and after["exit_code"] is None and after["status"] != 0
        table.add(AREA, what, f"{after['reason']}: {after['error'] or after['signal']}", good=good)
    waited = door.call(
        "POST",
        "/v1/wait",
        {"jobs": [job["id"] for job in (*queued, timed)], "mode": "all", "timeout_ms": 60_000},
        within=90,
    )
    for what, job, said in (
        ("queued first", queued[0], b"1\n"),
        ("queued second", queued[1], b"2\n"),
        ("--at, due after the restart", timed, b"due\n"),
    ):
        after = _get(door, job)
        good = (
            not waited["timed_out"]
            and after["reason"] == "exited"
            and after["exit_code"] == 0
            and door.output(job["id"]) == said
        )
        table.add(AREA, what, f"{after['phase']}, {after['reason']} {after['exit_code']}", good=good)
    order = _get(door, queued[0])["started_at"] <= _get(door, queued[1])["started_at"]
    table.add(AREA, "their order", "kept" if order else "NOT kept", good=order)
    _judge_of_user(machine, table, *theirs)


def _start(door: Door, script: str, *, background: bool = True, **fields: object) -> Json:
    return door.call("POST", "/v1/jobs", {"command": script, "cwd": "/", "background": background, **fields})["job"]


def _get(door: Door, job: Json) -> Json:
    return door.call("GET", f"/v1/jobs/{quote(job['id'])}")


def _begin_as_user(machine: Machine) -> tuple[str, str]:
    """Start a job as a user, and one that waits for its end; no unit starts this user's daemon."""
    runs = machine.login(USER, "bide run --bg -- sleep 100000").stdout.strip()
    waits = machine.login(USER, f"bide run --bg --after {runs} --after-any -- echo next").stdout.strip()
    return runs, waits


def _judge_of_user(machine: Machine, table: Table, runs: str, waits: str) -> None:
    """The user's first command after the restart starts the daemon."""
    machine.login(USER, f"bide wait --timeout 60s {runs} {waits}", check=False)
    before, after = (json.loads(machine.login(USER, f"bide show --json {job}").stdout) for job in (runs, waits))
    good = before["reason"] in ("lost", "signaled") and after["reason"] == "exited" and after["exit_code"] == 0
    seen = f"{before['reason']}; then the one that waited: {after['reason']} {after['exit_code']}"
    table.add(AREA, f"{USER}, whose daemon the first command starts", seen, good=good)
