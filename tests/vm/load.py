"""The load under which the power is cut, made from here, so that what was given out is known afterwards."""

import random
import threading
from urllib.parse import quote

from tests.vm import asks
from tests.vm.asks import LINE, Ask, Json
from tests.vm.door import Door, Gone
from tests.vm.machine import Machine, pause

WORKERS = 5


class Fuse:
    """Cuts the power when the n-th answer of a kind has arrived: `id` or `end`, or any answer if `what` is empty."""

    def __init__(self, machine: Machine, what: str, number: int) -> None:
        self._machine = machine
        self._what = what
        self._left = number
        self._lock = threading.Lock()
        self.burnt = threading.Event()

    def answered(self, what: str) -> None:
        """Note an answer."""
        with self._lock:
            if self._what in ("", what):
                self._left -= 1
            if self._left == 0:
                self.burn()

    def burn(self) -> None:
        """Cut it now."""
        self._machine.die_now()
        self.burnt.set()


class Load:
    """Workers that ask, each for one job after the other, until nobody answers."""

    def __init__(self, door: Door, fuse: Fuse, name: str, seed: str) -> None:
        self._door = door
        self._fuse = fuse
        self._name = name
        self._seed = seed
        self._lock = threading.Lock()
        self.asks: list[Ask] = []
        """All that was asked, in order; an ask is here before it is sent."""
        self.broken: list[str] = []
        """What workers died of, other than the power cut."""

    def run(self, seconds: float) -> None:
        """Return when the power was cut: by the fuse, or after so many seconds."""
        self._do(asks.blocker(f"{self._name}-line", random.Random(self._seed)))
        workers = [threading.Thread(target=self._work, args=(number,), daemon=True) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        self._fuse.burnt.wait(seconds)
        self._fuse.burn()
        for worker in workers:
            worker.join(90)
            assert not worker.is_alive(), "a worker waits for a machine that is dead"

    def _work(self, number: int) -> None:
        choice = random.Random(f"{self._seed}-{number}")
        count = 0
        while not self._fuse.burnt.is_set():
            count += 1
            try:
                self._do(asks.draw(f"{self._name}-{number}-{count}", choice))
            except Gone:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the cut is judged, and this is said
                self.broken.append(f"{type(error).__name__}: {error}")
                return

    def _do(self, ask: Ask) -> None:
        with self._lock:
            self.asks.append(ask)
        job = self._door.call("POST", "/v1/jobs", ask.body)["job"]
        self._given(ask, job)
        if ask.end is None and ask.killed:
            killed = self._door.call("POST", f"/v1/jobs/{quote(job['id'])}/kill", {"grace_ms": 2000, "by": "vm"})
            self._given(ask, killed["job"])
        if ask.end is None and (ask.code is not None or ask.kind == "timed") and ask.kind != "queued":
            waited = self._door.call("POST", "/v1/wait", {"jobs": [job["id"]], "mode": "all", "timeout_ms": 45_000})
            self._given(ask, waited["jobs"][0])

    def _given(self, ask: Ask, job: Json) -> None:
        first, ask.id = ask.id is None, job["id"]
        if job["phase"] == "ended":
            ask.end = job
        if first:
            self._fuse.answered("id")
        if ask.end is not None:
            self._fuse.answered("end")


def prepare(machine: Machine, door: Door) -> None:
    """Make what the load needs over there."""
    machine.run(f"mkdir -p {asks.MARKS}; sync")
    door.call("POST", f"/v1/groups/{LINE}", {"limit": 1})


def wait_for_daemon(door: Door, within: float = 90) -> None:
    """Return when a daemon answers."""
    for _ in range(int(within / 0.25)):
        if door.answers():
            return
        pause(0.25)
    raise AssertionError(f"no daemon answers within {within:g} s")
