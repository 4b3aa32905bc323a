"""`cmd()`: external commands, each a job of its own below this one, in its folder and environment of that moment."""

import os

from . import wire
from .aside import load
from .jobs import Running
from .session import JOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from typing import Any

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
    def of(name: object, args: "tuple[Any, ...]") -> "Command":
        """From the arguments of `cmd`: words one by one, or one list of them. Raises TypeError."""
        words: Any = args
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            (words,) = args
        command = Command(tuple([_word(one) for one in (name, *words)]))
        if not command.words[0].strip():
            raise ValueError("cmd() needs the name of a command, as in cmd('ls', '-la')")
        return command

    def __repr__(self) -> str:
        return f"cmd({', '.join(map(repr, self.words))})"

    def input(self, data: "str | bytes") -> "Command":
        """The same command with this as its stdin."""
        return Command(self.words, _bytes(data))

    def pipe(self, other: object) -> "Command":
        """The other command with this one's stdout as its stdin; `a | b` says the same."""
        if not isinstance(other, Command):
            raise TypeError(f"a command can be piped into a command, not into {type(other).__name__}")
        return other.__ror__(self)

    __or__ = pipe

    def __ror__(self, source: "Command | Running") -> "Command":
        """This command with the stdout of another, which may run already, as the stdin of all of it."""
        before = self._source
        if self._data is not None or isinstance(before, Running):
            raise ValueError(f"{self!r} has a stdin already; nothing can be piped into it")
        return Command(self.words, source=source if before is None else before.__ror__(source))

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
            load(f"{__package__}.pipes").Pipe(source, started).start()
        return started


def _word(value: "Any") -> str:
    word: Any = value
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(word)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"the words of a command are text, paths or numbers, not {type(value).__name__}: {value!r}")


def _bytes(data: "str | bytes") -> bytes:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)


def _run(words: "tuple[str, ...]", *, stdin: bool) -> "Json":
    """Start a job; asking again with the same key, if the daemon dies meanwhile, never starts it twice."""
    body: Json = {
        "command": list(words),
        "cwd": os.getcwd(),
        "base_env": dict(os.environ),
        "env_defaults": False,
        "umask": _umask(),
        "stdin": stdin,
        "background": True,
        "parent": JOB,
        "key": os.urandom(16).hex(),
    }
    return wire.call("POST", "/v1/jobs", {**body, "new_key": True}, body)["job"]


def _umask() -> int:
    """Read, because to set it for a moment would show in files that another thread makes."""
    with open("/proc/self/status", "rb") as file:
        return next((int(line.split()[1], 8) for line in file if line.startswith(b"Umask:")), 0o022)


def _feed(job: str, data: bytes) -> None:
    """All of the input, and its end."""
    for at in range(0, len(data), _PIECE):
        if not wire.send(job, data[at : at + _PIECE], at):
            return
    wire.send(job, b"", len(data), eof=True)
