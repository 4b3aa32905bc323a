"""The daemon's own log, printed and followed."""

import os
import time

from bide.cli.sinks import Sink
from bide.cli.terminal import complain, print_json

_LOOK_SECONDS = 0.25


def show(path: str, *, tail: int | None, follow: bool, as_json: bool) -> int:
    """Print the log, or its last lines; with `follow`, what is added to it until interrupted."""
    try:
        data = _read(path, 0)
    except FileNotFoundError:
        complain(f"there is no {path}; no daemon has run here")
        return 0
    if tail is not None:
        data = b"".join(data.splitlines(keepends=True)[-tail:] if tail > 0 else [])
    if as_json:
        print_json({"path": path, "lines": data.decode("utf-8", "replace").splitlines()})
        return 0
    sink = Sink(1, raw=False)
    sink.write(data)
    if follow:
        _follow(path, sink)
    sink.finish()
    return 0


def _read(path: str, start: int) -> bytes:
    with open(path, "rb") as log:
        log.seek(start)
        return log.read()


def _follow(path: str, sink: Sink) -> None:
    """The file may be renamed and begun anew at any time."""
    seen = os.stat(path)
    while True:
        time.sleep(_LOOK_SECONDS)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if found.st_ino != seen.st_ino or found.st_size < seen.st_size:
            sink.write(_read(path, 0))
        elif found.st_size > seen.st_size:
            sink.write(_read(path, seen.st_size))
        seen = found
