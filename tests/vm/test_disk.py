"""The disk of the machine loses what was not flushed, and nothing else."""

import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vm.disk import BLOCK, Cut, Disk

_FUA = 1


class Driver:
    """Speaks NBD as the machine does."""

    def __init__(self, address: Path) -> None:
        self._peer = socket.socket(socket.AF_UNIX)
        self._peer.settimeout(30)
        self._peer.connect(str(address))
        self._take(18)
        self._peer.sendall(struct.pack(">IQIIIH", 1, 0x49484156454F5054, 7, 6, 0, 0))
        kind = 0
        while kind != 1:
            _, _, kind, length = struct.unpack(">QIII", self._take(20))
            self._take(length)

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        self._ask(1, offset, len(data), data, flags)

    def read(self, offset: int, length: int) -> bytes:
        self._ask(0, offset, length)
        return self._take(length)

    def flush(self) -> None:
        self._ask(3, 0, 0)

    def close(self) -> None:
        self._peer.close()

    def _ask(self, what: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> None:
        self._peer.sendall(struct.pack(">IHHQQI", 0x25609513, flags, what, 7, offset, length) + data)
        assert struct.unpack(">IIQ", self._take(16)) == (0x67446698, 0, 7)

    def _take(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self._peer.recv(length - len(data))
            assert part
            data += part
        return data


@pytest.fixture
def image(tmp_path: Path) -> Path:
    place = tmp_path / "image"
    place.write_bytes(b"." * 16 * BLOCK)
    return place


@pytest.fixture
def disk(image: Path, tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(image, tmp_path / "disk.sock")
    yield disk
    disk.close()


@pytest.fixture
def driver(disk: Disk, tmp_path: Path) -> Iterator[Driver]:
    assert disk
    driver = Driver(tmp_path / "disk.sock")
    yield driver
    driver.close()


def test_what_was_flushed_survives_and_what_was_not_is_lost(disk: Disk, driver: Driver, image: Path) -> None:
    driver.write(0, b"a" * BLOCK)
    driver.flush()
    driver.write(BLOCK, b"b" * BLOCK)
    driver.write(2 * BLOCK, b"c" * BLOCK, _FUA)
    assert driver.read(0, 4 * BLOCK) == b"a" * BLOCK + b"b" * BLOCK + b"c" * BLOCK + b"." * BLOCK
    assert disk.cut(0, random.Random(1)) == Cut(kept=0, lost=1)
    assert image.read_bytes()[: 3 * BLOCK] == b"a" * BLOCK + b"." * BLOCK + b"c" * BLOCK


def test_a_block_is_lost_or_kept_whole(disk: Disk, driver: Driver, image: Path) -> None:
    driver.write(0, b"x" * 16 * BLOCK)
    cut = disk.cut(0.5, random.Random(1))
    assert cut.kept + cut.lost == 16
    assert cut.kept
    assert cut.lost
    data = image.read_bytes()
    blocks = [data[number * BLOCK : (number + 1) * BLOCK] for number in range(16)]
    assert set(blocks) == {b"x" * BLOCK, b"." * BLOCK}
    assert blocks.count(b"x" * BLOCK) == cut.kept


def test_parts_of_blocks_are_written_and_read(disk: Disk, driver: Driver, image: Path) -> None:
    driver.write(BLOCK - 512, b"y" * 1024)
    assert driver.read(BLOCK - 1024, 2048) == b"." * 512 + b"y" * 1024 + b"." * 512
    driver.flush()
    assert disk.cut(0, random.Random(1)) == Cut(0, 0)
    assert image.read_bytes()[BLOCK - 1024 : BLOCK + 1024] == b"." * 512 + b"y" * 1024 + b"." * 512


def test_the_next_machine_is_served(disk: Disk, driver: Driver, tmp_path: Path) -> None:
    driver.write(0, b"a" * BLOCK)
    disk.cut(1, random.Random(1))
    again = Driver(tmp_path / "disk.sock")
    assert again.read(0, BLOCK) == b"a" * BLOCK
    again.close()
