"""A D-Bus client for the one call bide makes: asking systemd to start a scope. It reads errors and `JobRemoved` signals.

Works on a bus and on systemd's private socket, which needs no bus.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from typing import Any

from msgspec import Struct

_CALL, _RETURN, _ERROR, _SIGNAL = 1, 2, 3, 4
_PATH, _INTERFACE, _MEMBER, _ERROR_NAME, _REPLY_SERIAL, _DESTINATION, _SIGNATURE = 1, 2, 3, 4, 5, 6, 8
_FIXED = 16
_LARGEST = 1 << 20
_ROOM = 65536


class CallFailed(OSError):
    """The other side refused a call, or did not answer."""


class Message(Struct, frozen=True):
    """What was received: its kind, its header fields by number, and its body."""

    kind: int
    fields: dict[int, Any]
    body: bytes
    order: str

    def texts(self, *offset: int) -> list[str]:
        """The strings of the body, which holds nothing else after `offset` bytes."""
        at, found = sum(offset), list[str]()
        while at + 4 <= len(self.body):
            at += -at % 4
            (length,) = struct.unpack_from(f"{self.order}I", self.body, at)
            found.append(self.body[at + 4 : at + 4 + length].decode("utf-8", "replace"))
            at += 4 + length + 1
        return found


class Writer:
    """Marshals values, aligned as D-Bus wants them."""

    def __init__(self) -> None:
        """Nothing is written yet."""
        self.data = bytearray()

    def pad(self, to: int) -> None:
        """Fill up to a multiple."""
        self.data += bytes(-len(self.data) % to)

    def number(self, value: int) -> None:
        """Write 32 bits."""
        self.pad(4)
        self.data += struct.pack("<I", value)

    def text(self, value: str) -> None:
        """Write a string, or an object path."""
        encoded = value.encode()
        self.number(len(encoded))
        self.data += encoded + b"\0"

    def signature(self, value: str) -> None:
        """Write a type signature."""
        self.data += bytes([len(value)]) + value.encode() + b"\0"

    def variant(self, signature: str, value: Any) -> None:
        """Write a value with its type: `s`, `o`, `g`, `b`, `t` or `au`."""
        self.signature(signature)
        match signature:
            case "s" | "o":
                self.text(value)
            case "g":
                self.signature(value)
            case "b":
                self.number(int(value))
            case "t":
                self.pad(8)
                self.data += struct.pack("<Q", value)
            case "au":
                self.number(4 * len(value))
                for one in value:
                    self.number(one)
            case _:
                raise ValueError(signature)

    def properties(self, values: list[tuple[str, str, Any]]) -> None:
        """Write `a(sv)` from names, signatures and values."""
        self.number(0)
        length_at = len(self.data) - 4
        self.pad(8)
        began = len(self.data)
        for name, signature, value in values:
            self.pad(8)
            self.text(name)
            self.variant(signature, value)
        struct.pack_into("<I", self.data, length_at, len(self.data) - began)


class Connection:
    """A connection to a bus, or to systemd itself."""

    def __init__(self, path: str, *, bus: bool, seconds: float) -> None:
        """Connect and authenticate within this time. Raises OSError."""
        self._deadline = time.monotonic() + seconds
        self._serial = 0
        self._data = b""
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            self._sock.settimeout(seconds)
            self._sock.connect(path)
            self._authenticate()
            if bus:
                self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", "", b"")
        except BaseException:
            self._sock.close()
            raise

    def _authenticate(self) -> None:
        self._sock.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        while b"\r\n" not in self._data:
            self._receive(self._left())
        line, _, self._data = self._data.partition(b"\r\n")
        if not line.startswith(b"OK"):
            raise CallFailed(f"authentication failed: {line.decode('ascii', 'replace')}")
        self._sock.sendall(b"BEGIN\r\n")

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def call(self, destination: str, path: str, interface: str, member: str, signature: str, body: bytes) -> Message:
        """Call a method and return its answer. Raises CallFailed with the words of an error, or OSError."""
        self._serial += 1
        serial = self._serial
        fields = [(_PATH, "o", path), (_INTERFACE, "s", interface), (_MEMBER, "s", member)]
        fields += [(_DESTINATION, "s", destination)] + ([(_SIGNATURE, "g", signature)] if signature else [])
        self._sock.sendall(_header(serial, len(body), fields) + body)
        while True:
            answer = self.receive(self._left())
            if answer is None or answer.fields.get(_REPLY_SERIAL) != serial:
                continue
            if answer.kind == _ERROR:
                words = answer.texts() if answer.fields.get(_SIGNATURE, "").startswith("s") else []
                raise CallFailed(words[0] if words else str(answer.fields.get(_ERROR_NAME)))
            return answer

    def removed_job(self, unit: str, seconds: float) -> str | None:
        """The result of a finished systemd job of this unit, if one is told of within this time."""
        message = self.receive(seconds)
        if message is None or message.kind != _SIGNAL or message.fields.get(_MEMBER) != "JobRemoved":
            return None
        words = message.texts(4)
        return words[2] if len(words) > 2 and words[1] == unit else None

    def receive(self, seconds: float) -> Message | None:
        """The next message, or `None` if none comes within this time. Raises OSError."""
        while (length := _length(self._data)) is None or len(self._data) < length:
            if length is not None and length > _LARGEST:
                raise CallFailed("a message is too long")
            if not self._receive(seconds):
                return None
        data, self._data = self._data[:length], self._data[length:]
        return _read(data)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise CallFailed("no answer in time")
        return left

    def _receive(self, seconds: float) -> bool:
        if not select.select([self._sock], [], [], seconds)[0]:
            return False
        data = self._sock.recv(_ROOM)
        if not data:
            raise CallFailed("the connection was closed")
        self._data += data
        return True


def _header(serial: int, length: int, fields: list[tuple[int, str, str]]) -> bytes:
    writer = Writer()
    writer.data += struct.pack("<cBBBIII", b"l", _CALL, 0, 1, length, serial, 0)
    for code, signature, value in fields:
        writer.pad(8)
        writer.data.append(code)
        writer.variant(signature, value)
    struct.pack_into("<I", writer.data, 12, len(writer.data) - _FIXED)
    writer.pad(8)
    return bytes(writer.data)


def _length(data: bytes) -> int | None:
    """How long the message is that begins here; `None` if that is not known yet."""
    if len(data) < _FIXED:
        return None
    body, _, fields = struct.unpack_from(f"{_order(data)}III", data, 4)
    return _FIXED + fields + -fields % 8 + body


def _order(data: bytes) -> str:
    return "<" if data[:1] == b"l" else ">"


def _read(data: bytes) -> Message:
    order = _order(data)
    body_length, _, fields_length = struct.unpack_from(f"{order}III", data, 4)
    at, end, fields = _FIXED, _FIXED + fields_length, dict[int, Any]()
    while at < end:
        at += -at % 8
        code, width = data[at], data[at + 1]
        signature = data[at + 2 : at + 2 + width].decode()
        at += 2 + width + 1
        if signature == "g":
            fields[code] = data[at + 1 : at + 1 + data[at]].decode()
            at += 2 + data[at]
            continue
        at += -at % 4
        (number,) = struct.unpack_from(f"{order}I", data, at)
        if signature == "u":
            fields[code] = number
            at += 4
        else:
            fields[code] = data[at + 4 : at + 4 + number].decode("utf-8", "replace")
            at += 4 + number + 1
    return Message(data[1], fields, data[len(data) - body_length :] if body_length else b"", order)
