"""The outbox through deaths of the daemon and of who is told: no event lost, none repeated after its acknowledgement."""

import json
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash.killer import NEVER, Killer
from tests.crash.patience import pause, until
from tests.crash.place import Json, Place
from tests.crash.sweeping import sweep_daemon

from bide.client.http1 import request
from bide.client.start import try_connect

OWNER = "/v1/outbox/ann"
_RECEIVING = "45 "
"""The number of recvfrom: the consumer waits for an answer."""


class Consumer:
    """Somebody who is told, and counts."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.told: list[str] = []
        self.acknowledged: set[str] = set()

    def pull(self, timeout_ms: int = 0) -> list[str]:
        message = self._place.call("POST", f"{OWNER}/pull", {"timeout_ms": timeout_ms})
        ids = [one["id"] for one in message["notices"]]
        assert not self.acknowledged & set(ids), "repeated after its acknowledgement"
        self.told += ids
        return ids

    def acknowledge(self, ids: list[str]) -> None:
        self._place.call("POST", f"{OWNER}/ack", {"notices": ids})
        self.acknowledged |= set(ids)

    def until_told(self, notice: str) -> None:
        until(lambda: notice in self.pull(1000) or notice in self.acknowledged)


@pytest.mark.slow
def test_the_daemon_may_die_at_every_system_call_between_an_event_and_its_acknowledgement(
    swept: Place, killer: Killer
) -> None:
    consumer = Consumer(swept)
    expected: set[str] = set()

    def do() -> None:
        notice = f"{swept.submit('exit 3', owner='ann', key=secrets.token_hex(8))}:end"
        expected.add(notice)
        consumer.until_told(notice)
        consumer.acknowledge([notice])
        assert notice not in consumer.pull()

    sweep_daemon(swept, killer, 24, do)
    swept.restart()
    assert consumer.pull() == []
    assert set(consumer.told) == expected == consumer.acknowledged


TAKE = """
import anyio, bide, sys
async def take():
    async with bide.connect(sys.argv[1]) as jobs:
        message = await jobs.outbox.pull("ann", carrier="somebody", timeout=None)
        with open(sys.argv[2], "w") as out:
            print(*message.ids, file=out)
        await jobs.outbox.settle("somebody")
anyio.run(take)
"""


@pytest.mark.slow
def test_the_daemon_may_die_at_every_system_call_of_handing_an_event_to_a_carrier(swept: Place, killer: Killer) -> None:
    expected: list[str] = []

    def ended() -> None:
        """Something is due. Whoever takes it may have started this daemon."""
        swept.daemon = swept.call("GET", "/v1/daemon")["pid"]
        expected.append(f"{swept.submit('exit 3', owner='ann')}:end")
        until(lambda: expected[-1] in due(swept))

    def do() -> None:
        taken = swept.path / "taken"
        taker = swept.world.start([sys.executable, "-P", "-c", TAKE, str(swept.home), str(taken)])
        until(lambda: swept.world.status(taker) is not None)
        assert taken.read_text().split() == expected[-1:]
        taken.unlink()

    sweep_daemon(swept, killer, 24, do, before=ended)
    swept.start()
    assert due(swept) == []


def due(place: Place) -> list[str]:
    message = place.call("POST", f"{OWNER}/pull", {"timeout_ms": 0})
    return [one["id"] for one in message["notices"]]


@pytest.mark.slow
def test_who_is_told_may_die_at_every_system_call_from_hearing_to_acknowledging(
    swept: Place, killer: Killer, tmp_path: Path
) -> None:
    """What is no longer due was printed before; what was not printed is still due."""
    words = [sys.executable, "-P", "-m", "bide", "--home", str(swept.home), "events", "--follow", "--json"]

    def once(call: int) -> None:
        killer.plan()
        out = tmp_path / f"out-{call}"
        shell = ["/bin/sh", "-c", f'exec "$@" > {out}', "sh", *words, "--owner", "ann"]
        told = swept.world.start(shell)
        until(lambda: Path(f"/proc/{told}/syscall").read_text().startswith(_RECEIVING))
        tracer = swept.world.start([str(killer.program), "-p", str(told), str(call)])
        until(killer.said)
        notice = f"{swept.submit('exit 3', owner='ann')}:end"
        if call == NEVER:
            until(lambda: notice in printed(out))
            until(lambda: not due(swept))
            swept.world.signal(told, signal.SIGKILL)
        else:
            until(lambda: swept.world.status(told) is not None or (notice in printed(out) and not due(swept)))
            swept.world.signal(told, signal.SIGKILL)
            swept.world.signal(tracer, signal.SIGKILL)
        until(lambda: swept.world.status(told) is not None)
        until(lambda: swept.world.status(tracer) is not None)
        until(lambda: swept.job(notice.removesuffix(":end"))["phase"] == "ended")
        settle(swept, notice, printed(out))

    once(NEVER)
    for point in killer.points(24):
        once(point)


def settle(place: Place, notice: str, told: list[str]) -> None:
    """It was printed, or is due; and once it is acknowledged it is neither told nor due again."""
    left = due(place)
    assert notice in told or notice in left or until(lambda: notice in due(place))
    place.call("POST", f"{OWNER}/ack", {"notices": [notice]})
    place.restart()
    assert due(place) == []


def printed(out: Path) -> list[str]:
    """The ids in every whole line."""
    lines = out.read_text().split("\n")[:-1] if out.exists() else []
    found: list[Json] = [json.loads(line) for line in lines]
    return [one["id"] for message in found for one in message["notices"]]


STEPS: dict[str, tuple[tuple[str, ...], bool]] = {
    "recorded": ((), True),
    "asked for and not read": (("hang up",), True),
    "handed over": (("pull",), True),
    "handed to a carrier that died": (("carry", "die", "release"), True),
    "given back by its carrier": (("carry", "release", "die"), True),
    "handed to a carrier that went on": (("carry", "die", "settle"), False),
    "settled by its carrier": (("carry", "settle", "die"), False),
    "acknowledged": (("pull", "ack", "die"), False),
}
"""What was done for a notice, with the daemon's death where it is, and whether it is due after that."""


def test_daemon_and_consumer_may_die_at_each_step_between_an_event_and_its_acknowledgement(place: Place) -> None:
    place.start()
    notices = {step: f"{place.submit('exit 3', owner=_owner(step))}:end" for step in STEPS}
    for step, notice in notices.items():
        until(lambda step=step, notice=notice: _due_to(place, step) == [notice])

    def do(*, after: bool) -> None:
        for step, (acts, _) in STEPS.items():
            at = acts.index("die") if "die" in acts else len(acts)
            for act in acts[at + 1 :] if after else acts[:at]:
                _ACTS[act](place, step, notices[step])

    do(after=False)
    place.restart()
    do(after=True)
    for step, notice in notices.items():
        assert _due_to(place, step) == ([notice] if STEPS[step][1] else []), step
        place.call("POST", f"/v1/outbox/{_owner(step)}/ack", {"notices": [notice]})
    place.restart()
    assert {step: _due_to(place, step) for step in STEPS} == {step: [] for step in STEPS}


def _owner(step: str) -> str:
    return step.replace(" ", "-")


def _due_to(place: Place, step: str) -> list[str]:
    message = place.call("POST", f"/v1/outbox/{_owner(step)}/pull", {"timeout_ms": 0})
    return [one["id"] for one in message["notices"]]


def _hang_up(place: Place, step: str, _: str) -> None:
    """Ask, and die before the answer is read."""
    sock = try_connect(str(place.home))
    assert sock is not None
    sock.sendall(request("POST", f"/v1/outbox/{_owner(step)}/pull", {"timeout_ms": 0}))
    sock.close()


_ACTS: dict[str, Callable[[Place, str, str], object]] = {
    "hang up": _hang_up,
    "pull": lambda place, step, _: _due_to(place, step),
    "carry": lambda place, step, _: place.call("POST", f"/v1/outbox/{_owner(step)}/pull", {"carrier": _owner(step)}),
    "settle": lambda place, step, _: place.call("POST", f"/v1/carriers/{_owner(step)}/settle", {}),
    "release": lambda place, step, _: place.call("POST", f"/v1/carriers/{_owner(step)}/release", {}),
    "ack": lambda place, step, notice: place.call("POST", f"/v1/outbox/{_owner(step)}/ack", {"notices": [notice]}),
}


def test_fifty_events_reach_a_consumer_each_while_daemons_die(place: Place) -> None:
    consumer = Consumer(place)
    over = threading.Event()

    def keep_killing() -> None:
        while not over.wait(0.4):
            place.restart()

    killing = threading.Thread(target=keep_killing)
    killing.start()
    try:
        jobs = [place.submit(f"exit {one % 3}", owner="ann") for one in range(50)]
        while len(consumer.acknowledged) < len(jobs):
            ids = consumer.pull(500)
            if ids:
                pause(0.01)
                consumer.acknowledge(ids)
    finally:
        over.set()
        killing.join()
    place.restart()
    assert consumer.pull() == []
    assert consumer.acknowledged == {f"{job}:end" for job in jobs}
