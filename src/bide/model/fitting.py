"""Answers within what a conversation can carry: each has a limit, and all of a batch together. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from bide.model.schema import Json
from bide.model.units import show_size

EACH = 256 * 1024
TOGETHER = 2 * 1024 * 1024
_MARK = 64
"""Bytes that the note on what was cut may take."""
_LEAST = 2 * _MARK
"""A text of data that is not longer than this is not cut: it is an id, a state or a sentence."""


def largest(sizes: Sequence[int], together: int) -> int:
    """Return to what the largest ones must be cut so that all fit: the smaller ones keep what they have."""
    left, most = together, 0
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size * count > left:
            return left // count
        left -= size
        most = size
    return most


def size_of(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text.encode("utf-8", "surrogatepass"))


def cut(text: str, most: int) -> str:
    """Return the text if it takes at most so many bytes, else its beginning and its end around a note with both sizes."""
    size = size_of(text)
    if size <= most:
        return text
    data = text.encode("utf-8", "surrogatepass")
    kept = max(most - _MARK, 0)
    first = data[: kept // 4].decode("utf-8", "ignore")
    last = data[size - (kept - kept // 4) :].decode("utf-8", "ignore") if kept else ""
    return f"{first}\n... [truncated, {sizes(size, size_of(first) + size_of(last))}]\n{last}"


def sizes(before: int, after: int) -> str:
    """Return two sizes to read, in bytes where they would read alike."""
    shown = show_size(before), show_size(after)
    return " → ".join(shown if shown[0] != shown[1] else (f"{before} B", f"{after} B"))


# Data, whose texts are cut where its JSON is too long: JSON that is cut is none.


def as_json(data: Json) -> str:
    """Return data as the text of an answer."""
    return json.dumps(data, ensure_ascii=False)


def fitted_data(data: Json, most: int = EACH) -> Json:
    """Return the data with its longest texts cut, so that as JSON it takes at most so many bytes."""
    size = size_of(as_json(data))
    if size <= most:
        return data
    texts = [one for one in _texts(data) if size_of(one) > _LEAST]
    written = {one: size_of(json.dumps(one, ensure_ascii=False)) for one in texts}
    each = [written[one] for one in texts]
    room = largest(each, most - (size - sum(each)))
    return cast("Json", _mapped(data, lambda text: _cut_within(text, room) if written.get(text, 0) > room else text))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[str, object]", value).values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _texts(one)


def _mapped(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(one, change) for key, one in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_mapped(one, change) for one in cast("list[object]", value)]
    return value


def _cut_within(text: str, room: int) -> str:
    """Return the text cut until its JSON fits: how much longer that is depends on what stays."""
    most = room
    while most > _MARK:
        found = cut(text, most)
        written = size_of(json.dumps(found, ensure_ascii=False))
        if written <= room:
            return found
        most = min(most * room // written, most - 1)
    return ""
