"""The daemon's own log, printed and followed."""

import os
import time

from bide.cli.sinks import Sink
from bide.cli.terminal import complain, print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

_LOOK_SECONDS = 0.25


def show(path: str, *, tail: int | None, follow: bool, as_json: bool) -> int:
    """Print the log, or its last lines; with `follow`, what is added to it until interrupted."""
    try:
        log = open(path, "rb")  # noqa: SIM115 - following may replace it
    except FileNotFoundError:
        complain(f"there is no {path}; no daemon has run here")
        return 0
    data = log.read()
    if tail is not None:
        data = b"".join(data.splitlines(keepends=True)[-tail:] if tail > 0 else [])
    if as_json:
        print_json({"path": path, "lines": data.decode("utf-8", "replace").splitlines()})
        return 0
    sink = Sink(1, raw=False)
    sink.write(data)
    if follow:
        _follow(path, log, sink)
    sink.finish()
    log.close()
    return 0


def _follow(path: str, log: "BufferedReader", sink: Sink) -> None:
    """The daemon renames its log when it is large and begins another."""
    while True:
        data = log.read()
        sink.write(data)
        if data:
            continue
        if _is_replaced(path, log):
            sink.write(log.read())
            log.close()
            log = open(path, "rb")  # noqa: SIM115 - until it is replaced in turn
        else:
            time.sleep(_LOOK_SECONDS)


def _is_replaced(path: str, log: "BufferedReader") -> bool:
    try:
        return os.stat(path).st_ino != os.fstat(log.fileno()).st_ino
    except FileNotFoundError:
        return False
