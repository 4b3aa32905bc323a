"""Steps of the wall clock by a day, forward and back, while everything runs that has to do with time."""

import threading
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from tests.vm.door import Door, Json
from tests.vm.load import wait_for_daemon
from tests.vm.machine import Machine, pause
from tests.vm.table import Table

DAY = 86_400
LIMIT = 60.0
"""Seconds of every limit here: long enough for two steps and two restarts of the daemon in between."""
SPAN = 30.0
"""How long the job lives whose duration is compared with a clock outside."""
SLACK = 8.0
"""How much later than its time something may be seen from outside, on an emulated processor."""
AREA = "clock"


class Clock:
    """One run of the part, on a machine whose daemon systemd starts."""

    def __init__(self, machine: Machine, table: Table) -> None:
        self._machine = machine
        self._door = Door(machine.socket)
        self._table = table
        self._jobs: dict[str, str] = {}
        self._started: dict[str, float] = {}
        self._ended: dict[str, tuple[float, Json]] = {}
        self._waited: tuple[float, Json] | None = None

    def run(self) -> None:
        """Start, step forward, step back, and see how all of it ends."""
        wait_for_daemon(self._door)
        self._begin()
        watchers = [
            threading.Thread(target=self._watch, args=(name,), daemon=True)
            for name in ("timeout", "idle", "ttl", "span")
        ]
        watchers.append(threading.Thread(target=self._wait, daemon=True))
        for watcher in watchers:
            watcher.start()
        self._step(DAY, "1 day forward")
        self._step(-2 * DAY, "2 days back")
        for watcher in watchers:
            watcher.join(3 * LIMIT)
        self._judge()
        self._machine.run(f"date -s @$(($(date +%s) + {DAY}))")
        self._door.call("POST", f"/v1/jobs/{self._jobs['in two days']}/kill", {})

    def _begin(self) -> None:
        stay = "exec sleep 100000"
        now = datetime.fromtimestamp(int(self._machine.run("date +%s")), UTC)
        self._start("timeout", stay, limits={"timeout_ms": LIMIT * 1000})
        self._start("idle", stay, limits={"idle_ms": LIMIT * 1000})
        self._start("ttl", stay, ttl_ms=LIMIT * 1000)
        self._start("span", f"sleep {SPAN:g}; exit 4")
        self._start("in twelve hours", "echo due", turn={"at": (now + timedelta(hours=12)).isoformat()})
        self._start("in two days", "echo early", turn={"at": (now + timedelta(days=2)).isoformat()})
        self._start("before", "echo kept")
        self._door.call("POST", "/v1/wait", {"jobs": [self._jobs["before"]], "mode": "all"})

    def _start(self, name: str, script: str, **fields: object) -> None:
        body: Json = {"command": script, "label": name, "cwd": "/", "background": True, **fields}
        self._started[name] = time.monotonic()
        self._jobs[name] = self._door.call("POST", "/v1/jobs", body)["job"]["id"]

    def _watch(self, name: str) -> None:
        """Note when a job ends, by this machine's clock; the daemon may be restarted meanwhile."""
        deadline = time.monotonic() + 3 * LIMIT
        while time.monotonic() < deadline:
            try:
                body = {"jobs": [self._jobs[name]], "mode": "all", "timeout_ms": 20_000}
                job = self._door.call("POST", "/v1/wait", body)["jobs"][0]
            except Exception:  # noqa: BLE001 - the daemon is being restarted
                pause(0.2)
                continue
            if job["phase"] == "ended":
                self._ended[name] = (time.monotonic() - self._started[name], job)
                return

    def _wait(self) -> None:
        """One wait with a time limit, of which a step of the clock may take nothing."""
        began = time.monotonic()
        body = {"jobs": [self._jobs["in two days"]], "mode": "all", "timeout_ms": 10_000}
        answer = self._door.call("POST", "/v1/wait", body)
        self._waited = (time.monotonic() - began, answer)

    def _step(self, seconds: int, what: str) -> None:
        self._machine.run(f"date -s @$(($(date +%s) + {seconds}))")
        pause(3)
        self._look(f"{what}")
        self._door.call("POST", "/v1/gc", {"dry_run": False})
        while self._waited is None:
            pause(0.1)
        self._machine.run("systemctl restart bide")
        wait_for_daemon(self._door)
        self._look(f"{what}, and the daemon restarted")
        self._run_one(what)

    def _look(self, what: str) -> None:
        early = [name for name in self._ended if self._ended[name][0] < (SPAN if name == "span" else LIMIT)]
        jobs = {job["label"]: job for job in self._door.jobs() if job["id"] in self._jobs.values()}
        running = [name for name in ("timeout", "idle", "ttl", "span") if jobs[name]["phase"] == "running"]
        early += [
            name for name in ("timeout", "idle", "ttl", "span") if name not in running and name not in self._ended
        ]
        if jobs["in two days"]["phase"] != "queued":
            early.append("in two days")
        kept = self._door.output(self._jobs["before"]) == b"kept\n"
        seen = f"ended early: {', '.join(early) or 'none'}; what had ended is {'kept' if kept else 'GONE'}"
        self._table.add(AREA, what, seen, good=not early and kept)

    def _run_one(self, what: str) -> None:
        began = time.monotonic()
        job = self._door.call("POST", "/v1/jobs", {"command": "sleep 1; exit 5", "cwd": "/", "label": what})["job"]
        took = time.monotonic() - began
        newest = self._door.jobs()[0]["id"]
        good = job["exit_code"] == 5 and 1000 <= job["duration_ms"] <= took * 1000 and newest == job["id"]
        seen = f"exits with {job['exit_code']} after {job['duration_ms']} ms; listed {'first' if newest == job['id'] else 'NOT first'}"
        self._table.add(AREA, f"{what}: a new job", seen, good=good)

    def _judge(self) -> None:
        for name, reason, length in (
            ("timeout", "timed_out", LIMIT),
            ("idle", "idle", LIMIT),
            ("ttl", "killed", LIMIT),
            ("span", "exited", SPAN),
        ):
            if name not in self._ended:
                self._table.add(AREA, name, f"not over after {3 * LIMIT:g} s", good=False)
                continue
            after, job = self._ended[name]
            duration = job["duration_ms"] / 1000
            good = (
                job["reason"] == reason
                and length - 0.1 <= duration <= length + SLACK
                and after - SLACK <= duration <= after
            )
            seen = f"{job['reason']} after {duration:.1f} s by its own record, {after:.1f} s by a clock outside"
            self._table.add(AREA, f"{name} of {length:g} s, over both steps", seen, good=good)
        due = self._door.call("GET", f"/v1/jobs/{quote(self._jobs['in twelve hours'])}")
        self._table.add(
            AREA,
            "--at in 12 hours, after a day forward",
            f"{due['phase']}, {due['reason']}",
            good=due["reason"] == "exited",
        )
        assert self._waited is not None
        after, answer = self._waited
        good = answer["timed_out"] and after >= 10
        self._table.add(
            AREA,
            "a wait of 10 s, over a step",
            f"{'timed out' if answer['timed_out'] else 'ended'} after {after:.1f} s",
            good=good,
        )
