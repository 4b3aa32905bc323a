"""A hook that its client, or anybody, kills at any system call: what it did not say is said by the next."""

import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.crash.killer import NEVER, Killer
from tests.crash.patience import until
from tests.crash.place import Place

_READING = "0 0x0 "
"""The number of read, and of stdin: the hook waits for what its client says."""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["prompt", "stop"])
def test_a_hook_may_die_at_every_system_call_and_loses_nothing(
    swept: Place, killer: Killer, tmp_path: Path, point: str
) -> None:
    hook = Hook(swept, killer, tmp_path, point)
    hook.killed_at(NEVER)
    for call in killer.points(24):
        hook.killed_at(call)


class Hook:
    """A hook of one session, whose words go to a file."""

    def __init__(self, place: Place, killer: Killer, folder: Path, point: str) -> None:
        self._place = place
        self._killer = killer
        self._folder = folder
        words = [sys.executable, "-P", "-m", "bide", "--home", str(place.home), "hook", point]
        self._words = [*words, "--client", "claude", "--owner", "ann"]

    def killed_at(self, call: int) -> None:
        """It is told of an event, and dies; what it did not say is said by the next, and what that said is over."""
        notice = f"{self._place.submit('exit 3', owner='ann')}:end"
        job = notice.removesuffix(":end")
        until(lambda: notice in self._due())
        first = self._said(call)
        second = self._said(0)
        assert job in first or job in second, f"lost at system call {call}"
        assert self._said(0) == ""
        self._place.restart()
        assert self._said(0) == ""

    def _due(self) -> list[str]:
        message = self._place.call("POST", "/v1/outbox/ann/pull", {"timeout_ms": 0})
        return [one["id"] for one in message["notices"]]

    def _said(self, call: int) -> str:
        """What one hook says that is killed at this system call after its client spoke (0: at none)."""
        world, name = self._place.world, secrets.token_hex(4)
        out, fifo = self._folder / f"out-{name}", self._folder / f"in-{name}"
        os.mkfifo(fifo)
        hook = world.start(["/bin/sh", "-c", f'exec "$@" < {fifo} > {out}', "sh", *self._words])
        with fifo.open("wb", buffering=0) as stdin:
            until(lambda: Path(f"/proc/{hook}/syscall").read_text().startswith(_READING))
            tracer = self._traced(hook, call) if call else 0
            with suppress(BrokenPipeError):
                stdin.write(json.dumps({"session_id": "s1"}).encode())
        until(lambda: world.status(hook) is not None)
        if tracer:
            until(lambda: world.status(tracer) is not None)  # it has said what became of the other
        text = out.read_text()
        return text if text.endswith("\n") else ""

    def _traced(self, hook: int, call: int) -> int:
        self._killer.plan()
        tracer = self._place.world.start([str(self._killer.program), "-p", str(hook), str(call)])
        until(self._killer.said)
        return tracer
