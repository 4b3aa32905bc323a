"""Durations and sizes as people write and read them."""

import re
from argparse import ArgumentTypeError

_DURATION = r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|d)?"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = r"(\d+(?:\.\d*)?|\.\d+)\s*([KMGTkmgt]?)(?:i?[Bb])?"
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_duration(text: str) -> float:
    """Seconds in `500ms`, `10s`, `5m`, `2h`, `1d`, `1h30m`, or plain seconds."""
    parts = list(re.finditer(_DURATION, text.strip()))
    if not parts or "".join(part.group() for part in parts) != text.strip() or (len(parts) > 1 and not parts[-1][2]):
        raise ArgumentTypeError(f"{text!r} is not a duration; write 500ms, 10s, 5m, 2h, 1d or plain seconds")
    return sum(float(part[1]) * _SECONDS[part[2] or "s"] for part in parts)


def parse_ms(text: str) -> int:
    """A duration in whole milliseconds."""
    return round(parse_duration(text) * 1000)


def parse_size(text: str) -> int:
    """Bytes in `512K`, `10M`, `2G` or a plain number; units are powers of 1024."""
    match = re.fullmatch(_SIZE, text.strip())
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a size; write 512K, 10M, 2G or plain bytes")
    return round(float(match[1]) * _BYTES[match[2].upper()])


def show_duration(ms: float) -> str:
    """A duration to read: `850ms`, `12.3s`, `4m 05s`, `3h 12m`, `2d 04h`."""
    if ms < 1000:
        return f"{ms:.0f}ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f}s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02d}s"
    minutes = seconds // 60
    if minutes < 1440:
        return f"{minutes // 60}h {minutes % 60:02d}m"
    hours = minutes // 60
    return f"{hours // 24}d {hours % 24:02d}h"


def show_age(seconds: float) -> str:
    """How long ago, in one unit: `12s`, `5m`, `3h`, `9d`."""
    whole = max(0, int(seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def show_size(count: float) -> str:
    """A size to read: `512 B`, `64 MiB`, `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"
