"""Room on a full disk, from the folder of an ended job that is about to go."""

import contextlib
import os

from bide.keeper.folder import OUTPUTS, RECORD


def turn_page(path: str, words: bytes, into: str) -> bool:
    """Write these words over the `live` page of an ended job and call it `into`, which takes no room; whether it could be done."""
    if len(words) > RECORD:
        return False
    try:
        fd = os.open(f"{path}/live", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(fd, words.ljust(RECORD), 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(f"{path}/live", into)
    except OSError:
        return False
    return True


def empty_output(path: str) -> None:
    """Free what the output of an ended job takes, at once, whoever has the files open."""
    for name in OUTPUTS:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.truncate(f"{path}/{name}", 0)
