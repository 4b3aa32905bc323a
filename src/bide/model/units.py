"""Durations and sizes as people read them."""


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
