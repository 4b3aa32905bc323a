"""Where the bytes of a job's streams go: stdout and stderr, exactly, or made safe for a terminal."""

import json
import os
import sys
from codecs import getincrementaldecoder

from bide.cli.terminal import complain, write_all
from bide.client.http1 import ERR, OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.model.sanitize import Sanitizer

NAMES = {OUT: "out", ERR: "err"}
_LONG_NAMES = {OUT: "stdout", ERR: "stderr"}


class Sink:
    """One stream's way out."""

    def __init__(self, fd: int, *, raw: bool) -> None:
        """To this descriptor; with `raw`, as it is also on a terminal."""
        self._fd = fd
        self._sanitizer: Sanitizer | None = None
        if not raw and os.isatty(fd):
            from bide.model import sanitize  # noqa: PLC0415 - a pipe does not pay for it

            self._sanitizer = sanitize.Sanitizer()

    def write(self, data: bytes) -> None:
        """The next bytes of the stream."""
        write_all(self._fd, data if self._sanitizer is None else self._sanitizer.feed(data))

    def finish(self) -> None:
        """Nothing more comes."""
        if self._sanitizer is not None:
            write_all(self._fd, self._sanitizer.finish())


class Sinks:
    """The ways out of both streams."""

    def __init__(self, *, raw: bool, streams: tuple[int, ...] = (OUT, ERR)) -> None:
        """For these streams only; bytes of another are left out."""
        sys.stdout.flush()
        self._sinks = {stream: Sink(stream, raw=raw) for stream in streams}

    def write(self, stream: int, data: bytes, at: int = 0) -> None:  # noqa: ARG002 - other sinks say where it begins
        """The next bytes of one stream."""
        sink = self._sinks.get(stream)
        if sink is not None:
            sink.write(data)

    def dropped(self, stream: int, start: int, end: int) -> None:
        """Say that bytes are missing here."""
        if stream in self._sinks:
            complain(
                f"{end - start} bytes of {_LONG_NAMES[stream]} (from {start} to {end}) were dropped by its output cap"
            )

    def finish(self) -> None:
        """Nothing more comes."""
        for sink in self._sinks.values():
            sink.finish()


class JsonSinks(Sinks):
    """Both streams as JSON, one object per line."""

    def __init__(self, *, raw: bool, streams: tuple[int, ...] = (OUT, ERR)) -> None:
        """For these streams only."""
        super().__init__(raw=raw, streams=())
        self._decoders = {stream: getincrementaldecoder("utf-8")("replace") for stream in streams}

    def write(self, stream: int, data: bytes, at: int = 0) -> None:
        """An object with the stream, the offset and the text; a character cut in two comes with its second half."""
        if data and stream in self._decoders:
            self._print({"stream": NAMES[stream], "offset": at, "text": self._decoders[stream].decode(data)})

    def dropped(self, stream: int, start: int, end: int) -> None:
        """An object that says which bytes are missing."""
        if stream in self._decoders:
            self._print({"event": "dropped", "stream": NAMES[stream], "from": start, "to": end})

    def _print(self, value: "dict[str, object]") -> None:
        print(json.dumps(value), flush=True)
