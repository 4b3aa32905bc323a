"""Answers of a batch within what a conversation can carry: each has a limit, and all of them together."""

from __future__ import annotations

from collections.abc import Sequence

from bide.model.units import show_size

EACH = 256 * 1024
TOGETHER = 2 * 1024 * 1024
_MARK = 64
"""Bytes that the note on what was cut may take."""


def fitted(texts: Sequence[str], *, each: int = EACH, together: int = TOGETHER) -> list[str]:
    """The texts, the largest cut first: their beginnings and ends stay, and what was cut is said."""
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    most = _largest([min(size, each) for size in sizes], together)
    return [text if size <= most else _cut(text, size, most) for text, size in zip(texts, sizes, strict=True)]


def _largest(sizes: Sequence[int], together: int) -> int:
    """To what the largest ones must be cut, so that all fit: the smaller ones keep what they have."""
    left, most = together, 0
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            return left // count
        left -= size
        most = size
    return most


def _cut(text: str, size: int, most: int) -> str:
    data = text.encode("utf-8", "surrogatepass")
    kept = max(most - _MARK, 0)
    first, last = data[: kept // 4], data[len(data) - (kept - kept // 4) :] if kept else b""
    note = f"\n... [truncated, {show_size(size)} → {show_size(most)}]\n"
    return first.decode("utf-8", "ignore") + note + last.decode("utf-8", "ignore")
