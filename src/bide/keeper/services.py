"""What the folder of a service has beside that of any job: `ready`, since when it is, and `next`, what came after it."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime
from typing import Any

from msgspec import Struct

from bide.keeper.folder import instant, read_small
from bide.model.times import ms

_EPOCH = instant(0)


class Next(Struct, frozen=True):
    """What was decided after a service ended: a successor, or none, and why if that is worth saying."""

    job: str | None = None
    gave_up: str = ""


class Given(Struct, frozen=True):
    """What a program was started with, beside its spec."""

    env: dict[str, str]
    umask: int


def read_ready(path: str) -> datetime | None:
    """Since when a service is ready."""
    data = read_small(os.path.join(path, "ready"))
    return instant(int(data)) if data and data.endswith(b"\n") and data.strip().isdigit() else None


def write_ready(path: str, at: datetime) -> None:
    """It is ready, for as long as it runs. Raises OSError."""
    _replace(os.path.join(path, "ready"), b"%d\n" % (ms(at - _EPOCH) or 0))


def read_next(path: str) -> Next | None:
    """What was decided; `None` if nothing was."""
    data = read_small(os.path.join(path, "next"))
    with contextlib.suppress(ValueError, TypeError):
        return Next(**json.loads(data)) if data else None
    return Next()


def write_next(path: str, decided: Next) -> None:
    """It is decided, once and for all. Raises OSError."""
    _replace(os.path.join(path, "next"), json.dumps({"job": decided.job, "gave_up": decided.gave_up}).encode())


def read_given(path: str) -> Given | None:
    """The environment and umask in a folder's spec; `None` if it has none that can be read."""
    data = read_small(os.path.join(path, "spec"))
    if not data or not data.endswith(b"\0"):
        return None
    parts = iter(data.split(b"\0"))
    found: dict[bytes, Any] = {}
    with contextlib.suppress(ValueError, StopIteration):
        while part := next(parts):
            key, _, value = part.partition(b"=")
            found[key] = [next(parts) for _ in range(int(value))] if key in (b"starter", b"argv", b"env") else value
    if b"env" not in found:
        return None
    env = dict(os.fsdecode(word).split("=", 1) for word in found[b"env"])
    return Given(env, int(found[b"umask"]))


def _replace(path: str, data: bytes) -> None:
    """The whole file or none of it, on disk when this returns."""
    temporary = f"{path}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, data)
        os.fdatasync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
