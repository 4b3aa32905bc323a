"""The corpus of failing logs: what each tool wrote, what an engineer looks for in it, and what other ways of cutting show."""

from __future__ import annotations

import lzma
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "corpus"
CLASSES = {"up to 16 KB": 16 * 1024, "up to 1 MB": 1024 * 1024, "up to 25 MB": 25 * 1024 * 1024}
"""The largest size of each class of logs."""
WRITER = """import sys
for stream, path in ((sys.stdout, sys.argv[1]), (sys.stderr, sys.argv[2])):
    stream.buffer.write(open(path, "rb").read())
    stream.buffer.flush()
sys.exit(int(sys.argv[3]))
"""
_ERROR_WORDS = re.compile(
    rb"error|exception|traceback|panic|fatal|fail|assert|undefined|cannot|denied|not found", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Log:
    """One failing log."""

    name: str
    tool: str
    how: str
    exit_code: int
    decisive: list[str]
    """The substrings without which nobody could mend it."""
    cause: str
    """`start`, `middle` or `end`: where the first of them is in its stream."""
    out_size: int
    err_size: int

    @property
    def size(self) -> int:
        """Return the bytes of both streams."""
        return self.out_size + self.err_size

    @property
    def size_class(self) -> str:
        """Return the name of the smallest class that it fits in."""
        return next(name for name, most in CLASSES.items() if self.size <= most)

    def streams(self) -> tuple[bytes, bytes]:
        """Return what was written to stdout and to stderr."""
        out, err = (FOLDER / "logs" / f"{self.name}.{kind}.xz" for kind in ("out", "err"))
        return _unpacked(out), _unpacked(err)

    def shown_by(self, text: str) -> bool:
        """Return whether all decisive substrings are in a text."""
        return all(line in text for line in self.decisive)

    def command(self, folder: Path) -> list[str]:
        """Return a command that writes both streams and exits as the tool did; its files are put into a folder."""
        for kind, data in zip(("out", "err"), self.streams(), strict=True):
            (folder / f"{self.name}.{kind}").write_bytes(data)
        files = [str(folder / f"{self.name}.{kind}") for kind in ("out", "err")]
        return [sys.executable, "-S", "-c", WRITER, *files, str(self.exit_code)]


def _unpacked(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.exists() else b""


def load() -> list[Log]:
    """Return the logs of the manifest."""
    rows = tomllib.loads((FOLDER / "manifest.toml").read_text(encoding="utf-8"))["log"]
    return [Log(**row) for row in rows]


# Other ways of cutting, at the same number of characters: each stream gets half, and what one does not need goes to the other.


def _tail(data: bytes, room: int) -> bytes:
    return data[-room:] if room else b""


def _both_ends(data: bytes, room: int) -> bytes:
    return data if len(data) <= room else data[: room // 2] + b"\n" + _tail(data, room - room // 2)


def _error_words(data: bytes, room: int) -> bytes:
    found = bytearray()
    for line in data.splitlines(keepends=True):
        if len(found) >= room:
            break
        if _ERROR_WORDS.search(line):
            found += line
    return bytes(found[:room])


CUTS: dict[str, Callable[[bytes, int], bytes]] = {
    "the tail": _tail,
    "head and tail": _both_ends,
    "grep for error words": _error_words,
}


def cut(way: str, streams: tuple[bytes, bytes], characters: int) -> str:
    """Return what one of the other ways shows of two streams."""
    by = CUTS[way]
    out, err = (len(stream) for stream in streams)
    half = characters // 2
    rooms = (max(half, characters - err), max(half, characters - out))
    parts: Iterable[bytes] = (by(stream, room) for stream, room in zip(streams, rooms, strict=True))
    return b"\n".join(parts).decode("utf-8", "replace")
