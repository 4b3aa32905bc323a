"""What is known of the terminal, and writing to it or to a pipe."""

import json
import os
import sys

from bide.cli.exits import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bide.model.errors import BideError


def width() -> int:
    """Columns of the terminal; 80 where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    for fd in (1, 2, 0):
        try:
            return os.get_terminal_size(fd).columns or 80
        except OSError:
            continue
    return 80


def has_colours(fd: int = 1) -> bool:
    """Whether colours may be used: on a terminal, unless NO_COLOR or a dumb terminal says otherwise."""
    return os.isatty(fd) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(value: "Mapping[str, object] | Sequence[object]") -> None:
    """One JSON value on stdout: on one line in a pipe, indented on a terminal."""
    print(json.dumps(value, indent=2 if os.isatty(1) else None), flush=True)


def complain(sentence: str) -> None:
    """One line on stderr, marked as ours; if that cannot be written there is nobody to tell."""
    sys.stdout.flush()
    # It may quote what it was given, and that may be escape sequences.
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in sentence)
    try:
        print(f"bide: {shown}", file=sys.stderr, flush=True)
    except OSError:
        silence(2)


def silence(*fds: int) -> None:
    """Nobody reads these; keep the interpreter from complaining about it at its end."""
    for fd in fds:
        os.dup2(os.open(os.devnull, os.O_WRONLY), fd)


def report(error: "BideError", *, as_json: bool) -> int:
    """Tell an error, in JSON on stdout or as a sentence on stderr; the exit status it asks for."""
    if as_json:
        print_json({"error": error.to_json()})
    else:
        complain(str(error))
    return status_of(error)


def write_text(data: bytes) -> None:
    """UTF-8 on stdout, at once; what its encoding cannot show is shown by its number."""
    if sys.stdout.encoding == "utf-8":
        write_all(1, data)
    else:
        print(data.decode(), end="", flush=True)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, also to a descriptor that somebody made non-blocking."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            import select  # noqa: PLC0415 - a rare descriptor pays for it

            select.select([], [fd], [])
