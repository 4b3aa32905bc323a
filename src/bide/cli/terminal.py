"""What is known of the terminal, and writing to it or to a pipe."""

import json
import os
import sys

from bide.cli.exits import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from bide.client.blocking import Link
    from bide.model.errors import BideError

    Act = Callable[[Namespace, Link], int]


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


def to_the_end(act: "Act") -> "Act":
    """Make a command that acts on several things act on all of them, also when what it says can no longer be written.

    That it could not be written is raised at the end, unless the command failed by itself.
    """

    def acted(args: "Namespace", link: "Link") -> int:
        before = sys.stdout
        sys.stdout = said = _Lasting(before)
        try:
            status = act(args, link)
            said.flush()
        finally:
            sys.stdout = before
        if said.error is not None and not status:
            raise said.error
        return status

    return acted


class _Lasting:
    """Stdout, for a command that goes on without it. Keeps the first error."""

    def __init__(self, stream: "TextIO") -> None:
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """As that of a stream."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self.lose(error)
            return len(text)

    def flush(self) -> None:
        """As that of a stream."""
        try:
            self._stream.flush()
        except OSError as error:
            self.lose(error)

    def lose(self, error: OSError) -> None:
        """Nothing more can be written."""
        self.error = self.error or error
        silence(1)


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
        except OSError as error:
            if fd != 1 or not isinstance(sys.stdout, _Lasting):
                raise
            sys.stdout.lose(error)
            return
