"""`cmd()`: external commands, each a job of its own below this one, in its folder and environment of that moment."""

import os

from . import wire
from .jobs import Running
from .session import JOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

    from .jobs import Result
    from .wire import Json

_PIECE = 1024 * 1024


class Command:
    """A command that was not started yet; `exec` starts it, and so do `await` and `for`."""

    def __init__(
        self, words: "tuple[str, ...]", data: "bytes | None" = None, source: "Command | Running | None" = None
    ) -> None:
        """Made by `cmd`."""
        self.words = words
        self._data = data
        self._source = source

    @staticmethod
    def of(name: object, args: "tuple[object, ...]") -> "Command":
        """From the arguments of `cmd`: words one by one, or one list of them. Raises TypeError."""
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        words = tuple(_word(one) for one in (name, *args))
        if not words[0].strip():
            raise ValueError("cmd() needs the name of a command, as in cmd('ls', '-la')")
        return Command(words)

    def __repr__(self) -> str:
        return f"cmd({', '.join(map(repr, self.words))})"

    def input(self, data: "str | bytes") -> "Command":
        """The same command with this as its stdin."""
        return Command(self.words, _bytes(data))

    def pipe(self, other: "Command") -> "Command":
        """The other command with this one's stdout as its stdin; `a | b` says the same."""
        return _piped(self, other)

    __or__ = pipe

    def exec(self, stdin: "str | bytes | None" = None) -> Running:
        """Start it. What is returned runs already: await it, call `result()`, or go over its lines."""
        return self._start(_bytes(stdin) if stdin is not None else self._data, keep=True)

    def __await__(self) -> "Generator[object, None, Result]":
        return self.exec().__await__()

    def __iter__(self) -> "Iterator[str]":
        return iter(self._start(self._data, keep=False))

    def __aiter__(self) -> "AsyncIterator[str]":
        return self._start(self._data, keep=False).__aiter__()

    def _start(self, data: "bytes | None", *, keep: bool) -> Running:
        source = self._source
        if source is not None and data is not None:
            raise ValueError("a command has its stdin from a pipe or from text, not from both")
        if isinstance(source, Command):
            source = source.exec()
        started = Running(_run(self.words, stdin=data is not None or source is not None), keep=keep, source=source)
        if data is not None:
            _feed(started.id, data)
        elif source is not None:
            from .pipes import Pipe  # noqa: PLC0415 - only a pipe pays for it

            Pipe(source, started).start()
        return started


def _piped(source: "Command | Running", target: object) -> Command:
    if not isinstance(target, Command):
        raise TypeError(f"a command can be piped into a command, not into {type(target).__name__}")
    if target._source is not None:
        return Command(target.words, source=_piped(source, target._source))
    return Command(target.words, source=source)


def _word(value: object) -> str:
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"the words of a command are text, paths or numbers, not {type(value).__name__}: {value!r}")


def _bytes(data: "str | bytes") -> bytes:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)


def _run(words: "tuple[str, ...]", *, stdin: bool) -> "Json":
    """Start a job; asking again with the same key, if the daemon dies meanwhile, never starts it twice."""
    mask = os.umask(0o077)
    os.umask(mask)
    body: Json = {
        "command": list(words),
        "cwd": os.getcwd(),
        "base_env": dict(os.environ),
        "env_defaults": False,
        "umask": mask,
        "stdin": stdin,
        "background": True,
        "parent": JOB,
        "key": os.urandom(16).hex(),
    }
    return wire.call("POST", "/v1/jobs", {**body, "new_key": True}, body)["job"]


def _feed(job: str, data: bytes) -> None:
    """All of the input, and its end."""
    for at in range(0, len(data), _PIECE):
        if not send(job, data[at : at + _PIECE], at):
            return
    send(job, b"", len(data), eof=True)


def send(job: str, data: bytes, at: int, *, eof: bool = False) -> "Json | None":
    """Input from this place on, once however often it is asked; the job, or None if it takes no more."""
    from binascii import b2a_base64  # noqa: PLC0415 - only input pays for it

    body: Json = {"base64": b2a_base64(data, newline=False).decode("ascii"), "at": at, "eof": eof}
    try:
        return wire.call("POST", f"/v1/jobs/{job}/send", body)
    except wire.CommandError as error:
        if error.code in ("job_ended", "no_stdin"):
            return None
        raise


Running.__or__ = Running.pipe = _piped
