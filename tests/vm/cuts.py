"""Power cuts under load."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.vm import truth
from tests.vm.asks import MARKS, Ask, Json
from tests.vm.door import Door
from tests.vm.load import Fuse, Load, prepare, wait_for_daemon
from tests.vm.machine import Machine
from tests.vm.table import Table

LOAD_SECONDS = 20.0
"""When the power is cut at the latest."""
DRAIN_SECONDS = 60.0
_SAMPLE = 60
"""How many jobs of earlier cuts are read again in full after each cut; after the last, all are."""


@dataclass(slots=True)
class Tally:
    """Figures of all cuts."""

    given: int = 0
    ends: int = 0
    asked_again: int = 0
    lost: int = 0
    unanswered: int = 0
    dropped: int = 0
    """Blocks that were in the disk's cache and did not reach the disk."""
    ran_twice: int = 0
    faults: list[str] = field(default_factory=list[str])
    reasons: Counter[str] = field(default_factory=Counter[str])


class Cuts:
    """A series of cuts on one machine, which is up, with a daemon that starts with it."""

    def __init__(self, machine: Machine, table: Table, seed: str) -> None:
        self._machine = machine
        self._door = Door(machine.socket)
        self._table = table
        self._seed = seed
        self._asks: dict[str, Ask] = {}
        self._ends: dict[str, Json] = {}
        """By token, ends as they were read after an earlier cut: they may not change any more."""
        self._others: set[str] = set()
        self.tally = Tally()

    def prepare(self) -> None:
        """Make what the load needs; jobs of other tests may be there."""
        wait_for_daemon(self._door)
        prepare(self._machine, self._door)
        self._others = {job["id"] for job in self._door.jobs()}

    def cut(self, number: int) -> None:
        """Load, cut, boot, look."""
        choice = random.Random(f"{self._seed}-{number}")
        what, count = (("id", choice.randint(3, 30)), ("end", choice.randint(2, 20)), ("", choice.randint(5, 40)))[
            number % 3
        ]
        kept = (0.0, 0.5, 0.0, 1.0)[number % 4]
        load = Load(self._door, Fuse(self._machine, what, count), f"c{number}", f"{self._seed}-{number}")
        load.run(LOAD_SECONDS)
        blocks = self._machine.cut(kept, choice)
        self._machine.boot()
        faults = [f"a worker broke: {words}" for words in load.broken]
        faults += self._look(load.asks)
        self._count(load.asks, blocks.lost, faults)
        given, ends = sum(ask.id is not None for ask in load.asks), sum(ask.end is not None for ask in load.asks)
        seen = f"{given} ids and {ends} ends given out, {blocks.lost} unflushed blocks lost, {blocks.kept} kept"
        self._table.add("power cut", f"cut {number}", "; ".join([seen, *faults]), good=not faults)

    def finish(self) -> None:
        """Read every job once more."""
        faults = list(self._judge(self._asks.values()))
        self.tally.faults += faults
        self._table.add(
            "power cut", "all jobs, read once more", "; ".join([f"{len(self._asks)} jobs", *faults]), good=not faults
        )

    def _look(self, fresh: list[Ask]) -> list[str]:
        try:
            wait_for_daemon(self._door)
        except AssertionError as error:
            return [
                f"{error}: {self._machine.status('systemctl status bide | cat; tail -n 20 /root/.local/state/bide/daemon.log')[1]}"
            ]
        faults = list(self._ask_again(fresh))
        faults += self._drain(fresh)
        for ask in fresh:
            self._asks[ask.token] = ask
        old = [ask for token, ask in self._asks.items() if token in self._ends]
        faults += self._judge([*fresh, *random.Random(len(self._asks)).sample(old, min(_SAMPLE, len(old)))])
        faults += self._marks()
        status, said = self._machine.status("bide doctor")
        if status or re.search(r"^fail", said, re.MULTILINE):
            faults.append(f"doctor: {said}")
        return faults

    def _ask_again(self, fresh: list[Ask]) -> Iterator[str]:
        """Send every request that has a key once more, as whoever does not know whether it was heard would."""
        for ask in fresh:
            if ask.key is None:
                continue
            job = self._door.call("POST", "/v1/jobs", ask.body)["job"]
            self.tally.asked_again += 1
            if ask.id is not None and job["id"] != ask.id:
                yield f"{ask.token}: its key gave {ask.id} and gives {job['id']} after the cut"
            ask.id = job["id"]

    def _drain(self, fresh: list[Ask]) -> Iterator[str]:
        """Wait until what was queued, and what was asked for again, is over."""
        waiting = [ask.id for ask in fresh if ask.id and ask.kind in ("queued", "keyed")]
        if not waiting:
            return
        body = {"jobs": waiting, "mode": "all", "timeout_ms": int(DRAIN_SECONDS * 1000)}
        try:
            waited = self._door.call("POST", "/v1/wait", body, within=DRAIN_SECONDS + 30)
        except Exception as error:  # noqa: BLE001 - a fault like any other; what is missing is named below
            yield f"what was queued cannot be waited for: {error}"
            return
        if waited["timed_out"]:
            left = [f"{job['label']} ({job['phase']})" for job in waited["jobs"] if job["phase"] != "ended"]
            yield f"still not over after {DRAIN_SECONDS:g} s: {', '.join(left)}"

    def _judge(self, asks: Iterable[Ask]) -> Iterator[str]:
        jobs = [job for job in self._door.jobs() if job["id"] not in self._others]
        by_token: dict[str, list[Json]] = {}
        for job in jobs:
            by_token.setdefault(job["label"], []).append(job)
        for label, found in by_token.items():
            if label not in self._asks:
                yield f"{found[0]['id']} with the label {label!r} was never asked for"
            elif len(found) > 1:
                yield f"{label} was asked for once and is there as {', '.join(job['id'] for job in found)}"
        for ask in asks:
            job = by_token.get(ask.token, [None])[0]
            out = self._door.output(job["id"]) if job else b""
            err = self._door.output(job["id"], "err") if job else b""
            for fault in truth.faults(ask, job, out, err):
                yield f"{ask.token}: {fault}"
            if job is not None:
                yield from self._remember(ask, job)

    def _remember(self, ask: Ask, job: Json) -> Iterator[str]:
        if job["phase"] != "ended":
            return
        before = self._ends.setdefault(ask.token, job)
        if before is job:
            self.tally.reasons[job["reason"]] += 1
            self.tally.lost += job["reason"] == "lost"
        for name in truth.SAME:
            if before[name] != job[name]:
                yield f"{ask.token}: {name} was {before[name]!r} after an earlier cut and is now {job[name]!r}"

    def _marks(self) -> Iterator[str]:
        """Compare what ran, by the marks that jobs synced, with what is on record."""
        said = self._machine.run(f"cd {MARKS} && grep -H . * || true")
        ran: dict[str, list[str]] = {}
        for line in said.splitlines():
            token, _, job = line.partition(":")
            ran.setdefault(token, []).append(job)
        for token, starts in ran.items():
            if len(starts) != len(set(starts)):
                yield f"{token}: the program of one job was started twice: {starts}"
            if len(set(starts)) > 1:
                self.tally.ran_twice += 1
                yield f"{token}: was asked for once, under one key, and ran as {starts}"
            ask = self._asks.get(token)
            if ask is not None and ask.id is not None and starts[0] != ask.id:
                yield f"{token}: {starts[0]} ran, and {ask.id} is on record"

    def _count(self, fresh: list[Ask], dropped: int, faults: list[str]) -> None:
        self.tally.given += sum(ask.id is not None for ask in fresh)
        self.tally.ends += sum(ask.end is not None for ask in fresh)
        self.tally.unanswered += sum(ask.id is None for ask in fresh)
        self.tally.dropped += dropped
        self.tally.faults += faults
