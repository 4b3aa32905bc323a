"""Small disks for tests, and how to fill them to the last byte or inode."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support import processes

KB = 1024


@contextmanager
def mounted(path: Path, *, megabytes: int, inodes: int = 0) -> Generator[Path]:
    """A tmpfs of this size, and with this many inodes; needs root. Whatever runs in it is ended with it."""
    path.mkdir()
    options = f"size={megabytes}m" + (f",nr_inodes={inodes}" if inodes else "")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
    try:
        yield path
    finally:
        for pid in processes.of_folder(path):
            processes.end(pid)
        subprocess.run(["umount", "--lazy", path], check=True)


def fill_bytes(folder: Path) -> Path:
    """Take every free byte."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (64 * KB, 4 * KB):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
    return filler


def fill_inodes(folder: Path) -> Path:
    """Take every free inode."""
    fillers = folder / "fillers"
    with suppress(OSError):
        fillers.mkdir(exist_ok=True)
        at = len(os.listdir(fillers))
        while True:
            (fillers / str(at)).touch()
            at += 1
    return fillers
