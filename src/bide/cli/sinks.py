"""Where the bytes of a job's streams go: stdout and stderr, exactly, or made safe for a terminal."""

import json
import os
import sys

from bide.cli.terminal import complain, write_all
from bide.client.http1 import ERR, OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bide.model.sanitize import Sanitizer

NAMES = {OUT: "out", ERR: "err"}
_LONG_NAMES = {OUT: "stdout", ERR: "stderr"}


def as_json(data: bytes) -> "dict[str, str]":
    """Bytes as text, and beside it as they are where the text is not exact."""
    text = data.decode("utf-8", "replace")
    if "\ufffd" not in text or text.encode() == data:
        return {"text": text}
    from binascii import b2a_base64  # noqa: PLC0415 - only what is no text pays for it

    return {"text": text, "base64": b2a_base64(data, newline=False).decode()}


def whole_characters(data: bytes) -> int:
    """How many of these bytes there are before a character that is cut off at their end."""
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead >= 0xC0:
            size = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2
            return len(data) - back if size > back else len(data)
        if lead < 0x80:
            break
    return len(data)


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
        self._within_line = False

    def write(self, stream: int, data: bytes, at: int = 0) -> None:  # noqa: ARG002 - other sinks say where it begins
        """The next bytes of one stream."""
        sink = self._sinks.get(stream)
        if sink is not None and data:
            sink.write(data)
            if os.isatty(stream):
                self._within_line = not data.endswith(b"\n")

    def end_line(self, *, with_newline: bool = True) -> None:
        """Whatever is said next begins a line of its own on the terminal."""
        if self._within_line and with_newline and os.isatty(2):
            write_all(2, b"\n")
        self._within_line = False

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
        self._held: dict[int, tuple[bytes, int]] = dict.fromkeys(streams, (b"", 0))

    def write(self, stream: int, data: bytes, at: int = 0) -> None:
        """An object with the stream, the offset and the text; a character cut in two comes with its second half."""
        if data and stream in self._held:
            held = self._held[stream][0]
            data, at = held + data, at - len(held)
            cut = whole_characters(data)
            self._tell(stream, data[:cut], at)
            self._held[stream] = data[cut:], at + cut

    def dropped(self, stream: int, start: int, end: int) -> None:
        """An object that says which bytes are missing."""
        if stream in self._held:
            self._flush(stream)
            self._print({"event": "dropped", "stream": NAMES[stream], "from": start, "to": end})

    def finish(self) -> None:
        """Nothing more comes: not the rest of a character either."""
        for stream in self._held:
            self._flush(stream)

    def _flush(self, stream: int) -> None:
        self._tell(stream, *self._held[stream])
        self._held[stream] = b"", 0

    def _tell(self, stream: int, data: bytes, at: int) -> None:
        if data:
            self._print({"stream": NAMES[stream], "offset": at, **as_json(data)})

    def _print(self, value: "dict[str, object]") -> None:
        print(json.dumps(value), flush=True)
