"""Numbers, durations and sizes as people write them."""

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


def parse_owner(text: str) -> str:
    """Whose something is; a variable that is not set would otherwise mean somebody else."""
    if not text:
        raise ArgumentTypeError("a name cannot be empty; leave the option out, or say whose")
    return text


def parse_size(text: str) -> int:
    """Bytes in `512K`, `10M`, `2G` or a plain number; units are powers of 1024."""
    match = re.fullmatch(_SIZE, text.strip())
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a size; write 512K, 10M, 2G or plain bytes")
    return round(float(match[1]) * _BYTES[match[2].upper()])


def parse_whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def parse_number(text: str) -> float:
    """A number that one can reckon with."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number")
    return number
