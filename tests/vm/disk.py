"""A disk with a volatile cache, served over NBD: what the machine wrote and did not flush can be lost when the power is cut.

Killing an emulator alone is too kind: every write that reached it is in the page cache of this machine and stays. A real disk keeps
such writes in its own memory until the machine sends a flush, and a power cut loses any of them, in no order. This disk does that.
"""

import random
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

BLOCK = 4096
"""What is written whole or not at all, as by a disk with sectors of 4 KiB."""
CACHE_BLOCKS = 32 * 1024 * 1024 // BLOCK
"""How much the cache holds; the oldest blocks make room, as in a disk."""

_MAGIC = 0x4E42444D41474943
_OPTION_MAGIC = 0x49484156454F5054
_REPLY_MAGIC = 0x0003E889045565A9
_REQUEST = struct.Struct(">IHHQQI")
_REQUEST_MAGIC = 0x25609513
_ANSWER = struct.Struct(">IIQ")
_ANSWER_MAGIC = 0x67446698
_EXPORT_NAME, _ABORT, _INFO, _GO = 1, 2, 6, 7
_ACK, _INFORMATION, _UNSUPPORTED = 1, 3, (1 << 31) + 1
_READ, _WRITE, _DISCONNECT, _FLUSH = 0, 1, 2, 3
_FUA = 1
_FLAGS = 1 | 1 << 2 | 1 << 3
"""Flags are there; the disk takes FLUSH and FUA."""
_INVALID = 22


class Cut(NamedTuple):
    """Blocks that were in the cache when the power was cut."""

    kept: int
    lost: int


class Disk:
    """One image, served to one machine at a time."""

    def __init__(self, image: Path, address: Path) -> None:
        self._file = image.open("r+b", buffering=0)
        self._size = image.stat().st_size
        self._volatile: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(address))
        self._listener.listen(1)
        self._peer: socket.socket | None = None
        self._server = threading.Thread(target=self._serve, name="disk", daemon=True)
        self._server.start()
        self.flushes = 0

    def cut(self, kept: float, choice: random.Random) -> Cut:
        """Cut the power: of what is in the cache, this part (0 to 1) still reaches the disk, block by block at random.

        Called when the machine is dead. The next one is served as before.
        """
        self._hang_up()
        with self._lock:
            lucky = [number for number in self._volatile if choice.random() < kept]
            for number in lucky:
                self._persist(number)
            lost = len(self._volatile)
            self._volatile.clear()
        return Cut(len(lucky), lost)

    def close(self) -> None:
        self._listener.close()
        self._hang_up()
        self._file.close()

    def _hang_up(self) -> None:
        peer = self._peer
        if peer is not None:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    # What is kept.

    def _read(self, offset: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            data = bytearray(self._file.read(length))
            for number in range(offset // BLOCK, (offset + length - 1) // BLOCK + 1):
                if (block := self._volatile.get(number)) is not None:
                    start = number * BLOCK - offset
                    first, last = max(0, -start), min(BLOCK, length - start)
                    data[start + first : start + last] = block[first:last]
        return bytes(data)

    def _write(self, offset: int, data: bytes, *, through: bool) -> None:
        with self._lock:
            place = 0
            while place < len(data):
                number, start = divmod(offset + place, BLOCK)
                part = data[place : place + BLOCK - start]
                if len(part) < BLOCK:
                    whole = bytearray(self._block(number))
                    whole[start : start + len(part)] = part
                    part_of_disk = bytes(whole)
                else:
                    part_of_disk = part
                self._volatile[number] = part_of_disk
                if through:
                    self._persist(number)
                place += len(part)
            while len(self._volatile) > CACHE_BLOCKS:
                self._persist(next(iter(self._volatile)))

    def _block(self, number: int) -> bytes:
        if (block := self._volatile.get(number)) is not None:
            return block
        self._file.seek(number * BLOCK)
        return self._file.read(BLOCK)

    def _persist(self, number: int) -> None:
        self._file.seek(number * BLOCK)
        self._file.write(self._volatile.pop(number))

    def _flush(self) -> None:
        with self._lock:
            self.flushes += 1
            for number in list(self._volatile):
                self._persist(number)

    # NBD, fixed newstyle: https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._peer = peer
            with suppress(OSError, EOFError), peer:
                if self._agree(peer):
                    self._answer_all(peer)

    def _agree(self, peer: socket.socket) -> bool:
        peer.sendall(struct.pack(">QQH", _MAGIC, _OPTION_MAGIC, 1))
        _exactly(peer, 4)
        while True:
            _, option, length = struct.unpack(">QII", _exactly(peer, 16))
            _exactly(peer, length)
            if option == _EXPORT_NAME:
                peer.sendall(struct.pack(">QH", self._size, _FLAGS) + bytes(124))
                return True
            if option in (_INFO, _GO):
                export = struct.pack(">HQH", 0, self._size, _FLAGS)
                _say(peer, option, _INFORMATION, export)
                _say(peer, option, _INFORMATION, struct.pack(">HIII", 3, 1, BLOCK, 1 << 25))
                _say(peer, option, _ACK)
                if option == _GO:
                    return True
            elif option == _ABORT:
                _say(peer, option, _ACK)
                return False
            else:
                _say(peer, option, _UNSUPPORTED)

    def _answer_all(self, peer: socket.socket) -> None:
        while True:
            magic, flags, what, handle, offset, length = _REQUEST.unpack(_exactly(peer, _REQUEST.size))
            assert magic == _REQUEST_MAGIC, "the machine's disk driver speaks no NBD"
            answer, error = b"", 0
            if what == _READ:
                answer = self._read(offset, length)
            elif what == _WRITE:
                self._write(offset, _exactly(peer, length), through=bool(flags & _FUA))
            elif what == _FLUSH:
                self._flush()
            elif what == _DISCONNECT:
                return
            else:
                error = _INVALID
            peer.sendall(_ANSWER.pack(_ANSWER_MAGIC, error, handle) + answer)


def _exactly(peer: socket.socket, length: int) -> bytes:
    data = bytearray(length)
    view, got = memoryview(data), 0
    while got < length:
        count = peer.recv_into(view[got:])
        if not count:
            raise EOFError
        got += count
    return bytes(data)


def _say(peer: socket.socket, option: int, kind: int, data: bytes = b"") -> None:
    peer.sendall(struct.pack(">QIII", _REPLY_MAGIC, option, kind, len(data)) + data)
