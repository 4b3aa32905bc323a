"""Cuts a stream of bytes into lines of limited length, and names the request that a longer line was."""

import json
import re

FRAME_MAX = 16 * 1024 * 1024
"""Bytes in one message of MCP, in either direction."""
TOO_LARGE = -32600
"""The code of the protocol for it: an invalid request."""

EDGE = 64 * 1024
"""How much is kept of each end of a line that is too long."""
_STRING = rb'"(?:[^"\\]|\\.){0,1000}"'
_ID = rb'"id"\s*:\s*(' + _STRING + rb"|-?\d{1,20}(?![\d.eE]))"
_SHORT = rb'"(?:jsonrpc|method)"\s*:\s*' + _STRING
_AT_START = re.compile(rb"\s*\{\s*(?:" + _SHORT + rb"\s*,\s*)*" + _ID)
_AT_END = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _SHORT + rb"\s*)*\}\s*\Z")
_METHOD_AT_START = re.compile(rb"\s*\{\s*(?:(?:" + _SHORT + rb"|" + _ID + rb")\s*,\s*)*?" + rb'"method"\s*:')
_METHOD_AT_END = re.compile(
    rb'"method"\s*:\s*' + _STRING + rb"\s*(?:,\s*(?:" + _SHORT + rb"|" + _ID + rb")\s*)*\}\s*\Z"
)


class Oversize:
    """A line that was too long to be kept: its two ends."""

    def __init__(self, head: bytes, tail: bytes) -> None:
        """Made by `LineCutter`."""
        self._head = head[:EDGE]
        self._tail = tail[-EDGE:]

    @property
    def id(self) -> "str | int | None":
        """The id of the message, where it stands before or after all that is long."""
        found = _AT_START.match(self._head) or _last(_AT_END, self._tail)
        if found is None:
            return None
        try:
            id_: str | int = json.loads(found[1])
        except ValueError:
            return None
        return id_ if isinstance(id_, int) or id_.isprintable() else None

    @property
    def is_request(self) -> bool:
        """Whether it names a method, as answers do not."""
        return bool(_METHOD_AT_START.match(self._head) or _last(_METHOD_AT_END, self._tail))


def _last(pattern: "re.Pattern[bytes]", tail: bytes) -> "re.Match[bytes] | None":
    """Where the pattern fits the end; only beginnings close to it are tried, because each try may read to the end."""
    return pattern.search(tail, max(len(tail) - 4096, 0))


class LineCutter:
    """Bytes, fed as they come, as lines without their ends; a line that is too long becomes an Oversize."""

    def __init__(self, most: int = FRAME_MAX) -> None:
        """Nothing has come yet."""
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._head = b""
        self._tail = b""
        self._skips = False

    def feed(self, data: bytes) -> "list[bytes | Oversize]":
        """Return the lines that are complete with these bytes."""
        *ends, rest = data.split(b"\n")
        found: list[bytes | Oversize] = []
        for end in ends:
            self._add(end)
            found.append(self._taken())
        self._add(rest)
        return found

    def rest(self) -> "bytes | Oversize":
        """Return the last line, which has no end."""
        return self._taken()

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._most:
            self._parts.append(data)
            return
        if not self._skips:
            self._skips = True
            whole = b"".join(self._parts)
            self._head, self._tail, self._parts = whole[:EDGE], whole[-EDGE:], []
        self._head = (self._head + data[:EDGE])[:EDGE]
        self._tail = (self._tail + data[-EDGE:])[-EDGE:]

    def _taken(self) -> "bytes | Oversize":
        line = Oversize(self._head, self._tail) if self._skips else b"".join(self._parts)
        self._parts, self._size, self._skips, self._head, self._tail = [], 0, False, b"", b""
        return line


def too_large(what: str) -> str:
    """Return the sentence for a message that is too large."""
    return f"{what} is larger than {FRAME_MAX // (1024 * 1024)} MiB, which is the limit for one message"
