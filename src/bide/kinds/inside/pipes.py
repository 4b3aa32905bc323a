"""What one job writes, given to another as its input while it comes: byte for byte, also across daemons."""

import threading
import time

from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .jobs import Running
    from .wire import Json

_PIECE = 1024 * 1024
_AHEAD = 64 * 1024 * 1024
"""How far the source may be ahead of us before it is made to wait: less than what is kept of its output."""
_BEHIND = 8 * 1024 * 1024
"""How much the target may have left to take before the source is made to wait."""
_STOP, _CONTINUE, _BROKEN = 19, 18, 13
_WAIT_MS = 60_000
_PAUSE = 0.05


class Pipe(threading.Thread):
    """Copies until the source is over or the target takes no more. The program does not end before that."""

    def __init__(self, source: "Running", target: "Running") -> None:
        """Not started yet."""
        super().__init__(name=f"pipe {source.id} {target.id}")
        self._source = source
        self._target = target
        self._held = False

    def run(self) -> None:
        """Copy, then say that this was all. What goes wrong is told to whoever asks for the target's result."""
        try:
            self._copy()
        except Exception as error:  # noqa: BLE001 - it is raised where it can be handled
            self._target.fault = error
            # Half of its input must not pass for all of it.
            self._ask(self._target, "kill", {"by": "pipe"})

    def _copy(self) -> None:
        at = 0
        while True:
            path = f"/v1/jobs/{self._source.id}/output?offset={at}&limit={_PIECE}&follow_ms={_WAIT_MS}"
            headers, data = wire.get("GET", path)
            if int(headers["bide-offset"]) > at:
                raise wire.CommandError(f"output of {self._source.id} was dropped before it was passed on", "lost")
            if data:
                taken = wire.send(self._target.id, data, at)
                at += len(data)
                if taken is None:
                    self._break()
                    return
                self._pace(int(headers["bide-size"]) - at, taken)
            elif headers["bide-ended"] == "1":
                break
            elif self._held:
                self._hold(held=False)
        wire.send(self._target.id, b"", at, eof=True)

    def _pace(self, ahead: int, target: "Json") -> None:
        """Hold the source while it is far ahead or the target far behind: nothing tells of input that was taken."""
        while target["input"] and target["input"]["size"] - target["input"]["taken"] > _BEHIND:
            self._hold(held=True)
            time.sleep(_PAUSE)
            target = wire.call("GET", f"/v1/jobs/{self._target.id}")
        if ahead > _AHEAD:
            self._hold(held=True)
        elif ahead < _PIECE:
            self._hold(held=False)

    def _hold(self, *, held: bool) -> None:
        if held != self._held:
            self._held = held
            self._ask(self._source, "send", {"signal": _STOP if held else _CONTINUE})

    def _break(self) -> None:
        """Nobody reads any more: what a shell's pipe would tell the source by a signal."""
        self._ask(self._source, "kill", {"signal": _BROKEN, "by": "pipe"})

    @staticmethod
    def _ask(job: "Running", what: str, body: "dict[str, object]") -> None:
        try:
            wire.call("POST", f"/v1/jobs/{job.id}/{what}", body)
        except wire.CommandError as error:
            if error.code != "job_ended":
                raise
